import FeaturePrints
import Foundation
import GRDB

extension Catalog {
    /// Writes `prints.npy`, a float32 matrix with one row per entity, and `entities.jsonl`, one line per entity in the
    /// same order, into a folder. Creates the folder if it is missing. O(entities) memory.
    public func export(to url: URL) throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let (prints, lines) = try folder.mappingErrors {
            try database.reader.read { db in
                var prints: [[Float]] = []
                var lines = Data()
                let rows = try Row.fetchCursor(
                    db, sql: "SELECT entity.*, print.vector FROM entity JOIN print USING (row) ORDER BY row")
                while let row = try rows.next() {
                    guard let vector = PrintBlob.vector(row["vector"], dimension: model.dimension) else {
                        throw folder.error(
                            .damaged("the print of “\(row["id"] as String)” is not \(model.dimension) finite floats"))
                    }
                    prints.append(vector)
                    lines += Data((try JSONLine.text(EntityRecord(row: row).entity) + "\n").utf8)
                }
                return (prints, lines)
            }
        }
        try NumPyFile.data(prints, columns: model.dimension).write(
            to: url.appendingPathComponent("prints.npy"), options: .atomic)
        try lines.write(to: url.appendingPathComponent("entities.jsonl"), options: .atomic)
    }
}
