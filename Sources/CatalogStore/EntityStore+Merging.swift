package import CatalogEntities
import FeaturePrints
package import Foundation
import GRDB
import LocalFeatures

/// An entity of a catalog, with the digests of what is stored of its images.
package struct DigestedEntity {
    package let record: EntityRecord
    package var images: [Image]

    package init(record: EntityRecord, images: [Image] = []) { (self.record, self.images) = (record, images) }

    /// The same of two images if the same is stored of both.
    package struct Image: Equatable {
        package let place: Int
        package let file: ImageStamp
        package let contentHash: Data
        package let print: Data?
        package let localFeatures: Data?
        package let thumbnail: Data?

        package init(
            place: Int, file: ImageStamp, contentHash: Data, print: Data?, localFeatures: Data?, thumbnail: Data?
        ) {
            (self.place, self.file, self.contentHash) = (place, file, contentHash)
            (self.print, self.localFeatures, self.thumbnail) = (print, localFeatures, thumbnail)
        }
    }

    /// Whether an image is stored for each path, in order.
    package var isWhole: Bool { images.map(\.place) == Array(record.images.indices) }
}

/// Entities of one of several catalogs that are merged.
package struct MergedPage {
    /// The place of the catalog among the merged ones.
    package let catalog: Int
    package let entities: [DigestedEntity]
    /// The number of entities that a later catalog has, too.
    package let replacedCount: Int
    fileprivate let folder: CatalogFolder
    fileprivate let db: Database

    /// What is stored of the images of an entity of the page.
    ///
    /// - Parameter wordCount: the number of visual words; nil in a catalog without local features.
    /// - Throws: ``IndexProblem`` if something of it is missing or damaged, and ``CatalogError``.
    package func images(of entity: DigestedEntity, dimension: Int, wordCount: Int?) throws -> [PreparedImage] {
        func problem(_ place: Int, _ words: String) -> IndexProblem {
            let image = place == 0 ? "" : ", image \(place + 1)"
            return IndexProblem(subject: folder.path, reason: "entity “\(entity.record.id)”\(image): its \(words)")
        }
        guard entity.isWhole else { throw problem(0, "images are not all stored") }
        return try entity.images.map { image in
            let row = ImageRow.row(of: entity.record.row ?? 0, place: image.place)
            /// A row of a table with the blob first; nil if the image has none, and need not.
            func stored(_ columns: String, of table: String, _ words: String, digest: Data?) throws -> Row? {
                let sql = "SELECT \(columns) FROM \(table) WHERE row = ?"
                let found = try folder.mappingErrors {
                    try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [row])
                }
                guard let found else {
                    if digest == nil { return nil }
                    throw problem(image.place, "\(words) missing")
                }
                let blob = Data.fromDatabaseValue(found[0]) ?? Data()
                let expected = EntityStore.digest(of: blob, id: entity.record.id, contentHash: image.contentHash)
                guard digest == expected else { throw problem(image.place, "\(words) damaged or another image’s") }
                return found
            }
            guard let print = try stored("vector", of: "print", "print is", digest: image.print)?[0] as Data?,
                let vector = HalfPrecision.vector(print, dimension: dimension),
                abs(FeaturePrintModel.norm(of: vector) - 1) <= FeaturePrintModel.normTolerance
            else { throw problem(image.place, "print is not \(dimension) floats of a unit vector") }
            let features =
                try stored("data", of: "localFeatures", "local features are", digest: image.localFeatures)?[0] as Data?
            if let features, LocalFeatures(encoded: features, wordCount: wordCount ?? .max) == nil {
                throw problem(image.place, "local features cannot be read")
            }
            let thumbnail = try stored("data, side", of: "thumbnail", "thumbnail is", digest: image.thumbnail)
            return PreparedImage(
                file: image.file, contentHash: image.contentHash, keptPlace: nil,
                new: StoredImage(
                    print: print,
                    thumbnail: thumbnail.map {
                        StoredThumbnail(side: Int.fromDatabaseValue($0[1]) ?? 0, data: $0[0])
                    }, features: features))
        }
    }
}

extension EntityStore {
    /// The entities of a page, at most.
    private static let entitiesPerPage = 1000

