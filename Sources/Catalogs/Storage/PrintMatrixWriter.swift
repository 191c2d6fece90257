import Foundation
import GRDB
import VectorSearch

/// Writes the matrix file anew beside the old one and puts it in its place in one step, so that
/// there is a whole file at the path at any moment.
struct PrintMatrixWriter {
    let database: CatalogDatabase

    /// O(prints) time, 20 bytes of memory a print: prints are read twice, so that none are kept.
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
        try forEachPrint(db, dimension: dimension) { row, blob, vector in
            try output.append(blob)
            norms.append(vector.withUnsafeBufferPointer(PrintMatrix.squaredNorm))
            keys.append(row)
        }
        guard keys.count == rowCount else { throw folder.error(.damaged("prints were counted and read differently")) }
        try output.pad(to: header.normsOffset)
        try output.append(norms.withUnsafeBytes { Data($0) })
        try output.pad(to: header.keysOffset)
        try output.append(keys.withUnsafeBytes { Data($0) })
        try output.pad(to: header.codesOffset)
        var scales: [Float] = []
        var errors: [Float] = []
        var codes = [UInt8](repeating: 0, count: dimension)
        try forEachPrint(db, dimension: dimension) { _, _, vector in
            let (scale, error) = vector.withUnsafeBufferPointer { vector in
                codes.withUnsafeMutableBufferPointer { QuantizedRows.quantize(vector, into: $0) }
            }
            try output.append(Data(codes))
            scales.append(scale)
            errors.append(error)
        }
        try output.pad(to: header.scalesOffset)
        try output.append(scales.withUnsafeBytes { Data($0) })
        try output.pad(to: header.errorsOffset)
        try output.append(errors.withUnsafeBytes { Data($0) })
        header.contentDigest = output.digest()
        try output.finish(header: header.encoded)
    }

    /// In the order of the matrix.
    private func forEachPrint(_ db: Database, dimension: Int, _ body: (Int64, Data, [Float]) throws -> Void) throws {
        let prints = try Row.fetchCursor(db, sql: "SELECT row, vector FROM print ORDER BY row")
        while let print = try prints.next() {
            let (row, blob): (Int64, Data) = (print[0], print[1])
            guard let vector = PrintBlob.vector(blob, length: dimension) else {
                throw database.folder.error(.damaged("the print of row \(row) is not \(dimension) finite floats"))
            }
            try body(row, blob, vector)
        }
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
