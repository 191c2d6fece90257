import DefaultModel
import FeaturePrints
import Foundation
import GRDB
import NearestNeighbors
import PixelBuffers
import Synchronization

/// A folder of entities with precomputed prints, open for searching.
///
/// Any number of processes may have a catalog open while one writes to it
/// (``CatalogIndexer``). The prints are mapped into memory, so opening takes the same time for a
/// thousand entities as for a million. A catalog may be shared between tasks.
public final class Catalog: Sendable {
    /// What made the catalog's prints and makes those of queries.
    public let model: FeaturePrintModel

    let folder: CatalogFolder
    let database: CatalogDatabase
    private let mapped: Mutex<MappedPrintMatrix>
    private let passing = Mutex<PassingRows?>(nil)

    private struct PassingRows: Sendable {
        let filter: CatalogFilter
        let revision: Int64
        let descriptions: Int64
        let rows: [Range<Int>]
    }

    /// Opens the catalog in a folder. O(1), unless the file with the print matrix is missing, stale
    /// or damaged and has to be made anew from the database, which is O(prints).
    ///
    /// - Parameter model: the model of the catalog's prints; without one, the copy that the catalog
    ///   keeps or the package's own.
    /// - Throws: ``CatalogError``, among others when the prints were made with another model.
    public init(at url: URL, model: FeaturePrintModel? = nil) throws {
        folder = CatalogFolder(url: url)
        database = try CatalogDatabase.reading(folder)
        let (folder, database) = (folder, database)
        guard let identity = try folder.attempt({ try database.reader.read(CatalogDatabase.model) }) else {
            throw folder.error(.missing)
        }
        self.model = try Self.model(of: folder, identity: identity, given: model)
        mapped = Mutex(try Self.current(database, model: self.model))
    }