    /// Calls `body` with the entities of catalogs, one catalog after the other, each as it is at one moment. Of
    /// entities with the same id, the one of the last catalog is taken. O(page) memory.
    ///
    /// - Throws: what `body` throws, and ``CatalogError`` about one of the catalogs.
    package static func forEachPage(of stores: [EntityStore], _ body: (MergedPage) throws -> Void) throws {
        try withDatabases(of: stores[...], []) { databases in
            for (index, store) in stores.enumerated() {
                let later = (index + 1)..<stores.count
                var last = Int64.min
                while true {
                    let page = try store.folder.mappingErrors {
                        let sql = "SELECT row, id FROM entity WHERE row > ? ORDER BY row LIMIT ?"
                        return try Row.fetchAll(
                            databases[index].cachedStatement(sql: sql), arguments: [last, entitiesPerPage]
                        ).map { row -> (row: Int64, id: String) in try (row.decode(atIndex: 0), row.decode(atIndex: 1))
                        }
                    }
                    guard let end = page.last?.row else { break }
                    last = end
                    var replaced: Set<ExactText> = []
                    for other in later {
                        try stores[other].folder.mappingErrors {
                            let known: SQLRequest<String> = "SELECT id FROM entity WHERE id IN \(page.map(\.id))"
                            replaced.formUnion(try known.fetchAll(databases[other]).map { ExactText($0) })
                        }
                    }
                    let ids = page.map(\.id).filter { !replaced.contains(ExactText($0)) }
                    let entities = try store.folder.mappingErrors {
                        try digestedEntities(forIDs: ids, databases[index])
                    }
                    try body(
                        MergedPage(
                            catalog: index, entities: ids.compactMap { entities[ExactText($0)] },
                            replacedCount: page.count - ids.count, folder: store.folder, db: databases[index]))
                }
            }
        }
    }

    /// Calls `body` with the entities of some ids.
    package func withPage<Result>(ofIDs ids: [String], _ body: (MergedPage) throws -> Result) throws -> Result {
        try read { db in
            let entities = try Self.digestedEntities(forIDs: ids, db)
            return try body(
                MergedPage(
                    catalog: 0, entities: ids.compactMap { entities[ExactText($0)] }, replacedCount: 0, folder: folder,
                    db: db))
        }
    }

    /// Calls `body` with the entities after a row, in the catalog's order.
    package func page<Result>(after row: Int64, limit: Int, _ body: (MergedPage) throws -> Result) throws -> Result {
        try read { db in
            let ids = try String.fetchAll(
                db, sql: "SELECT id FROM entity WHERE row > ? ORDER BY row LIMIT ?", arguments: [row, limit])
            let entities = try Self.digestedEntities(forIDs: ids, db)
            return try body(
                MergedPage(
                    catalog: 0, entities: ids.compactMap { entities[ExactText($0)] }, replacedCount: 0, folder: folder,
                    db: db))
        }
    }

    /// Reads one state of each store.
    private static func withDatabases(
        of stores: ArraySlice<EntityStore>, _ databases: [Database], _ body: ([Database]) throws -> Void
    ) throws {
        guard let store = stores.first else { return try body(databases) }
        // What the body throws is not to be taken for a change of the file meanwhile.
        var failure: (any Error)?
        do {
            try store.read(attempts: 1) { db in
                do {
                    try withDatabases(of: stores.dropFirst(), databases + [db], body)
                } catch {
                    failure = error
                    throw error
                }
            }
        } catch {
            throw failure ?? error
        }
    }

    /// The entities with these ids, without unknown ones.
    package func digestedEntities(forIDs ids: [String]) throws -> [ExactText: DigestedEntity] {
        try read { try Self.digestedEntities(forIDs: ids, $0) }
    }

    private static func digestedEntities(
        forIDs ids: [String], _ db: Database
    ) throws -> [ExactText: DigestedEntity] {
        let records: SQLRequest<EntityRecord> = "SELECT * FROM entity WHERE id IN \(ids)"
        var found = try records.fetchAll(db).reduce(into: [:]) { $0[$1.row ?? 0] = DigestedEntity(record: $1) }
        let images: SQLRequest<Row> = """
            SELECT image.* FROM entity CROSS JOIN image ON image.row \(sql: ImageRow.isOfEntity()) \
            WHERE entity.id IN \(ids) ORDER BY image.row
            """
        let rows = try images.fetchCursor(db)
        while let row = try rows.next() {
            let key: Int64 = try row.decode(forColumn: "row")
            found[ImageRow.entity(key)]?.images.append(
                DigestedEntity.Image(
                    place: ImageRow.place(key),
                    file: try ImageStamp(row),
                    contentHash: try row.decode(forColumn: "contentHash"), print: try row.decode(forColumn: "print"),
                    localFeatures: try row.decode(forColumn: "localFeatures"),
                    thumbnail: try row.decode(forColumn: "thumbnail")))
        }
        return Dictionary(found.values.map { (ExactText($0.record.id), $0) }) { first, _ in first }
    }
}
