package import Foundation
import GRDB
import Inference
import LocalFeatures

/// Records and blobs of entities, by their rows or ids.
extension EntityStore {
    /// The stored entities of these rows, without those that were removed.
    func entities(forKeys keys: [Int64], withThumbnails: Bool = false) throws -> [Int64: StoredEntity] {
        try read { try Self.entities(forKeys: keys, withThumbnails: withThumbnails, $0) }
    }

    static func entities(
        forKeys keys: [Int64], withThumbnails: Bool, _ db: Database
    ) throws -> [Int64: StoredEntity] {
        try inParts(of: keys) { try stored(where: "entity.row IN \($0)", withThumbnails: withThumbnails, db) }
            .reduce(into: [:]) { $0[$1.key] = $1 }
    }

    /// The stored entities with these ids, in the order of the ids, without unknown ones.
    func entities(forIDs ids: [String], withThumbnails: Bool = false) throws -> [StoredEntity] {
        let found = try read { db in
            try Self.inParts(of: ids) {
                try Self.stored(where: "entity.id IN \($0)", withThumbnails: withThumbnails, db)
            }
        }
        let byID = Dictionary(found.map { (ExactText($0.entity.id), $0) }, uniquingKeysWith: { first, _ in first })
        return ids.compactMap { byID[ExactText($0)] }
    }

    private static func stored(where condition: SQL, withThumbnails: Bool, _ db: Database) throws -> [StoredEntity] {
        let thumbnail: SQL = withThumbnails ? "(SELECT data FROM thumbnail WHERE thumbnail.row = entity.row)" : "NULL"
        let request: SQLRequest<Row> = "SELECT entity.*, \(thumbnail) AS thumbnail FROM entity WHERE \(condition)"
        return try request.fetchAll(db).map { row in
            StoredEntity(
                entity: try EntityRecord(row: row).entity, key: try row.decode(forColumn: "row"),
                thumbnail: try row.decode(forColumn: "thumbnail"))
        }
    }

    /// Calls `body` with every entity in the catalog's order. O(1) memory.
    ///
    /// - Parameter condition: the entities; all by default.
    /// - Throws: what `body` throws; ``CatalogError/Reason/busy`` if the database changes while the file is read alone.
    func forEachEntity(where condition: Condition = .everything, _ body: (CatalogEntity) throws -> Void) throws {
        // An error of the body is not to be taken for one of a change meanwhile.
        var failure: (any Error)?
        do {
            try read(attempts: 1) { db in
                let request: SQLRequest<EntityRecord> = """
                    SELECT * FROM entity WHERE \(condition.sql) ORDER BY row
                    """
                let records = try request.fetchCursor(db)
                while let record = try records.next() {
                    do {
                        try body(record.entity)
                    } catch {
                        failure = error
                        throw error
                    }
                }
            }
        } catch {
            throw failure ?? error
        }
    }

