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
        try folder.mappingErrors {
            try database.reader.read { try Self.stored(where: condition, withThumbnails: withThumbnails, $0) }
        }
    }

    static func stored(where condition: SQL, withThumbnails: Bool, _ db: Database) throws -> [StoredEntity] {
        let thumbnail: SQL = withThumbnails ? "(SELECT data FROM thumbnail WHERE thumbnail.row = entity.row)" : "NULL"
        let request: SQLRequest<Row> = "SELECT entity.*, \(thumbnail) AS thumbnail FROM entity WHERE \(condition)"
        return try request.fetchAll(db).map { row in
            StoredEntity(
                entity: try EntityRecord(row: row).entity, key: try row.decode(forColumn: "row"),
                thumbnail: try row.decode(forColumn: "thumbnail"))
        }
    }

    /// The entities with these ids, in the order of the ids, without unknown ones. One query for all ids.
    ///
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    public func entities(for ids: [String]) async throws -> [CatalogEntity] {
        try await reading { try records(forIDs: ids).map(\.entity) }
    }

    /// Calls `body` with every entity in the catalog's order. O(1) memory.
    ///
    /// - Throws: as ``reduceEntities(into:_:)``.
    public func forEachEntity(_ body: @Sendable (CatalogEntity) throws -> Void) async throws {
        try await reduceEntities(into: ()) { _, entity in try body(entity) }
    }

    /// What `body` makes of all entities, in the catalog's order.
    ///
    /// ```swift
    /// let artists = try await catalog.reduceEntities(into: Set<String>()) { artists, entity in
    ///     if let artist = entity.subtitle { artists.insert(artist) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - initial: the result of no entities.
    ///   - body: adds an entity to the result. It runs on the catalog's executor, while the database is read.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, what `body` throws, and `CancellationError` if the
    ///   task is cancelled meanwhile. ``CatalogError/Reason/busy`` if another process changes the catalog meanwhile
    ///   and this one cannot share SQLite's index with it, as in a folder without write access: `body` may then have
    ///   received entities from two states.
    /// - Complexity: O(entities) time, O(1) memory besides the result.
    public func reduceEntities<Result: Sendable>(
        into initial: Result, _ body: @Sendable (inout Result, CatalogEntity) throws -> Void
    ) async throws -> Result {
        try await executor.compute { cancellation in
            // Errors of the body pass as they are; those of the database are mapped.
            var failure: (any Error)?
            do {
                return try folder.mappingErrors {
                    try database.reader.read(attempts: 1) { db in
                        var result = initial
                        let records = try EntityRecord.order(Column("row")).fetchCursor(db)
                        while let record = try records.next() {
                            do {
                                try cancellation.check()
                                try body(&result, record.entity)
                            } catch {
                                failure = error
                                throw error
                            }
                        }
                        return result
                    }
                }
            } catch {
                throw failure ?? error
            }
        }
    }
}
