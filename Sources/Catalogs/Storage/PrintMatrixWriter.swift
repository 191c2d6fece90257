import Foundation
import GRDB
import VectorSearch

/// Writes the matrix file from the database.
struct PrintMatrixWriter {
    let database: CatalogDatabase

    /// O(prints) time, 20 bytes of memory per print: prints are read twice instead of kept.
    func write() throws(CatalogError) {
        try DerivedFile(database.folder.matrix, of: database).replace(write)
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