    /// Calls `body` with the id and the image of every entity that was indexed from a file, in the catalog's order.
    func forEachImageFile(_ body: (_ id: String, _ image: String) throws -> Void) throws {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT id, image FROM entity WHERE size >= 0 ORDER BY row")
            while let row = try rows.next() { try body(row.decode(atIndex: 0), row.decode(atIndex: 1)) }
        }
    }

    /// What an indexer compares items with: the records of these ids, and whether each has local features.
    func knownEntities(forIDs ids: [String]) throws -> [(record: EntityRecord, hasLocalFeatures: Bool)] {
        try read { db in
            try Self.inParts(of: ids) { ids in
                let request: SQLRequest<Row> = """
                    SELECT entity.*, localFeatures.row IS NOT NULL AS hasLocalFeatures \
                    FROM entity LEFT JOIN localFeatures USING (row) WHERE entity.id IN \(ids)
                    """
                return try request.fetchAll(db).map { row in
                    (try EntityRecord(row: row), try row.decode(forColumn: "hasLocalFeatures"))
                }
            }
        }
    }

    /// The row and the print of an entity; nil for an unknown id.
    func print(forID id: String) throws -> (key: Int64, blob: Data)? {
        try read { db in
            let request: SQLRequest<Row> =
                "SELECT print.row, print.vector FROM print JOIN entity USING (row) WHERE entity.id = \(id)"
            return try request.fetchOne(db).map { try ($0.decode(atIndex: 0), $0.decode(atIndex: 1)) }
        }
    }

    /// The local features of entities, without those that have none.
    func localFeatures(forKeys keys: [Int64]) throws -> [(key: Int64, features: LocalFeatures)] {
        try read { db in
            let request: SQLRequest<Row> = "SELECT row, data FROM localFeatures WHERE row IN \(keys)"
            return try request.fetchAll(db).compactMap { row in
                let key: Int64 = try row.decode(forColumn: "row")
                return Data.fromDatabaseValue(row["data"]).flatMap(LocalFeatures.init(encoded:)).map { (key, $0) }
            }
        }
    }

    /// What a thumbnail of an entity can be made of; nil for an unknown id.
    func thumbnail(forID id: String) throws -> (image: String, isFile: Bool, stored: (side: Int, data: Data)?)? {
        try read { db in
            let request: SQLRequest<Row> = """
                SELECT entity.image, entity.size, thumbnail.side, thumbnail.data \
                FROM entity LEFT JOIN thumbnail USING (row) WHERE id = \(id)
                """
            return try request.fetchOne(db).map { row in
                let (side, data): (Int?, Data?) = try (row.decode(atIndex: 2), row.decode(atIndex: 3))
                let size: Int64 = try row.decode(atIndex: 1)
                return (try row.decode(atIndex: 0), size >= 0, data.map { (side ?? 0, $0) })
            }
        }
    }

    /// The entities whose image was stored after the given revision of each.
    func keys(changedSince revisions: [Int64: Int64]) throws -> Set<Int64> {
        try read { db in
            let changed = try Self.inParts(of: Array(revisions.keys)) { keys in
                let request: SQLRequest<Row> = "SELECT row, revision FROM checksum WHERE row IN \(keys)"
                return try request.fetchAll(db).compactMap { row -> Int64? in
                    let (key, latest): (Int64, Int64) = try (row.decode(atIndex: 0), row.decode(atIndex: 1))
                    return revisions[key].map { $0 < latest } ?? false ? key : nil
                }
            }
            return Set(changed)
        }
    }

    /// The number of entities with an image.
    func imageCount() throws -> Int { try read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM checksum") ?? 0 } }

    /// Calls `entity` with each entity that satisfies the condition and its print, then `features` with the local
    /// features of each. Both see the same state, in the catalog's order.
    func forEachStored(
        where condition: Condition, entity: (CatalogEntity, _ print: Data) throws -> Void,
        features: (_ id: String, Data) throws -> Void
    ) throws {
        try read { db in
            let stored: SQLRequest<Row> = """
                SELECT entity.*, print.vector FROM entity JOIN print USING (row) \
                WHERE \(condition.sql) ORDER BY row
                """
            let entities = try stored.fetchCursor(db)
            while let row = try entities.next() {
                try entity(EntityRecord(row: row).entity, row.decode(forColumn: "vector"))
            }
            let request: SQLRequest<Row> = """
                SELECT entity.id, localFeatures.data FROM localFeatures JOIN entity USING (row) \
                WHERE \(condition.sql) ORDER BY row
                """
            let blobs = try request.fetchCursor(db)
            while let row = try blobs.next() { try features(row.decode(atIndex: 0), row.decode(atIndex: 1)) }
        }
    }
}

/// The entities of a derived file in the catalog's order: taken over from an earlier file, or read from the database.
struct DerivedEntities {
    /// The table of the blobs, which is also the column of their checksum.
    let table: String
    let column: String
    /// The keys of the earlier file, ascending, and its revision; nil without one.
    let earlier: (keys: UnsafeBufferPointer<Int64>, revision: CatalogRevision)?

    enum Origin {
        /// The position in the earlier file.
        case earlier(Int)
        case blob(Data)
    }

