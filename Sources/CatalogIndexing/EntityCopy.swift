import CatalogStore
import FeaturePrints
import LocalFeatures
import Synchronization

/// All that a catalog stores of an entity at one moment: its metadata, and the prints, local features and thumbnails of
/// its images.
///
/// It is for putting an entity back as it was. Images in files are not part of it.
package struct EntityCopy: Sendable {
    fileprivate let entity: DigestedEntity
    fileprivate let images: [PreparedImage]
    fileprivate let localFeatureModel: String?

    /// The bytes of prints, local features and thumbnails.
    package var byteCount: Int { images.reduce(0) { $0 + ($1.new?.byteCount ?? 0) } }
}

extension CatalogIndexer {
    /// Copies an entity, to be put back by ``restore(_:)``.
    ///
    /// - Returns: nil if there is no entity of that id.
    /// - Throws: ``IndexProblem`` if something of it is missing or damaged, and ``CatalogError``.
    /// - Complexity: O(log entities).
    package func copy(of id: String) throws -> EntityCopy? {
        let model = try CatalogModels.localFeatureModel(of: store)
        return try store.withPage(ofIDs: [id]) { page in
            try page.entities.first.map { entity in
                EntityCopy(
                    entity: entity,
                    images: try page.images(of: entity, dimension: self.model.dimension, wordCount: model?.wordCount),
                    localFeatureModel: model?.digest)
            }
        }
    }

    /// Puts an entity back as it was when it was copied, in place of one with the same id.
    ///
    /// - Throws: ``CatalogError`` if the catalog cannot be written.
    /// - Complexity: as for a change of one entity.
    package func restore(_ copy: EntityCopy) throws {
        try turn.withLock { _ in
            var report = IndexReport()
            try merge([copy.entity], localFeatureModel: copy.localFeatureModel, into: &report) { _ in copy.images }
            if let problem = report.problems.first { throw problem }
            try refreshDerivedFiles()
        }
    }
}
