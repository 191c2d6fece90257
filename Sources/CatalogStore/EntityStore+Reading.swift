package import CatalogEntities
package import Foundation
import GRDB
import Inference
package import LocalFeatures

/// Records and blobs of entities, by their rows or ids.
extension EntityStore {
    /// The stored entities of these rows, without those that were removed.
    package func entities(forKeys keys: [Int64], withThumbnails: Bool = false) throws -> [Int64: StoredEntity] {
        try read { try Self.entities(forKeys: keys, withThumbnails: withThumbnails, $0) }
    }

    static func entities(
        forKeys keys: [Int64], withThumbnails: Bool, _ db: Database
    ) throws -> [Int64: StoredEntity] {
        try inParts(of: keys) { try stored(where: "entity.row IN \($0)", withThumbnails: withThumbnails, db) }
            .reduce(into: [:]) { $0[$1.key] = $1 }
    }

    /// The stored entities with these ids, in the order of the ids, without unknown ones.
    package func entities(forIDs ids: [String], withThumbnails: Bool = false) throws -> [StoredEntity] {
        let found = try read { db in
            try Self.inParts(of: ids) {
                try Self.stored(where: "entity.id IN \($0)", withThumbnails: withThumbnails, db)
            }
        }
        let byID = Dictionary(found.map { (ExactText($0.entity.id), $0) }, uniquingKeysWith: { first, _ in first })
        return ids.compactMap { byID[ExactText($0)] }
    }

