import CatalogEntities
import Compute
import Digests
import FeaturePrints
package import Foundation
import GRDB
import Inference
import LocalFeatures

extension EntityStore {
    /// The digest of what is stored of an image: the first half of the SHA-256 of the entity's id, a zero byte, the
    /// image's hash and the blob. So blobs that were swapped are found as well as damaged ones.
    package static func digest(of blob: Data, id: String, contentHash: Data) -> Data {
        SHA256.hash(Data(id.utf8) + [0] + contentHash + blob).prefix(16)
    }

    /// Reads everything that is stored.
    ///
    /// - Parameter wordCount: the number of visual words; nil in a catalog without local features.
    /// - Returns: a sentence per problem.
    func problems(dimension: Int, wordCount: Int?) throws -> [String] {
        try read { db in
            try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" } + Self.entityProblems(db)
                + Self.revisionProblems(db) + Self.printProblems(dimension: dimension, db)
                + Self.blobProblems("localFeatures", "local features are", db) {
                    LocalFeatures(encoded: $0, wordCount: wordCount ?? .max) != nil
                } + Self.blobProblems("thumbnail", "thumbnail is", db) { _ in true }
        }
    }

    /// Names an entity, which may have an id of another type, or one of its images after the first.
    private static func name(_ id: DatabaseValue, _ row: Int64 = 0) -> String {
        let place = ImageRow.place(row)
        return "entity “\(String.fromDatabaseValue(id) ?? "?")”" + (place == 0 ? "" : ", image \(place + 1)")
    }

    /// Joins rows with their images, if there are any, and these with their entities.
    ///
    /// - Parameter table: a table with image rows.
    private static func entity(ofRowsOf table: String) -> String {
        "LEFT JOIN image ON image.row = \(table).row \(entity(ofImagesIn: table))"
    }

    /// Joins image rows of a table with their entities, if there are any.
    private static func entity(ofImagesIn table: String) -> String {
        "LEFT JOIN entity ON entity.row = \(ImageRow.entity(ofColumn: table + ".row"))"
    }

    private static func entityProblems(_ db: Database) throws -> [String] {
        var problems = try Row.fetchAll(
            db,
            sql: """
                SELECT id, images, (SELECT COUNT(*) FROM print WHERE print.row \(ImageRow.isOfEntity())) FROM entity
                """
        ).compactMap { row -> String? in
            let count = Int.fromDatabaseValue(row[2]) ?? 0
            // Paths that cannot be read are reported below.
            guard let paths = String.fromDatabaseValue(row[1]).flatMap({ try? EntityRecord.paths($0) }),
                count != paths.count
            else { return nil }
            return "\(name(row[0])) has "
                + (paths.count == 1 && count == 0 ? "no print" : "\(count) prints of its \(paths.count) images")
        }
        let fields = try Row.fetchCursor(
            db, sql: "SELECT row, name, text, number, instant, folded, place FROM field ORDER BY row")
        var next = try fields.next().map(StoredField.init)
        var (areFieldsIntact, areWordsIntact) = (true, true)
        let entities = try Row.fetchCursor(db, sql: "SELECT * FROM entity ORDER BY row")
        while let entity = try entities.next() {
            let key = Int64.fromDatabaseValue(entity["row"]) ?? .max
            var indexed: Set<StoredField> = []
            while let field = next, field.key <= key {
                indexed.insert(field)
                next = try fields.next().map(StoredField.init)
            }
            do {
                let record = try EntityRecord(row: entity)
                if indexed != Set(record.entity.indexedFields.map { StoredField($0, of: key) }) {
                    areFieldsIntact = false
                }
                if record.words != EntityRecord(record.entity).words { areWordsIntact = false }
            } catch let error as DatabaseError {
                problems.append(error.message ?? "\(error)")
            }
        }
        if next != nil || !areFieldsIntact { problems.append("the index of the entities’ fields does not match them") }
        if try !(areWordsIntact && isTextIndexIntact(db)) {
            problems.append("the index of the entities’ text does not match them")
        }
        return problems
    }

    /// A row of the index of fields.
    private struct StoredField: Hashable {
        let key: Int64
        let name: ExactText
        let text: ExactText
        let number: FieldNumber?
        let instant: Double?
        let folded: ExactText
        let place: Int

        init(_ row: Row) {
            key = Int64.fromDatabaseValue(row[0]) ?? .min
            name = ExactText(String.fromDatabaseValue(row[1]) ?? "")
            text = ExactText(String.fromDatabaseValue(row[2]) ?? "")
            number = FieldNumber.fromDatabaseValue(row[3])
            instant = Double.fromDatabaseValue(row[4])
            folded = ExactText(String.fromDatabaseValue(row[5]) ?? "")
            place = Int.fromDatabaseValue(row[6]) ?? -1
        }

        init(_ field: IndexedField, of key: Int64) {
            self.key = key
            (name, text) = (ExactText(field.name), ExactText(field.text))
            (number, instant, place) = (field.number, field.instant, field.place)
            folded = ExactText(TextFolding.folded(field.text))
        }
    }