    static func model(
        of folder: CatalogFolder, identity: ModelIdentity, given: FeaturePrintModel?
    ) throws -> FeaturePrintModel {
        if let given {
            guard given.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: given.identity))
            }
            return given
        }
        if FileManager.default.fileExists(atPath: folder.model.path) {
            let kept = try FeaturePrintModel(contentsOf: folder.model)
            guard kept.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: kept.identity))
            }
            return kept
        }
        let own = try FeaturePrintModel.default()
        guard own.identity == identity else { throw folder.error(.modelUnavailable(identity)) }
        return own
    }

    /// The matrix file if it is of the database's revision, otherwise a new one.
    private static func current(_ database: CatalogDatabase, model: FeaturePrintModel) throws -> MappedPrintMatrix {
        let folder = database.folder
        func usable() throws(CatalogError) -> MappedPrintMatrix? {
            let (revision, id) = try folder.attempt {
                try database.reader.read { (try CatalogDatabase.revision($0), try Setting.catalogID.read($0)) }
            }
            guard let file = MappedPrintMatrix(folder.matrix), file.header.revision == revision,
                file.header.catalogID.uuidString == id, file.header.modelDigest == Data(hexadecimal: model.identity.digest),
                file.header.dimension == model.printLength
            else { return nil }
            return file
        }
        if let file = try usable() { return file }
        guard folder.isWritable else {
            throw folder.error(.unwritable("its matrix of prints is missing or stale and has to be made anew"))
        }
        try PrintMatrixWriter(database: database).write()
        // A writer may have committed since; what was just written is whole all the same.
        guard let file = try usable() ?? MappedPrintMatrix(folder.matrix), file.header.dimension == model.printLength else {
            throw folder.error(.damaged("its matrix of prints cannot be read back"))
        }
        return file
    }

    /// The matrix at the path now: a writer that finished has put a new one there.
    private func currentMatrix() -> MappedPrintMatrix {
        mapped.withLock { mapped in
            if mapped.isReplaced(at: folder.matrix), let newer = MappedPrintMatrix(folder.matrix),
                newer.header.catalogID == mapped.header.catalogID, newer.header.modelDigest == mapped.header.modelDigest
            {
                mapped = newer
            }
            return mapped
        }
    }

    /// How many entities can be found.
    public var count: Int { currentMatrix().header.rowCount }

    /// The entities that an image shows, nearest first.
    ///
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - maxDistance: how far at most; without one, what the model recommends for this image.
    ///   - regions: which parts of the image are looked at, a forward pass each.
    ///   - filter: which entities take part.
    /// - Returns: an empty array where nothing is near enough.
    public func search(
        matching image: PixelBuffer, limit: Int = 10, maxDistance: Double? = nil,
        regions: QueryRegions = .object, filter: CatalogFilter = CatalogFilter(), timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        let prints = try regions.look(at: image, with: model, timings: timings).map(\.print)
        try Task.checkCancellation()
        return try await search(matchingAnyOf: prints, limit: limit, maxDistance: maxDistance, filter: filter, timings: timings)
    }

    /// The entities nearest to a print that was made before.
    ///
    /// - Throws: ``FeaturePrintError`` when the print comes from another model.
    public func search(
        matching print: FeaturePrint, limit: Int = 10, maxDistance: Double? = nil,
        filter: CatalogFilter = CatalogFilter(), timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        try await search(matchingAnyOf: [print], limit: limit, maxDistance: maxDistance, filter: filter, timings: timings)
    }

    /// The entities nearest to any of several prints of one thing.
    ///
    /// - Parameter cursor: only what comes after it in the ranking; the next page.
    public func search(
        matchingAnyOf prints: [FeaturePrint], limit: Int = 10, maxDistance: Double? = nil,
        filter: CatalogFilter = CatalogFilter(), after cursor: SearchCursor? = nil, timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        let start = ContinuousClock.now
        defer { timings?.add(ContinuousClock.now - start, to: .search) }
        let ranked = try nearest(toAnyOf: prints, limit: limit, maxDistance: maxDistance, filter: filter, after: cursor)
        try Task.checkCancellation()
        guard !ranked.isEmpty else { return [] }
        let records = try records(for: ranked.map(\.key))
        // An entity that was removed since the matrix was made is left out.
        return ranked.compactMap { found in
            records[found.key].map { CatalogMatch(entity: $0.entity, squaredDistance: found.squaredDistance, key: found.key) }
        }
    }

    /// A found print, before anything is read of the entity that it belongs to.
    package struct NearKey: Sendable {
        package let key: Int64
        package let squaredDistance: Float
    }

    /// The rows of the entities nearest to any of several prints, nearest first.
    package func nearest(
        toAnyOf prints: [FeaturePrint], limit: Int, maxDistance: Double?, filter: CatalogFilter, after cursor: SearchCursor?
    ) throws -> [NearKey] {
        for print in prints where print.model != model.identity {
            throw FeaturePrintError.differentModels(model.identity, print.model)
        }
        let farthest = maxDistance ?? model.recommendedMaxDistance(forQuery: prints) ?? .infinity
        let matrix = currentMatrix()
        let last = cursor.map { Neighbor(row: matrix.lastRow(upTo: $0.key), squaredDistance: Float($0.badness)) }
        return ExactSearch(matrix.matrix)
            .nearest(toAnyOf: prints.map(\.vector), k: limit, among: try rows(of: matrix, passing: filter), after: last)
            .prefix { Double($0.distance) <= farthest }
            .map { NearKey(key: matrix.key($0.row), squaredDistance: $0.squaredDistance) }
    }

    /// The rows of the matrix that pass, nil for all of them. Kept from one search to the next, since
    /// the pages of a search share their filter. O(entities) for a new one.
    private func rows(of matrix: MappedPrintMatrix, passing filter: CatalogFilter) throws -> [Range<Int>]? {
        guard !filter.isEmpty else { return nil }
        let kept = passing.withLock { $0 }
        let current = try folder.attempt {
            try database.reader.read { db in
                let descriptions = try CatalogDatabase.descriptions(db)
                if let kept, kept.filter == filter, kept.revision == matrix.header.revision, kept.descriptions == descriptions { return kept }
                let request: SQLRequest<Int64> = "SELECT row FROM entity WHERE \(filter.condition) ORDER BY row"
                let rows = matrix.rows(withKeys: try request.fetchAll(db))
                return PassingRows(filter: filter, revision: matrix.header.revision, descriptions: descriptions, rows: rows)
            }
        }
        passing.withLock { $0 = current }
        return current.rows
    }

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

    /// What the catalog holds.
    public var info: CatalogInfo {
        get throws {
            let header = currentMatrix().header
            return try folder.attempt {
                try database.reader.read { db in
                    CatalogInfo(
                        entityCount: try EntityRecord.fetchCount(db), printLength: header.dimension,
                        revision: try CatalogDatabase.revision(db), model: model.identity,
                        typeCounts: try Row.fetchAll(
                            db, sql: "SELECT COALESCE(type, '') AS type, COUNT(*) AS count FROM entity GROUP BY 1 ORDER BY 1"
                        ).map { ($0["type"], $0["count"]) },
                        databaseBytes: FileStamp(path: folder.database.path)?.size ?? 0,
                        matrixBytes: FileStamp(path: folder.matrix.path)?.size ?? 0)
                }
            }
        }
    }
}

/// Figures about a catalog.
public struct CatalogInfo: Sendable {
    public let entityCount: Int
    public let printLength: Int
    /// Counts changes.
    public let revision: Int64
    public let model: ModelIdentity
    /// Entities a type; an empty name for those without one.
    public let typeCounts: [(type: String, count: Int)]
    public let databaseBytes: Int64
    public let matrixBytes: Int64
}
