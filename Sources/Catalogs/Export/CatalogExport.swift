import FeaturePrints
import Foundation
import GRDB

extension Catalog {
    /// Writes `prints.npy`, a matrix with a row an entity, and `entities.jsonl`, a line an entity in
    /// the same order, into a folder, which is made where it is missing.
    public func export(to url: URL) throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let (prints, lines) = try folder.attempt {
            try database.reader.read { db in
                var prints: [[Float]] = []
                var lines = Data()
                let rows = try Row.fetchCursor(
                    db, sql: "SELECT entity.*, print.vector FROM entity JOIN print USING (row) ORDER BY row")
                while let row = try rows.next() {
                    guard let vector = PrintBlob.vector(row["vector"], length: model.printLength) else {
                        throw folder.error(.damaged("the print of “\(row["id"] as String)” is not \(model.printLength) finite floats"))
                    }
                    prints.append(vector)
                    lines += Data((try JSONLine.text(EntityRecord(row: row).entity) + "\n").utf8)
                }
                return (prints, lines)
            }
        }
        try NumPyFile.data(prints, columns: model.printLength).write(to: url.appendingPathComponent("prints.npy"), options: .atomic)
        try lines.write(to: url.appendingPathComponent("entities.jsonl"), options: .atomic)
    }
}
