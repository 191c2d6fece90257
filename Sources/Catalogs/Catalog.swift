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
    ///   - maxDistance: how far at most; without one, the model's recommendation.
    ///   - regions: which parts of the image are looked at, a forward pass each.
    /// - Returns: an empty array where nothing is near enough.
    public func search(
        matching image: PixelBuffer, limit: Int = 10, maxDistance: Double? = nil,
        regions: QueryRegions = .object, timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        let prints = try regions.look(at: image, with: model, timings: timings).map(\.print)
        try Task.checkCancellation()
        return try await search(matchingAnyOf: prints, limit: limit, maxDistance: maxDistance, timings: timings)
    }

    /// The entities nearest to a print that was made before.
    ///
    /// - Throws: ``FeaturePrintError`` when the print comes from another model.
    public func search(
        matching print: FeaturePrint, limit: Int = 10, maxDistance: Double? = nil, timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        try await search(matchingAnyOf: [print], limit: limit, maxDistance: maxDistance, timings: timings)
    }

    /// The entities nearest to any of several prints of one thing.
    public func search(
        matchingAnyOf prints: [FeaturePrint], limit: Int = 10, maxDistance: Double? = nil, timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        for print in prints where print.model != model.identity {
            throw FeaturePrintError.differentModels(model.identity, print.model)
        }
        let farthest = maxDistance ?? model.recommendedMaxDistance ?? .infinity
        let start = ContinuousClock.now
        defer { timings?.add(ContinuousClock.now - start, to: .search) }
        let matrix = currentMatrix()
        let search = ExactSearch(matrix.matrix)
        var nearest: [Int: Float] = [:]
        for neighbors in search.nearest(toEach: prints.map(\.vector), k: max(0, limit)) {
            for neighbor in neighbors {
                nearest[neighbor.row] = min(neighbor.squaredDistance, nearest[neighbor.row] ?? .infinity)
            }
        }
        let ranked = nearest.map { Neighbor(row: $0.key, squaredDistance: $0.value) }
            .filter { Double($0.distance) <= farthest }
            .sorted { ($0.squaredDistance, $0.row) < ($1.squaredDistance, $1.row) }
            .prefix(max(0, limit))
        try Task.checkCancellation()
        return try entities(of: ranked, in: matrix)
    }

    private func entities(of ranked: ArraySlice<Neighbor>, in matrix: MappedPrintMatrix) throws -> [CatalogMatch] {
        guard !ranked.isEmpty else { return [] }
        let keys = ranked.map { matrix.key($0.row) }
        let records = try folder.attempt {
            try database.reader.read { db in
                let rows = try CatalogDatabase.inParts(of: keys) { try EntityRecord.fetchAll(db, keys: $0) }
                return Dictionary(uniqueKeysWithValues: rows.compactMap { record in record.row.map { ($0, record) } })
            }
        }
        // An entity that was removed since the matrix was made is left out.
        return zip(ranked, keys).compactMap { neighbor, key in
            records[key].map { CatalogMatch(entity: $0.entity, distance: Double(neighbor.distance)) }
        }
    }

    /// The entities with these ids, in the order asked, unknown ones left out.
    public func entities(for ids: [String]) throws -> [CatalogEntity] {
        let found = try folder.attempt {
            try database.reader.read { db in
                try CatalogDatabase.inParts(of: ids) { try EntityRecord.filter($0.contains(Column("id"))).fetchAll(db) }
            }
        }
        let byID = Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0.entity) })
        return ids.compactMap { byID[$0] }
    }

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