    private static func revisionProblems(_ db: Database) throws -> [String] {
        // Derived files are made of what changed since a revision.
        let revision = try CatalogRevision.current(db)?.number ?? 0
        // Each change adds one.
        guard revision < .max - 1 << 32 else { return ["the number of its revision leaves no room for changes"] }
        let misdated = try Row.fetchAll(
            db,
            sql: """
                SELECT entity.id, image.row FROM image \(entity(ofImagesIn: "image")) \
                WHERE typeof(image.revision) <> 'integer' OR image.revision NOT BETWEEN 0 AND \(revision)
                """)
        return misdated.map { row in
            "\(name(row[0], Int64.fromDatabaseValue(row[1]) ?? 0)): its revision is not one of the catalog’s"
        }
    }

    private static func printProblems(dimension: Int, _ db: Database) throws -> [String] {
        var problems: [String] = []
        let prints = try Row.fetchCursor(
            db,
            sql: """
                SELECT entity.id, print.vector, image.print, image.contentHash, print.row FROM print \
                \(entity(ofRowsOf: "print")) ORDER BY print.row
                """)
        while let print = try prints.next() {
            guard let id = String.fromDatabaseValue(print[0]) else {
                problems.append("a print without an entity")
                continue
            }
            let name = name(print[0], Int64.fromDatabaseValue(print[4]) ?? 0)
            let blob = Data.fromDatabaseValue(print[1]) ?? Data()
            guard let vector = HalfPrecision.vector(blob, dimension: dimension) else {
                problems.append("\(name): its print is not \(dimension) finite floats")
                continue
            }
            let norm = FeaturePrintModel.norm(of: vector)
            let hash = Data.fromDatabaseValue(print[3]) ?? Data()
            if abs(norm - 1) > FeaturePrintModel.normTolerance {
                problems.append("\(name): its print has the norm \(norm), not 1")
            } else if Data.fromDatabaseValue(print[2]) != digest(of: blob, id: id, contentHash: hash) {
                problems.append("\(name): its print is damaged or another image’s")
            }
        }
        return problems
    }

    /// An image may have no such blob, but not lose what it had.
    private static func blobProblems(
        _ table: String, _ subject: String, _ db: Database, where isReadable: (Data) -> Bool
    ) throws -> [String] {
        var problems: [String] = []
        let blobs = try Row.fetchCursor(
            db,
            sql: """
                SELECT entity.id, \(table).data, image.\(table), image.contentHash, image.row FROM image \
                LEFT JOIN \(table) USING (row) \(entity(ofImagesIn: "image")) \
                WHERE COALESCE(\(table).data, image.\(table)) IS NOT NULL ORDER BY image.row
                """)
        while let blob = try blobs.next() {
            // An id of another type has been reported before.
            guard let id = String.fromDatabaseValue(blob[0]) else { continue }
            let name = name(blob[0], Int64.fromDatabaseValue(blob[4]) ?? 0) + ": its"
            guard let data = Data.fromDatabaseValue(blob[1]) else {
                problems.append("\(name) \(subject) missing")
                continue
            }
            let hash = Data.fromDatabaseValue(blob[3]) ?? Data()
            if !isReadable(data) {
                problems.append("\(name) local features cannot be read")
            } else if Data.fromDatabaseValue(blob[2]) != digest(of: data, id: id, contentHash: hash) {
                problems.append("\(name) \(subject) damaged or another image’s")
            }
        }
        return problems
    }

    /// Whether the full-text index is that of the entities. O(text).
    ///
    /// FTS5 can check an index, but only where it can write, and SQLite's `integrity_check` looks into virtual tables
    /// since 3.44 alone. So both are copied to a temporary database, where FTS5 indexes the text again
    /// (https://www.sqlite.org/fts5.html, “integrity-check”).
    private static func isTextIndexIntact(_ db: Database) throws -> Bool {
        // SQLite keeps what does not fit into its cache in a file that it deletes.
        let copy = try DatabaseQueue(path: "")
        return try copy.write { copy in
            try copy.execute(
                sql: """
                    CREATE VIRTUAL TABLE entityText USING fts5(
                        title, subtitle, labels, words, \(CatalogSchema.textIndexOptions));
                    DELETE FROM entityText_data;
                    """)
            for (query, table) in [
                ("SELECT row, title, subtitle, labels, words FROM entity", "content"),
                ("SELECT id, block FROM entityText_data", "data"),
                ("SELECT segid, term, pgno FROM entityText_idx", "idx"),
                ("SELECT id, sz FROM entityText_docsize", "docsize"),
            ] {
                let selection = try db.makeStatement(sql: query)
                let places = (0..<selection.columnCount).map { _ in "?" }.joined(separator: ", ")
                let insertion = try copy.makeStatement(sql: "INSERT INTO entityText_\(table) VALUES (\(places))")
                let rows = try Row.fetchCursor(selection)
                while let row = try rows.next() {
                    try insertion.execute(arguments: StatementArguments(row.databaseValues))
                }
            }
            do {
                try copy.execute(sql: "INSERT INTO entityText (entityText) VALUES ('integrity-check')")
                return true
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                return false
            }
        }
    }
}
