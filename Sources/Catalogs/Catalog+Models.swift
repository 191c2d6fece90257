import FeaturePrints
import Foundation
import LocalFeatures

#if DefaultModel
    import DefaultModel
#endif

extension Catalog {
    static func model(
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
            let kept = try FeaturePrintModel(contentsOf: folder.model, precision: precision)
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
    static func localFeatureModel(of store: EntityStore) throws -> LocalFeatureModel? {
        guard let digest = try store.localFeatureModelDigest() else { return nil }
        guard let model = try defaultLocalFeatureModel(), model.digest == digest else {
            throw store.folder.error(.otherLocalFeatures)
        }
        return model
    }

    /// The default local features; nil if the package is built without the trait `DefaultModel`.
    static func defaultLocalFeatureModel() throws -> LocalFeatureModel? {
        #if DefaultModel
            try .default()
        #else
            nil
        #endif
    }

    /// Whether a model is the default one, which catalogs need no copy of. Compares files; the default model is not
    /// loaded.
    static func isDefault(_ model: FeaturePrintModel) -> Bool {
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
    static func defaultModel(precision: FeaturePrintModel.Precision?) throws -> FeaturePrintModel? {
        #if DefaultModel
            try .default(precision: precision)
        #else
            nil
        #endif
    }
}
