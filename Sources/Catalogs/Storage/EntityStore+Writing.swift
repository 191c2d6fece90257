import Foundation
import GRDB

/// Changes, each in one transaction.
extension EntityStore {
    /// Commits what was prepared of a chunk of items.
    ///
    /// - Parameter localFeatureModel: the digest that a catalog gets with its first local features; nil if the chunk
    ///   has none.
    /// - Returns: what was stored; records whose entity got another image meanwhile, which were not; and whether the
    ///   catalog has local features from now on, and had none before.
    func store(
        _ chunk: PreparedChunk, thumbnailSide: Int?, localFeatureModel: String?
    ) throws -> (added: Int, updated: Int, overtaken: [EntityRecord], hasFirstLocalFeatures: Bool) {
        try write { db in
            var (added, updated, overtaken) = (0, 0, [EntityRecord]())
            for var record in chunk.metadataChanges {
                // Another task may have removed it, or given it another image, since it was read.
                let row = try Int64.fetchOne(
                    db.cachedStatement(sql: "SELECT row FROM entity WHERE id = ? AND contentHash = ?"),
                    arguments: [record.id, record.contentHash])
                guard let row else {
                    if try Self.row(ofID: record.id, db) != nil { overtaken.append(record) }
                    continue
                }
                record.row = row
                try record.update(db)
                try Self.indexFields(of: record, db)
                updated += 1
            }
            guard !chunk.images.isEmpty else {
                if updated > 0 { try Setting.metadataRevision.raise(db) }
                return (added, updated, overtaken, false)
            }
            let revision = try CatalogRevision.advance(db)
            for image in chunk.images {
                var record = image.record
                record.row = try Self.row(ofID: record.id, db)
                if record.row == nil { added += 1 } else { updated += 1 }
                try record.save(db)
                try Self.indexFields(of: record, db)
                try Self.write(image, as: record, thumbnailSide: thumbnailSide, revision: revision, db)
            }
            // The matrix may be of an earlier revision for a while, and filters are kept by both revisions.
            if updated > 0 { try Setting.metadataRevision.raise(db) }
            return (added, updated, overtaken, try localFeatureModel.map { try Self.note($0, db) } ?? false)
        }
    }

    /// Makes a catalog without entities one with local features.
    func noteLocalFeaturesIfEmpty(model digest: String) throws {
        try write { db in
            guard try Int.fetchOne(db, sql: "SELECT 1 FROM entity LIMIT 1") == nil else { return }
            _ = try Self.note(digest, db)
        }
    }

    /// Changes the metadata of an entity; its id and image stay as they are.
    ///
    /// - Throws: what `change` throws; the entity is as before then.
    func update(_ id: String, by change: (inout CatalogEntity) throws -> Void) throws {
        try write { db in
            let request: SQLRequest<EntityRecord> = "SELECT * FROM entity WHERE id = \(id)"
            guard let known = try request.fetchOne(db) else { throw folder.error(.unknownEntities([id])) }
            var entity = known.entity
            try change(&entity)
            (entity.id, entity.image) = (known.id, known.image)
            guard !entity.hasNUL else {
                throw IndexProblem(subject: "entity “\(id)”", reason: "contains a NUL character")
            }
            guard !known.entity.isStored(as: entity) else { return }
            var record = EntityRecord(entity, file: known.file, contentHash: known.contentHash)
            record.row = known.row
            try record.update(db)
            try Self.indexFields(of: record, db)
            try Setting.metadataRevision.raise(db)
        }
    }

    /// Removes entities; unknown ids are ignored.
    func remove(_ ids: [String]) throws {
        try write { db in
            let statement = try db.cachedStatement(sql: "DELETE FROM entity WHERE id = ?")
            for id in ids { try statement.execute(arguments: [id]) }
            try CatalogRevision.advance(db)
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

    private static func row(ofID id: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT row FROM entity WHERE id = ?"), arguments: [id])
    }

    /// - Returns: whether the catalog had no local features before.
    private static func note(_ localFeatureModel: String, _ db: Database) throws -> Bool {
        guard try Setting.localFeatureModel.read(db) == nil else { return false }
        try Setting.localFeatureModel.write(localFeatureModel, db)
        return true
    }

    /// Replaces the entity's rows in the index of fields.
    private static func indexFields(of record: EntityRecord, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM field WHERE row = ?").execute(arguments: [record.row])
        // An entity may have a label twice.
        let insertion = try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO field (name, text, row, number) VALUES (?, ?, ?, ?)")
        for (field, text) in record.entity.indexedFields {
            try insertion.execute(arguments: [field.storedName, text, record.row, FieldValue.number(text)])
        }
    }

    private static func write(
        _ image: PreparedImage, as record: EntityRecord, thumbnailSide: Int?, revision: CatalogRevision, _ db: Database
    ) throws {
        func replace(_ table: String, with columns: [(name: String, value: (any DatabaseValueConvertible)?)]?) throws {
            guard let columns else {
                return try db.cachedStatement(sql: "DELETE FROM \(table) WHERE row = ?")
                    .execute(arguments: [record.row])
            }
            let names = columns.map { ", \($0.name)" }.joined()
            let places = String(repeating: ", ?", count: columns.count)
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO \(table) (row\(names)) VALUES (?\(places))")
                .execute(arguments: [record.row] + StatementArguments(columns.map(\.value)))
        }
        let thumbnail = image.thumbnail.flatMap { data in thumbnailSide.map { (side: $0, data: data) } }
        try replace("print", with: [("vector", image.print)])
        try replace("thumbnail", with: thumbnail.map { [("side", $0.side), ("data", $0.data)] })
        try replace("localFeatures", with: image.features.map { [("data", $0)] })
        func digest(_ blob: Data) -> Data { Self.digest(of: blob, id: record.id) }
        try replace(
            "checksum",
            with: [
                ("revision", revision.number), ("print", digest(image.print)),
                ("localFeatures", image.features.map(digest)), ("thumbnail", thumbnail.map { digest($0.data) }),
            ])
    }
}
