import Foundation
import Inference
import LocalFeatures

extension LocalFeatureModel {
    /// The local features that the package ships, read once.
    ///
    /// - Throws: `ModelError` where the program was moved without its resources.
    public static func `default`() throws(ModelError) -> LocalFeatureModel {
        try shared.get()
    }

    private static let shared: Result<LocalFeatureModel, ModelError> = Result { () throws(ModelError) in
        guard let url = Bundle.module.url(forResource: "local-features", withExtension: "safetensors") else {
            throw ModelError(source: "local-features.safetensors", reason: .unreadable("it is not beside the program"))
        }
        return try LocalFeatureModel(contentsOf: url)
    }
}
