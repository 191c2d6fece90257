import FeaturePrints
import Foundation
import Inference

extension FeaturePrintModel {
    /// The model that the package ships, read once.
    ///
    /// - Throws: ``ModelError`` where the program was moved without its resources.
    public static func `default`() throws(ModelError) -> FeaturePrintModel {
        try shared.get()
    }

    private static let shared: Result<FeaturePrintModel, ModelError> = Result { () throws(ModelError) in
        guard let url = Bundle.module.url(forResource: "default", withExtension: "safetensors") else {
            throw ModelError(source: "default.safetensors", reason: .unreadable("it is not beside the program"))
        }
        return try FeaturePrintModel(contentsOf: url)
    }
}
