package import CatalogEntities
import Foundation
import GRDB

/// Changes, each in one transaction.
extension EntityStore {
    /// Commits what was prepared of a chunk of items.
    ///
    /// - Parameter localFeatureModel: the digest that a catalog gets with its first local features; nil if they have
    ///   none.
    /// - Returns: what was stored; records whose entity got another image meanwhile, which were not; and whether the
    ///   catalog has local features from now on, and had none before.
    package func store(
        _ entities: [PreparedEntity], localFeatureModel: String?
    ) throws -> (added: Int, updated: Int, unchanged: Int, overtaken: [EntityRecord], hasFirstLocalFeatures: Bool) {
        try write { db in
            var (added, updated, unchanged, overtaken) = (0, 0, 0, [EntityRecord]())
            var revision: CatalogRevision?
            for entity in entities {
                var record = entity.record
                record.row = try Self.row(ofID: record.id, db)
                let isNew = record.row == nil
                let stored = try record.row.map { try Self.contentHashes(ofEntity: $0, db) } ?? []
                // Another task may have removed it, or given it other images, since it was read.
                guard entity.keepsImages(of: stored) else {
                    if !isNew { overtaken.append(record) }
                    continue
                }
                if entity.hasOnlyNewStamps {
                    unchanged += 1
                } else {
                    if isNew { added += 1 } else { updated += 1 }
                    try record.write(db)
                    try Self.indexFields(of: record, replacing: !isNew, db)
                }
                if !entity.keepsAllImages(count: stored.count) {
                    let current = try revision ?? CatalogRevision.advance(db)
                    revision = current
                    try Self.write(entity.images, as: record, replacing: !isNew, revision: current, db)
                }
                for (place, image) in entity.images.enumerated() where image.keptPlace != nil {
                    try Self.write(image.file, at: ImageRow.row(of: record.row ?? 0, place: place), db)
                }
            }
            // The matrix may be of an earlier revision for a while, and filters are kept by both revisions.
            if updated > 0 { try Setting.metadataRevision.raise(db) }
            return (added, updated, unchanged, overtaken, try localFeatureModel.map { try Self.note($0, db) } ?? false)
        }
    }

    /// Makes a catalog without entities one with local features.
    package func noteLocalFeaturesIfEmpty(model digest: String) throws {
        try write { db in
            guard try Int.fetchOne(db, sql: "SELECT 1 FROM entity LIMIT 1") == nil else { return }
            _ = try Self.note(digest, db)
        }
    }

    /// Changes the metadata of entities; their ids and images stay as they are.
    ///
    /// - Throws: what `change` throws; all entities are as before then.
    package func update(_ ids: [String], by change: (inout CatalogEntity) throws -> Void) throws {
        try write { db in
            var isChanged = false
            for id in ids where try update(id, by: change, db) { isChanged = true }
            if isChanged { try Setting.metadataRevision.raise(db) }
        }
    }

    /// Returns whether the entity is another one now.
    private func update(_ id: String, by change: (inout CatalogEntity) throws -> Void, _ db: Database) throws -> Bool {
        let request: SQLRequest<EntityRecord> = "SELECT * FROM entity WHERE id = \(id)"
        guard let known = try request.fetchOne(db) else { throw folder.error(.unknownEntities([id])) }
        var entity = known.entity
        try change(&entity)
        (entity.id, entity.images) = (known.id, known.images)
        guard !entity.hasNUL else {
            throw IndexProblem(subject: "entity “\(id)”", reason: "contains a NUL character")
        }
        guard !known.entity.isStored(as: entity) else { return false }
        var record = EntityRecord(entity)
        record.row = known.row
        try record.write(db)
        try Self.indexFields(of: record, replacing: true, db)
        return true
    }

    /// Removes entities; unknown ids are ignored.
    package func remove(_ ids: [String]) throws {
        try write { db in
            let statement = try db.cachedStatement(sql: "DELETE FROM entity WHERE id = ?")
            for id in ids { try statement.execute(arguments: [id]) }
            try CatalogRevision.advance(db)
        }
    }

    /// Removes images, and the entities that have no other ones.
    ///
    /// - Parameter images: the places of the images, by the ids of their entities; unknown ones are ignored.
    /// - Returns: the ids of the entities that were removed.
    package func removeImages(_ images: [(id: String, places: Set<Int>)]) throws -> [String] {
        try write { db in
            let revision = try CatalogRevision.advance(db)
            var removed: [String] = []
            for (id, places) in images {
                let request: SQLRequest<EntityRecord> = "SELECT * FROM entity WHERE id = \(id)"
                guard var record = try request.fetchOne(db) else { continue }
                let kept = record.images.indices.filter { !places.contains($0) }
                if kept.isEmpty {
                    try db.execute(literal: "DELETE FROM entity WHERE row = \(record.row)")
                    removed.append(id)
                } else {
                    record.images = kept.map { record.images[$0] }
                    try record.write(db)
                    try Self.keep(kept, of: record.row ?? 0, revision: revision, db)
                    try Setting.metadataRevision.raise(db)
                }
            }
            return removed
        }
    }

