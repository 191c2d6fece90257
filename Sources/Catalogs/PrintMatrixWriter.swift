import Crypto
import Foundation
import GRDB
import NearestNeighbors

/// Writes the matrix file anew beside the old one and puts it in its place in one step, so that
/// there is a whole file at the path at any moment.
struct PrintMatrixWriter {
    let database: CatalogDatabase

    /// O(prints) time, 12 bytes of memory a print.
    func write() throws(CatalogError) {
        let folder = database.folder
        removeLeftovers()
        let temporary = folder.url.appendingPathComponent("prints.matrix.\(getpid())-\(UInt32.random(in: 0 ... .max)).part")
        do {
            try folder.attempt {
                try database.reader.read { db in try write(db, to: temporary) }
                guard rename(temporary.path, folder.matrix.path) == 0 else { throw folder.error(.unwritable(String(cString: strerror(errno)))) }
            }
        } catch {
            unlink(temporary.path)
            throw error
        }
    }

    /// What killed processes left behind.
    private func removeLeftovers() {
        let folder = database.folder.url
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            guard name.hasPrefix("prints.matrix."), name.hasSuffix(".part"),
                let process = name.dropFirst("prints.matrix.".count).split(separator: "-").first.flatMap({ Int32($0) }),
                kill(process, 0) != 0, errno == ESRCH
            else { continue }
            unlink(folder.appendingPathComponent(name).path)
        }
    }

    private func write(_ db: Database, to url: URL) throws {
        let folder = database.folder
        guard let id = try Setting.catalogID.read(db).flatMap(UUID.init(uuidString:)),
            let model = try CatalogDatabase.model(db),
            let dimension = try Setting.printLength.read(db).flatMap(Int.init)
        else { throw folder.error(.damaged("its settings are incomplete")) }
        let rowCount = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM print") ?? 0
        var header = PrintMatrixHeader(
            dimension: dimension, rowCount: rowCount, revision: try CatalogDatabase.revision(db),
            catalogID: id, modelDigest: Data(hexadecimal: model.digest), contentDigest: Data(count: 32))
        var output = try BufferedFile(url, folder: folder)
        var norms: [Float] = []
        var keys: [Int64] = []
        norms.reserveCapacity(rowCount)
        keys.reserveCapacity(rowCount)
        try output.append(Data(count: PrintMatrixHeader.byteCount), hashed: false)
        let prints = try Row.fetchCursor(db, sql: "SELECT row, vector FROM print ORDER BY row")
        while let print = try prints.next() {
            let (row, blob): (Int64, Data) = (print[0], print[1])
            guard let vector = PrintBlob.vector(blob, length: dimension) else {
                throw folder.error(.damaged("the print of row \(row) is not \(dimension) finite floats"))
            }
            try output.append(blob)
            norms.append(vector.withUnsafeBufferPointer(PrintMatrix.squaredNorm))
            keys.append(row)
        }
        guard keys.count == rowCount else { throw folder.error(.damaged("prints were counted and read differently")) }
        try output.pad(to: header.normsOffset)
        try output.append(norms.withUnsafeBytes { Data($0) })
        try output.pad(to: header.keysOffset)
        try output.append(keys.withUnsafeBytes { Data($0) })
        header.contentDigest = output.digest()
        try output.finish(header: header.encoded)
    }
}

/// Sequential writes with a running digest. Every failure throws; a full disk is one.
private struct BufferedFile: ~Copyable {
    private let descriptor: Int32
    private let folder: CatalogFolder
    private var buffer = Data()
    private var hash = SHA256()
    private var count = 0

    init(_ url: URL, folder: CatalogFolder) throws {
        self.folder = folder
        descriptor = open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw folder.error(.unwritable(String(cString: strerror(errno)))) }
        buffer.reserveCapacity(1 << 20)
    }

    deinit { close(descriptor) }

    mutating func append(_ data: Data, hashed: Bool = true) throws {
        if hashed { hash.update(data: data) }
        buffer.append(data)
        count += data.count
        if buffer.count >= 1 << 20 { try flush() }
    }

    mutating func pad(to offset: Int) throws { try append(Data(count: offset - count)) }

    func digest() -> Data { Data(hash.finalize()) }

    mutating func finish(header: Data) throws {
        try flush()
        let written = header.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard written == header.count, fsync(descriptor) == 0 else {
            throw folder.error(.unwritable(String(cString: strerror(errno))))
        }
    }

    private mutating func flush() throws {
        let failure: Int32? = buffer.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let written = Foundation.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                if written > 0 { done += written } else if errno != EINTR { return errno }
            }
            return nil
        }
        if let failure { throw folder.error(.unwritable(String(cString: strerror(failure)))) }
        buffer.removeAll(keepingCapacity: true)
    }
}

extension Data {
    /// The bytes that pairs of hexadecimal digits stand for; a pair that is none counts as zero.
    init(hexadecimal text: String) {
        self.init(capacity: text.utf8.count / 2)
        var digits = text[...]
        while digits.count >= 2 {
            append(UInt8(digits.prefix(2), radix: 16) ?? 0)
            digits = digits.dropFirst(2)
        }
    }
}
