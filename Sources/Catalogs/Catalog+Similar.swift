import CatalogEntities
public import CatalogSearch
import CatalogStore
import Compute
public import FeaturePrints
import Foundation

extension Catalog {
    /// A query for more like this: the entities whose prints are nearest to those of an entity, without itself.
    ///
    /// ```swift
    /// let query = try await catalog.query(similarTo: "slow-meridian")
    /// let similar = try await catalog.search(query, options: SearchOptions(limit: 5, bounds: .none))
    /// ```
    ///
    /// What resembles an entity is not that entity, so search it without bounds.
    /// - Throws: ``CatalogError``, with the reason `unknownEntities` for an unknown id; and `CancellationError`.
    public func query(similarTo id: String) async throws -> CatalogQuery {
        let (entity, prints) = try await storedPrints(of: id)
        for print in prints { try model.check(print) }
        return CatalogQuery(
            prints: prints, matchThreshold: model.matchThreshold(for: prints), coefficients: model.confidence,
            excluded: [entity])
    }

    /// The print of an entity's first image, as it was indexed: to compare it, or to search with it.
    ///
    /// - Throws: ``CatalogError``, with the reason `unknownEntities` for an unknown id; and `CancellationError`.
    public func featurePrint(for id: String) async throws -> FeaturePrint { try await storedPrints(of: id).prints[0] }

    /// The row of an entity and the prints of its images, at least one.
    private func storedPrints(of id: String) async throws -> (entity: Int64, prints: [FeaturePrint]) {
        try await reading {
            let found = try store.prints(forID: id)
            guard let first = found.first else { throw folder.error(.unknownEntities([id])) }
            let prints = try found.map { _, blob in
                guard let vector = HalfPrecision.vector(blob, dimension: model.dimension) else {
                    throw folder.error(.damaged("the print of “\(id)” is not \(model.dimension) finite floats"))
                }
                return FeaturePrint(vector: vector, model: model.identity)
            }
            return (ImageRow.entity(first.key), prints)
        }
    }
}
