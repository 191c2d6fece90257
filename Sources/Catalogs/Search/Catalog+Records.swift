import Foundation
import GRDB

extension Catalog {
    /// The stored entities of these rows, without those that were removed.
    package func records(for keys: [Int64], withThumbnails: Bool = false) throws -> [Int64: StoredEntity] {
        try CatalogDatabase.inParts(of: keys) {
            try stored(where: "entity.row IN \($0)", withThumbnails: withThumbnails)
        }
        .reduce(into: [:]) { $0[$1.key] = $1 }
    }

    /// The stored entities with these ids, in the order of the ids, without unknown ones.
    package func records(forIDs ids: [String], withThumbnails: Bool = false) throws -> [StoredEntity] {
        let found = try CatalogDatabase.inParts(of: ids) {
            try stored(where: "entity.id IN \($0)", withThumbnails: withThumbnails)
        }
        let byID = Dictionary(found.map { (ExactText($0.entity.id), $0) }, uniquingKeysWith: { first, _ in first })
        return ids.compactMap { byID[ExactText($0)] }
    }

    /// The stored entities that satisfy a condition; one query.
    func stored(where condition: SQL, withThumbnails: Bool) throws -> [StoredEntity] {
        let thumbnail: SQL = withThumbnails ? "(SELECT data FROM thumbnail WHERE thumbnail.row = entity.row)" : "NULL"
        return try folder.mappingErrors {
            try database.reader.read { db in
                let request: SQLRequest<Row> =
                    "SELECT entity.*, \(thumbnail) AS thumbnail FROM entity WHERE \(condition)"
                return try request.fetchAll(db).map { row in
                    StoredEntity(
                        entity: try EntityRecord(row: row).entity, key: row["row"], thumbnail: row["thumbnail"])
                }
            }
        }
    }

    /// The entities with these ids, in the order of the ids, without unknown ones.
    public func entities(for ids: [String]) throws -> [CatalogEntity] { try records(forIDs: ids).map(\.entity) }

    /// Calls `body` with every entity in the catalog's order. O(1) memory.
    public func forEachEntity(_ body: (CatalogEntity) throws -> Void) throws {
        try database.reader.read { db in
            let records = try EntityRecord.order(Column("row")).fetchCursor(db)
            while let record = try records.next() { try body(record.entity) }
        }
    }
}
