import FeaturePrints
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

    /// The default model; nil if the package is built without the trait `DefaultModel`.
    static func defaultModel() throws -> FeaturePrintModel? {
        #if DefaultModel
            try .default()
        #else
            nil
        #endif
    }
}