    private static func stored(where condition: SQL, withThumbnails: Bool, _ db: Database) throws -> [StoredEntity] {
        // An entity's first image is its cover.
        let thumbnail: SQL =
            withThumbnails
            ? "(SELECT data FROM thumbnail WHERE thumbnail.row \(sql: ImageRow.isOfEntity()) ORDER BY row LIMIT 1)"
            : "NULL"
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
    package func forEachEntity(where condition: Condition = .everything, _ body: (CatalogEntity) throws -> Void) throws
    {
        // An error of the body is not to be taken for one of a change meanwhile.
        var failure: (any Error)?
        do {
            try read(attempts: 1) { db in
                let condition = try resolved(condition, db)
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

    /// Calls `body` with every image that was indexed from a file, in the catalog's order.
    package func forEachImageFile(_ body: (_ id: String, _ place: Int, _ path: String) throws -> Void) throws {
        try read { db in
            let request: SQLRequest<Row> = """
                SELECT entity.id, image.row, entity.images FROM entity CROSS JOIN image \
                ON image.row \(sql: ImageRow.isOfEntity()) WHERE image.size >= 0 ORDER BY entity.row, image.row
                """
            let rows = try request.fetchCursor(db)
            var (entity, paths) = (Int64?.none, [String]())
            while let row = try rows.next() {
                let key: Int64 = try row.decode(atIndex: 1)
                if entity != ImageRow.entity(key) {
                    entity = ImageRow.entity(key)
                    paths = try EntityRecord.paths(row.decode(atIndex: 2))
                }
                let place = ImageRow.place(key)
                if place < paths.count { try body(row.decode(atIndex: 0), place, paths[place]) }
            }
        }
    }

    /// What an indexer compares items with: the records of these ids, and what is stored of the images of each.
    package func knownEntities(forIDs ids: [String]) throws -> [KnownEntity] {
        try read { db in
            try Self.inParts(of: ids) { ids in
                let records: SQLRequest<EntityRecord> = "SELECT * FROM entity WHERE id IN \(ids)"
                var known = try records.fetchAll(db).reduce(into: [:]) {
                    $0[$1.row ?? 0] = KnownEntity(record: $1, images: [])
                }
                let images: SQLRequest<Row> = """
                    SELECT image.*, localFeatures.row IS NOT NULL AS hasLocalFeatures FROM entity CROSS JOIN image \
                    ON image.row \(sql: ImageRow.isOfEntity()) LEFT JOIN localFeatures \
                    ON localFeatures.row = image.row WHERE entity.id IN \(ids) ORDER BY image.row
                    """
                for row in try images.fetchAll(db) {
                    let key: Int64 = try row.decode(forColumn: "row")
                    known[ImageRow.entity(key)]?.images.append(
                        KnownImage(
                            file: try ImageStamp(row), contentHash: try row.decode(forColumn: "contentHash"),
                            hasLocalFeatures: try row.decode(forColumn: "hasLocalFeatures")))
                }
                return Array(known.values)
            }
        }
    }

    /// The rows and the prints of an entity's images; none for an unknown id.
    package func prints(forID id: String) throws -> [(key: Int64, blob: Data)] {
        try read { db in
            let request: SQLRequest<Row> = """
                SELECT print.row, print.vector FROM entity CROSS JOIN print \
                ON print.row \(sql: ImageRow.isOfEntity()) WHERE entity.id = \(id) ORDER BY print.row
                """
            return try request.fetchAll(db).map { try ($0.decode(atIndex: 0), $0.decode(atIndex: 1)) }
        }
    }

    /// The local features of images, without those that have none.
    package func localFeatures(forKeys keys: [Int64]) throws -> [(key: Int64, features: LocalFeatures)] {
        try read { db in
            let request: SQLRequest<Row> = "SELECT row, data FROM localFeatures WHERE row IN \(keys)"
            return try request.fetchAll(db).compactMap { row in
                let key: Int64 = try row.decode(forColumn: "row")
                return Data.fromDatabaseValue(row["data"]).flatMap(LocalFeatures.init(encoded:)).map { (key, $0) }
            }
        }
    }

    /// The stored thumbnail of an image, a JPEG file; nil if it has none.
    package func storedThumbnail(forKey key: Int64) throws -> Data? {
        try read { try Data.fetchOne($0, sql: "SELECT data FROM thumbnail WHERE row = ?", arguments: [key]) }
    }

    /// What a thumbnail of an entity's image can be made of; nil for an unknown id and for a place without an image.
    package func thumbnail(
        forID id: String, place: Int
    ) throws -> (image: String, isFile: Bool, stored: (side: Int, data: Data)?)? {
        guard (0..<ImageRow.mostPlaces).contains(place) else { return nil }
        return try read { db in
            guard let entity = try Self.row(ofID: id, db) else { return nil }
            let request: SQLRequest<Row> = """
                SELECT entity.images, image.size, thumbnail.side, thumbnail.data FROM entity CROSS JOIN image \
                LEFT JOIN thumbnail ON thumbnail.row = image.row \
                WHERE entity.row = \(entity) AND image.row = \(ImageRow.row(of: entity, place: place))
                """
            return try request.fetchOne(db).flatMap { row in
                let (side, data): (Int?, Data?) = try (row.decode(atIndex: 2), row.decode(atIndex: 3))
                let size: Int64 = try row.decode(atIndex: 1)
                let paths = try EntityRecord.paths(row.decode(atIndex: 0))
                return place < paths.count ? (paths[place], size >= 0, data.map { (side ?? 0, $0) }) : nil
            }
        }
    }

    /// The images that were stored after the given revision of each.
    package func keys(changedSince revisions: [Int64: Int64]) throws -> Set<Int64> {
        try read { db in
            let changed = try Self.inParts(of: Array(revisions.keys)) { keys in
                let request: SQLRequest<Row> = "SELECT row, revision FROM image WHERE row IN \(keys)"
                return try request.fetchAll(db).compactMap { row -> Int64? in
                    let (key, latest): (Int64, Int64) = try (row.decode(atIndex: 0), row.decode(atIndex: 1))
                    return revisions[key].map { $0 < latest } ?? false ? key : nil
                }
            }
            return Set(changed)
        }
    }

    /// The number of images.
    package func imageCount() throws -> Int { try read(Self.imageCount) }

    static func imageCount(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM image") ?? 0
    }

    /// Calls `image` with each image of the entities that satisfy the condition and its print, then `features` with the
    /// local features of each. Both see the same state, in the catalog's order.
    package func forEachStored(
        where condition: Condition, image: (CatalogEntity, _ place: Int, _ print: Data) throws -> Void,
        features: (CatalogEntity, _ place: Int, Data) throws -> Void
    ) throws {
        try read { db in
            let condition = try resolved(condition, db)
            func forEach(
                _ column: String, of table: String, _ body: (CatalogEntity, _ place: Int, Data) throws -> Void
            ) throws {
                let request: SQLRequest<Row> = """
                    SELECT entity.*, blobs.row AS key, blobs.\(sql: column) AS blob FROM entity \
                    CROSS JOIN \(sql: table) AS blobs ON blobs.row \(sql: ImageRow.isOfEntity()) \
                    WHERE \(condition.sql) ORDER BY entity.row, blobs.row
                    """
                let blobs = try request.fetchCursor(db)
                while let row = try blobs.next() {
                    let place = ImageRow.place(try row.decode(forColumn: "key"))
                    try body(EntityRecord(row: row).entity, place, row.decode(forColumn: "blob"))
                }
            }
            try forEach("vector", of: "print", image)
            try forEach("data", of: "localFeatures", features)
        }
    }
}
