public import CatalogEntities
import CatalogStore
import FeaturePrints
import Foundation
import LocalFeatures
import VectorSearch

extension Catalog {
    /// Size and provenance of the catalog. O(entities).
    public var info: CatalogInfo {
        get async throws { try await reading { try currentInfo() } }
    }

    private func currentInfo() throws -> CatalogInfo {
        let state = try files.state()
        let (folder, dimension) = (folder, state.matrix.dimension)
        let info = try store.info()
        func size(_ url: URL) -> Int64 { FileStamp(path: url.path)?.size ?? 0 }
        return CatalogInfo(
            entityCount: info.entityCount, imageCount: info.imageCount, dimension: dimension, revision: info.revision,
            metadataRevision: info.metadataRevision, model: model.identity, typeCounts: info.typeCounts,
            entitiesWithLocalFeatures: info.entitiesWithLocalFeatures, writtenBy: info.writtenBy,
            databaseBytes: size(folder.database), matrixBytes: size(folder.matrix),
            invertedListBytes: size(folder.invertedLists), printIndex: try store.printIndex(),
            printListCount: state.index?.listCount, printIndexBytes: size(folder.invertedFile))
    }

    /// Reads everything that the catalog stores, and returns a description of each problem; an empty array for an
    /// intact catalog. O(catalog).
    ///
    /// The database is checked against the digests that were stored with each image, and each derived file against its
    /// own digest and, if the database has no problem, against the database. A damaged derived file is reported. It is
    /// also rebuilt, unless another process is writing to the catalog or the folder cannot be written. The groups of
    /// duplicates and the inverted file are checked against their digests alone, and removed if they are damaged.
    ///
    /// - Throws: ``CatalogError`` if the catalog cannot be read or a file cannot be rebuilt, and `CancellationError`.
    public func verify() async throws -> [String] { try await reading { try files.problems() } }
}
