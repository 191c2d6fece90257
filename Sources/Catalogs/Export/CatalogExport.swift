import FeaturePrints
import Foundation
import GRDB
import LocalFeatures

extension Catalog {
    /// Writes `prints.npy`, a float32 matrix with one row per entity; `entities.jsonl`, one line per entity in the same
    /// order; and `features.jsonl`, one line per entity with local features, into a folder. Creates the folder if it is
    /// missing. O(entities) memory.
    ///
    /// A line of `features.jsonl` has the entity's `id`, the `width` and `height` of the image in which the keypoints
    /// were detected, `keypoints` as [x, y, scale, angle], their visual `words`, and their `codes` in Base64, 32 bytes
    /// each.
    ///
    /// The files of an earlier export are replaced. A file `entities.jsonl` or `features.jsonl` without a `prints.npy`
    /// beside it is taken for somebody's own, such as a manifest, and is not.
    ///
    /// - Throws: ``CatalogError`` if the catalog cannot be read, or the folder has such a file; the system's error if a
    ///   file cannot be written; and `CancellationError`.
    public func export(to url: URL) async throws { try await reading { try write(to: url) } }

    private func write(to url: URL) throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        // One read, so that all files show the same state.
        let (prints, lines, features) = try folder.mappingErrors {
            try database.reader.read { db in
                let (prints, lines) = try exportedEntities(db)
                return (prints, lines, try exportedFeatures(db))
            }
        }
        let printsFile = url.appendingPathComponent("prints.npy")
        let lineFiles = ["entities.jsonl", "features.jsonl"].map { url.appendingPathComponent($0) }
        if FileStamp.isMissing(printsFile.path), let own = lineFiles.first(where: { !FileStamp.isMissing($0.path) }) {
            throw CatalogError(
                folder: url.path,
                reason: .unwritable(
                    "“\(own.lastPathComponent)” is not of an earlier export, since there is no “prints.npy”; "
                        + "export to another folder"))
        }
        // Files of an earlier export would be taken for this one's if it does not finish.
        for file in lineFiles { unlink(file.path) }
        try NumPyFile.data(prints, columns: model.dimension).write(to: printsFile, options: .atomic)
        for (file, data) in zip(lineFiles, [lines, features]) { try data.write(to: file, options: .atomic) }
    }

    private func exportedEntities(_ db: Database) throws -> (prints: [[Float]], lines: Data) {
        var prints: [[Float]] = []
        var lines = Data()
        let rows = try Row.fetchCursor(
            db, sql: "SELECT entity.*, print.vector FROM entity JOIN print USING (row) ORDER BY row")
        while let row = try rows.next() {
            let entity = try EntityRecord(row: row).entity
            guard let vector = PrintBlob.vector(try row.decode(forColumn: "vector"), dimension: model.dimension) else {
                throw folder.error(.damaged("the print of “\(entity.id)” is not \(model.dimension) finite floats"))
            }
            prints.append(vector)
            lines += Data((try JSONLine.text(entity) + "\n").utf8)
        }
        return (prints, lines)
    }

    private func exportedFeatures(_ db: Database) throws -> Data {
        var lines = Data()
        let rows = try Row.fetchCursor(
            db, sql: "SELECT entity.id, localFeatures.data FROM localFeatures JOIN entity USING (row) ORDER BY row")
        while let row = try rows.next() {
            let (id, data): (String, Data) = try (row.decode(atIndex: 0), row.decode(atIndex: 1))
            guard let features = LocalFeatures(encoded: data) else {
                throw folder.error(.damaged("the local features of “\(id)” cannot be read"))
            }
            lines += Data((try JSONLine.text(ExportedFeatures(id, features)) + "\n").utf8)
        }
        return lines
    }
}

/// A line of `features.jsonl`.
private struct ExportedFeatures: Encodable {
    let id: String
    let width: Int
    let height: Int
    let keypoints: [[Float]]
    let words: [UInt16]
    let codes: Data

    init(_ id: String, _ features: LocalFeatures) {
        self.id = id
        (width, height) = (features.width, features.height)
        keypoints = features.keypoints.map { [$0.x, $0.y, $0.scale, $0.angle] }
        words = features.words
        codes = Data(features.codes)
    }
}
