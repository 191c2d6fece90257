import Foundation
import GRDB
import VectorSearch

/// Writes a new matrix file beside the old one and renames it, so that there is a complete file at the path at any
/// time.
struct PrintMatrixWriter {
    let database: CatalogDatabase

    /// O(prints) time, 20 bytes of memory per print: prints are read twice instead of kept.
    func write() throws(CatalogError) {
        let folder = database.folder
        removeLeftovers()
        let temporary = folder.url.appendingPathComponent(
            "prints.matrix.\(getpid())-\(UInt32.random(in: 0 ... .max)).part")
        do {
            try folder.mappingErrors {
                try database.reader.read { db in try write(db, to: temporary) }
                guard rename(temporary.path, folder.matrix.path) == 0 else {
                    throw folder.error(.unwritable(String(cString: strerror(errno))))
                }
            }
        } catch {
            unlink(temporary.path)
            throw error
        }
    }

    /// Removes the files of processes that were killed.
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
            let dimension = try Setting.dimension.read(db).flatMap(Int.init)
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
        guard keys.count == rowCount else { throw folder.error(.damaged("the number of prints changed during a read")) }
        try output.pad(to: header.normsOffset)
        try output.append(norms.withUnsafeBytes { Data($0) })
        try output.pad(to: header.keysOffset)
        try output.append(keys.withUnsafeBytes { Data($0) })
        try output.pad(to: header.codesOffset)
        var scales: [Float] = []
        var residualNorms: [Float] = []
        var codes = [UInt8](repeating: 0, count: dimension)
        try forEachPrint(db, dimension: dimension) { _, _, vector in
            let (scale, residualNorm) = vector.withUnsafeBufferPointer { vector in
                codes.withUnsafeMutableBufferPointer { QuantizedRows.quantize(vector, into: $0) }
            }
            try output.append(Data(codes))
            scales.append(scale)
            residualNorms.append(residualNorm)
        }
        try output.pad(to: header.scalesOffset)
        try output.append(scales.withUnsafeBytes { Data($0) })
        try output.pad(to: header.residualNormsOffset)
        try output.append(residualNorms.withUnsafeBytes { Data($0) })
        header.contentDigest = output.digest()
        try output.finish(header: header.encoded)
    }

    /// Calls `body` with every print in the order of the matrix.
    private func forEachPrint(_ db: Database, dimension: Int, _ body: (Int64, Data, [Float]) throws -> Void) throws {
        let prints = try Row.fetchCursor(db, sql: "SELECT row, vector FROM print ORDER BY row")
        while let print = try prints.next() {
            let (row, blob): (Int64, Data) = (print[0], print[1])
            guard let vector = PrintBlob.vector(blob, dimension: dimension) else {
                throw database.folder.error(.damaged("the print of row \(row) is not \(dimension) finite floats"))
            }
            try body(row, blob, vector)
        }
    }
}

extension Data {
    /// Bytes from hexadecimal digits; an invalid pair is zero.
    init(hexadecimal text: String) {
        self.init(capacity: text.utf8.count / 2)
        var digits = text[...]
        while digits.count >= 2 {
            append(UInt8(digits.prefix(2), radix: 16) ?? 0)
            digits = digits.dropFirst(2)
        }
    }
}
