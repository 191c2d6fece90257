import CatalogEntities
import Digests
package import FeaturePrints
package import Foundation
package import Inference
package import LocalFeatures
import Synchronization

#if DefaultModel
import DefaultModel
#endif

/// The models of catalogs: what a catalog was made with, and the default ones.
package enum CatalogModels {
    package static func model(
        of folder: CatalogFolder, identity: ModelIdentity, given: FeaturePrintModel?,
        precision: FeaturePrintModel.Precision?
    ) throws -> FeaturePrintModel {
        if let given {
            guard given.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: given.identity))
            }
            return given
        }
        if !FileStamp.isMissing(folder.model.path) {
            let kept = try SharedModels.model(contentsOf: folder.model, precision: precision)
            guard kept.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: kept.identity))
            }
            return kept
        }
        guard let own = try defaultModel(precision: precision), own.identity == identity else {
            throw folder.error(.modelUnavailable(identity))
        }
        return own
    }

    /// The local-feature model of a catalog; nil if the catalog has no local features.
    ///
    /// - Throws: ``CatalogError`` if the features were made with another model than the default one.
    package static func localFeatureModel(of store: EntityStore) throws -> LocalFeatureModel? {
        guard let digest = try store.localFeatureModelDigest() else { return nil }
        guard let model = try defaultLocalFeatureModel(), model.digest == digest else {
            throw store.folder.error(.otherLocalFeatures)
        }
        return model
    }

    /// The default local features; nil if the package is built without the trait `DefaultModel`.
    package static func defaultLocalFeatureModel() throws -> LocalFeatureModel? {
        #if DefaultModel
        try .default()
        #else
        nil
        #endif
    }

    /// Whether a model is the default one, which catalogs need no copy of. Compares files; the default model is not
    /// loaded.
    package static func isDefault(_ model: FeaturePrintModel) -> Bool {
        #if DefaultModel
        guard let url = try? DefaultModelFile.prints.find(),
            FileStamp(path: url.path)?.size == Int64(model.fileData.count)
        else { return false }
        return (try? Data(contentsOf: url, options: .mappedIfSafe)) == model.fileData
        #else
        false
        #endif
    }

    /// The default model; nil if the package is built without the trait `DefaultModel`.
    package static func defaultModel(precision: FeaturePrintModel.Precision?) throws -> FeaturePrintModel? {
        #if DefaultModel
        try .default(precision: precision)
        #else
        nil
        #endif
    }
}

/// What the catalogs and indexers of a process share: a model is the same for all of them, and keeps the memory of its
/// passes.
package enum SharedModels {
    private struct Key: Hashable {
        let digest: Data
        let precision: FeaturePrintModel.Precision?
    }

    private struct Entry {
        weak var model: FeaturePrintModel?
    }

    private static let models = Mutex<[Key: Entry]>([:])
    private static let extractor = Mutex<LocalFeatureExtractor?>(nil)

    /// The model of a file: the one that is in use already, if another file with the same bytes was read before.
    /// O(file).
    package static func model(
        contentsOf url: URL, precision: FeaturePrintModel.Precision?
    ) throws(ModelError) -> FeaturePrintModel {
        let data = try contents(ofModelFile: url)
        let key = Key(digest: SHA256.hash(data), precision: precision)
        if let known = models.withLock({ $0[key]?.model }) { return known }
        let model = try FeaturePrintModel(data, named: url.path, precision: precision)
        return models.withLock { models in
            // Another thread may have read it meanwhile.
            if let known = models[key]?.model { return known }
            models = models.filter { $0.value.model != nil }
            models[key] = Entry(model: model)
            return model
        }
    }

    /// The extractor for a model. It keeps the memory of each thread that extracts, 60 MB for large images.
    package static func extractor(for model: LocalFeatureModel) -> LocalFeatureExtractor {
        extractor.withLock { extractor in
            if let extractor, extractor.model === model { return extractor }
            let new = LocalFeatureExtractor(model)
            extractor = new
            return new
        }
    }
}