    /// Calls `body` for every entity. Only the blobs that changed since the earlier file are read.
    func forEach(_ db: Database, _ body: (Int64, Origin) throws -> Void) throws {
        // Before all of them, also in a damaged database.
        let revision = earlier?.revision.number ?? .min
        let keys = earlier?.keys ?? UnsafeBufferPointer(start: nil, count: 0)
        let same = try Int64.fetchCursor(
            db, sql: "SELECT row FROM checksum WHERE revision <= ? AND \(table) IS NOT NULL ORDER BY row",
            arguments: [revision])
        var position = 0
        var nextSame = earlier == nil ? nil : try same.next()
        /// - Parameter key: nil for all that are left.
        func takeOver(before key: Int64?) throws {
            while let row = nextSame, key.map({ row < $0 }) ?? true {
                while position < keys.count, keys[position] < row { position += 1 }
                if position < keys.count, keys[position] == row { try body(row, .earlier(position)) }
                nextSame = try same.next()
            }
        }
        let changed = try Row.fetchCursor(
            db,
            sql: """
                SELECT blobs.row, blobs.\(column) FROM checksum CROSS JOIN \(table) AS blobs \
                WHERE checksum.revision > ? AND blobs.row = checksum.row ORDER BY checksum.row
                """, arguments: [revision])
        while let row = try changed.next() {
            let key: Int64 = try row.decode(atIndex: 0)
            try takeOver(before: key)
            // A damaged database may have a number instead of a blob.
            try body(key, .blob(Data.fromDatabaseValue(row[1]) ?? Data()))
        }
        try takeOver(before: nil)
    }
}

/// A row of the table of entities.
struct EntityRecord: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "entity"

    var row: Int64?
    var id: String
    var type: String?
    var title: String?
    var subtitle: String?
    var labels: [String]
    var attributes: [String: String]
    var image: String
    var size: Int64
    /// Nanoseconds since 1970.
    var modified: Int64
    /// SHA-256.
    var contentHash: Data

    mutating func didInsert(_ inserted: InsertionSuccess) { row = inserted.rowID }

    init(_ entity: CatalogEntity, file: FileStamp, contentHash: Data) {
        id = entity.id
        type = entity.type
        title = entity.title
        subtitle = entity.subtitle
        labels = entity.labels
        attributes = entity.attributes
        image = entity.image
        size = file.size
        modified = file.modified
        self.contentHash = contentHash
    }

    /// - Throws: `DatabaseError`, which names the row, for values of another type and for malformed JSON.
    init(row: Row) throws {
        do {
            self = try FetchableRecordDecoder().decode(Self.self, from: row)
        } catch let error as DecodingError {
            throw Self.damage(row, describe(error))
        } catch let error as RowDecodingError {
            throw Self.damage(row, error.summary)
        }
    }

    private static func damage(_ row: Row, _ reason: String) -> DatabaseError {
        let number = row.hasColumn("row") ? Int64.fromDatabaseValue(row["row"]).map { "\($0)" } : nil
        return DatabaseError(
            resultCode: .SQLITE_CORRUPT, message: "row \(number ?? "?") of its entities cannot be read: \(reason)")
    }

    var entity: CatalogEntity {
        CatalogEntity(
            id: id, type: type, title: title, subtitle: subtitle, labels: labels, attributes: attributes, image: image)
    }

    /// What problems call it.
    var origin: String { image.isEmpty ? "entity “\(id)”" : image }

    var file: FileStamp { FileStamp(size: size, modified: modified) }
}

/// A stored entity, with its row in the database.
package struct StoredEntity: Sendable {
    package let entity: CatalogEntity
    package let key: Int64
    /// A JPEG file; nil if none was made or requested.
    package let thumbnail: Data?
}

extension CatalogEntity {
    /// What the index of fields has of the entity. The id has an index of its own.
    var indexedFields: [(field: EntityField, text: String)] {
        [(.type, type), (.title, title), (.subtitle, subtitle)].compactMap { field, text in text.map { (field, $0) } }
            + labels.map { (.label, $0) } + attributes.map { (.attribute($0.key), $0.value) }
    }
}

/// Prints as stored: little-endian 32-bit floats.
enum PrintBlob {
    static func data(_ vector: [Float]) -> Data {
        vector.map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) }
    }

    /// Nil if the dimension is wrong or a component is not finite.
    static func vector(_ data: Data, dimension: Int) -> [Float]? {
        guard data.count == dimension * 4 else { return nil }
        let vector = data.withUnsafeBytes { bytes in
            (0..<dimension).map {
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self)))
            }
        }
        return vector.allSatisfy(\.isFinite) ? vector : nil
    }
}
