import FeaturePrints
import Foundation
import LocalFeatures

#if DefaultModel
    import DefaultModel
#endif

extension Catalog {
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
