import FeaturePrints
import GRDB

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

extension Catalog {
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
