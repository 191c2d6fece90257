import Foundation
import GRDB

extension CatalogIndexer {
    /// Removes entities.
    ///
    /// - Throws: ``CatalogError``. If an id is unknown, nothing is removed.
    public func remove(_ ids: [String]) throws {
        try turn.withLock { _ in
            let known = try records(of: ids)
            let unknown = ids.filter { known[ExactText($0)] == nil }
            guard unknown.isEmpty else { throw folder.error(.unknownEntities(unknown)) }
            try drop(ids)
            try refreshDerivedFiles()
        }
    }

    /// Removes the entities whose image file no longer exists, and returns their ids. Entities that were indexed from
    /// memory stay. O(entities).
    ///
    /// An image that exists and cannot be read, or whose folder cannot be entered, is not missing.
    /// - Parameter evenIfAll: whether to remove all entities if none of their images exists. That is more often a disk
    ///   that is not mounted.
    /// - Throws: ``CatalogError``; nothing is removed then.
    public func prune(evenIfAll: Bool = false) throws -> [String] {
        try turn.withLock { _ in
            let (count, gone) = try folder.mappingErrors {
                try database.reader.read { db in
                    var (count, gone) = (0, [String]())
                    let rows = try Row.fetchCursor(db, sql: "SELECT id, image FROM entity WHERE size >= 0 ORDER BY row")
                    while let row = try rows.next() {
                        count += 1
                        if FileStamp.isMissing(try row.decode(atIndex: 1)) { gone.append(try row.decode(atIndex: 0)) }
                    }
                    return (count, gone)
                }
            }
            guard evenIfAll || gone.isEmpty || gone.count < count else {
                throw folder.error(.allImagesMissing(count: count))
            }
            if !gone.isEmpty {
                try drop(gone)
                try refreshDerivedFiles()
            }
            return gone
        }
    }

    private func drop(_ ids: [String]) throws(CatalogError) {
        try folder.mappingErrors {
            try writer.write { db in
                for id in ids { try db.execute(sql: "DELETE FROM entity WHERE id = ?", arguments: [id]) }
                try CatalogRevision.advance(db)
            }
        }
    }
}
