import Foundation
public import Inference
public import LocalFeatures

extension LocalFeatureModel {
    /// The local features that the package ships, read once.
    ///
    /// - Throws: `ModelError`, with the reason `notFound` if the file is at none of the places of
    ///   the default `FeaturePrintModel`.
    public static func `default`() throws(ModelError) -> LocalFeatureModel {
        try shared.get()
    }

    private static let shared: Result<LocalFeatureModel, ModelError> = Result { () throws(ModelError) in
        try LocalFeatureModel(contentsOf: DefaultModelFile.localFeatures.find())
    }
}
