import FeaturePrints
import GRDB

/// Size and provenance of a catalog.
public struct CatalogInfo: Sendable {
    /// The number of entities.
    public let entityCount: Int
    /// The number of components of a print.
    public let dimension: Int
    /// Incremented with every change of entities or prints.
    public let revision: Int64
    /// Incremented with every change of metadata alone.
    public let metadataRevision: Int64
    /// The model of the prints.
    public let model: ModelIdentity
    /// Entities per type; an empty name for those without one.
    public let typeCounts: [(type: String, count: Int)]
    /// Entities with local features; the others are found by their prints alone.
    public let entitiesWithLocalFeatures: Int
    /// The version of the package that last wrote to the catalog; nil for catalogs that do not record it.
    public let writtenBy: String?
    /// The size of `catalog.sqlite` in bytes, without SQLite's log.
    public let databaseBytes: Int64
    /// The size of `prints.matrix` in bytes.
    public let matrixBytes: Int64
    /// The file of inverted lists; 0 in a catalog without local features.
    public let invertedListBytes: Int64
}

extension Catalog {
    /// Size and provenance of the catalog. O(entities).
    public var info: CatalogInfo {
        get async throws { try await reading { try currentInfo() } }
    }

    private func currentInfo() throws -> CatalogInfo {
        let dimension = try currentMatrix().dimension
        return try folder.mappingErrors {
            try database.reader.read { db in
                CatalogInfo(
                    entityCount: try EntityRecord.fetchCount(db), dimension: dimension,
                    revision: try CatalogRevision.current(db)?.number ?? 0,
                    metadataRevision: try CatalogDatabase.metadataRevision(db), model: model.identity,
                    typeCounts: try Row.fetchAll(
                        db,
                        sql:
                            "SELECT COALESCE(type, '') AS type, COUNT(*) AS count FROM entity GROUP BY 1 ORDER BY 1"
                    ).map { try ($0.decode(atIndex: 0), $0.decode(atIndex: 1)) },
                    entitiesWithLocalFeatures: try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM localFeatures") ?? 0,
                    writtenBy: try Setting.writtenBy.read(db),
                    databaseBytes: FileStamp(path: folder.database.path)?.size ?? 0,
                    matrixBytes: FileStamp(path: folder.matrix.path)?.size ?? 0,
                    invertedListBytes: FileStamp(path: folder.invertedLists.path)?.size ?? 0)
            }
        }
    }
}