    /// Forgets the states before the present one, when no derived file is made of them any more.
    func forgetEarlierRevisions() throws {
        try write { db in
            if try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM revision") != 1 {
                try CatalogRevision.current(db)?.forgetEarlier(db)
            }
        }
    }

    static func row(ofID id: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT row FROM entity WHERE id = ?"), arguments: [id])
    }

    /// SHA-256 of each image of an entity, in order.
    private static func contentHashes(ofEntity row: Int64, _ db: Database) throws -> [Data] {
        try Data.fetchAll(
            db.cachedStatement(
                sql: "SELECT image.contentHash FROM entity CROSS JOIN image ON image.row \(ImageRow.isOfEntity()) "
                    + "WHERE entity.row = ? ORDER BY image.row"), arguments: [row])
    }

    /// - Returns: whether the catalog had no local features before.
    private static func note(_ localFeatureModel: String, _ db: Database) throws -> Bool {
        guard try Setting.localFeatureModel.read(db) == nil else { return false }
        try Setting.localFeatureModel.write(localFeatureModel, db)
        return true
    }

    /// Writes the entity's rows of the index of fields.
    ///
    /// - Parameter isStored: whether it has rows there, which these replace.
    private static func indexFields(of record: EntityRecord, replacing isStored: Bool, _ db: Database) throws {
        if isStored { try db.cachedStatement(sql: "DELETE FROM field WHERE row = ?").execute(arguments: [record.row]) }
        // An entity may have a label or a value of a list twice.
        let insertion = try db.cachedStatement(
            sql:
                "INSERT OR IGNORE INTO field (name, folded, row, text, number, instant, place) VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        for field in record.entity.indexedFields {
            try insertion.execute(
                arguments: [
                    field.name, TextFolding.folded(field.text), record.row, field.text, field.number, field.instant,
                    field.place,
                ])
        }
    }

    /// Writes the images of an entity.
    ///
    /// - Parameter isStored: whether it has images, which these replace.
    private static func write(
        _ images: [PreparedImage], as record: EntityRecord, replacing isStored: Bool, revision: CatalogRevision,
        _ db: Database
    ) throws {
        let entity = record.row ?? 0
        if isStored { try keep(images.map(\.keptPlace), of: entity, revision: revision, db) }
        for (place, image) in images.enumerated() {
            guard let new = image.new else { continue }
            let row = ImageRow.row(of: entity, place: place)
            func insert(_ table: String, _ columns: [(name: String, value: (any DatabaseValueConvertible)?)]) throws {
                let names = columns.map { ", \($0.name)" }.joined()
                let places = String(repeating: ", ?", count: columns.count)
                try db.cachedStatement(sql: "INSERT OR REPLACE INTO \(table) (row\(names)) VALUES (?\(places))")
                    .execute(arguments: [row] + StatementArguments(columns.map(\.value)))
            }
            func digest(_ blob: Data) -> Data { Self.digest(of: blob, id: record.id, contentHash: image.contentHash) }
            try insert(
                "image",
                [
                    ("size", image.file.file.size), ("modified", image.file.file.modified),
                    ("changed", image.file.changed), ("inode", image.file.inode), ("contentHash", image.contentHash),
                    ("revision", revision.number), ("print", digest(new.print)),
                    ("localFeatures", new.features.map(digest)), ("thumbnail", new.thumbnail.map { digest($0.data) }),
                ])
            try insert("print", [("vector", new.print)])
            if let features = new.features { try insert("localFeatures", [("data", features)]) }
            if let thumbnail = new.thumbnail {
                try insert("thumbnail", [("side", thumbnail.side), ("data", thumbnail.data)])
            }
        }
    }

    /// Moves the images of an entity that are kept to their new places, and removes the others.
    ///
    /// - Parameter places: the present place of the image at each new place; nil where there will be a new one.
    private static func keep(_ places: [Int?], of entity: Int64, revision: CatalogRevision, _ db: Database) throws {
        let kept = places.compactMap(\.self).map { ImageRow.row(of: entity, place: $0) }
        let all = (ImageRow.row(of: entity), ImageRow.last(of: entity))
        try db.execute(literal: "DELETE FROM image WHERE row BETWEEN \(all.0) AND \(all.1) AND row NOT IN \(kept)")
        let moves = places.enumerated().compactMap { new, old in
            old.flatMap { $0 == new ? nil : (from: ImageRow.row(of: entity, place: $0), place: new) }
        }
        // Another image may still be at the new place.
        for move in moves { try db.execute(literal: "UPDATE image SET row = \(-move.from) WHERE row = \(move.from)") }
        for move in moves {
            let row = ImageRow.row(of: entity, place: move.place)
            // Derived files have another image under this row.
            try db.execute(
                literal:
                    "UPDATE image SET row = \(row), revision = \(revision.number) WHERE row = \(-move.from)")
        }
    }

    private static func write(_ stamp: ImageStamp, at row: Int64, _ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE image SET size = ?, modified = ?, changed = ?, inode = ? WHERE row = ?"
        ).execute(arguments: [stamp.file.size, stamp.file.modified, stamp.changed, stamp.inode, row])
    }
}
