import Foundation
import GRDB

extension Catalog {
    /// What is stored of these rows, those of them that are still there.
    package func records(for keys: [Int64], withThumbnails: Bool = false) throws -> [Int64: StoredEntity] {
        try CatalogDatabase.inParts(of: keys) { try stored(where: "entity.row IN \($0)", withThumbnails: withThumbnails) }
            .reduce(into: [:]) { $0[$1.key] = $1 }
    }

    /// What is stored of these ids, in the order asked, unknown ones left out.
    package func records(forIDs ids: [String], withThumbnails: Bool = false) throws -> [StoredEntity] {
        let found = try CatalogDatabase.inParts(of: ids) { try stored(where: "entity.id IN \($0)", withThumbnails: withThumbnails) }
        let byID = Dictionary(found.map { ($0.entity.id, $0) }, uniquingKeysWith: { first, _ in first })
        return ids.compactMap { byID[$0] }
    }

    /// One query to the database.
    func stored(where condition: SQL, withThumbnails: Bool) throws -> [StoredEntity] {
        let thumbnail: SQL = withThumbnails ? "(SELECT data FROM thumbnail WHERE thumbnail.row = entity.row)" : "NULL"
        return try folder.attempt {
            try database.reader.read { db in
                let request: SQLRequest<Row> = "SELECT entity.*, \(thumbnail) AS thumbnail FROM entity WHERE \(condition)"
                return try request.fetchAll(db).map { row in
                    StoredEntity(entity: try EntityRecord(row: row).entity, key: row["row"], thumbnail: row["thumbnail"])
                }
            }
        }
    }

    /// The entities with these ids, in the order asked, unknown ones left out.
    public func entities(for ids: [String]) throws -> [CatalogEntity] { try records(forIDs: ids).map(\.entity) }

    /// Calls `body` with every entity in the catalog's order, without holding them all in memory.
    public func forEachEntity(_ body: (CatalogEntity) throws -> Void) throws {
        try database.reader.read { db in
            let records = try EntityRecord.order(Column("row")).fetchCursor(db)
            while let record = try records.next() { try body(record.entity) }
        }
    }
}
