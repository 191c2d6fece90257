import CatalogEntities
public import CatalogSearch
import CatalogStore
import Compute
public import FeaturePrints
import LocalFeatures

/// A catalog that a database elsewhere keeps, open for searching with images, with queries of them, and with prints.
///
/// ```swift
/// let catalog = try await RemoteCatalogSearch(database)
/// let matches = try await catalog.search(matching: photo)
/// ```
///
/// What else a ``Catalog`` does reads the files of its folder.
public final class RemoteCatalogSearch: SearchableCatalog {
    /// What its searches compute with.
    public let engine: SearchEngine
    /// The number of entities.
    public let count: Int

    /// Opens a catalog that a database elsewhere keeps.
    ///
    /// The counts of entities and images are those of this moment: open it again when others have been added.
    ///
    /// - Parameters:
    ///   - model: the model of the catalog's prints; the default model without it.
    ///   - precision: the number format of the default model; the fastest that the CPU supports, by default.
    ///   - executor: where searches compute, `ComputeExecutor.shared` by default.
    /// - Throws: ``CatalogError`` if the prints or the local features were made with another model; and what the
    ///   database throws.
    public init(
        _ remote: any RemoteCatalog, model: FeaturePrintModel? = nil, precision: FeaturePrintModel.Precision? = nil,
        executor: (any TaskExecutor)? = nil
    ) async throws {
        func error(_ reason: CatalogError.Reason) -> CatalogError { CatalogError(subject: remote.name, reason: reason) }
        let models = remote.models
        guard let chosen = try model ?? CatalogModels.defaultModel(precision: precision) else {
            throw error(.modelUnavailable(models.prints))
        }
        guard chosen.identity == models.prints else {
            throw error(.otherModel(catalog: models.prints, given: chosen.identity))
        }
        let extractor = try models.localFeatures.map { digest in
            guard let own = try CatalogModels.defaultLocalFeatureModel(), own.digest == digest else {
                throw error(.otherLocalFeatures)
            }
            return SharedModels.extractor(for: own)
        }
        let counts = try await remote.counts()
        count = counts.entities
        engine = SearchEngine(model: chosen, extractor: extractor, executor: executor) { _ in
            RemoteState(remote, counts: counts, model: chosen)
        }
    }
}
