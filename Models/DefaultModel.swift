import FeaturePrints
import Foundation
import Inference

extension FeaturePrintModel {
    /// The model that the package ships, read once.
    ///
    /// - Throws: ``ModelError``, with the reason `notFound` if the file is at none of the places of ``DefaultModelFile``.
    public static func `default`() throws(ModelError) -> FeaturePrintModel {
        try shared.get()
    }

    private static let shared: Result<FeaturePrintModel, ModelError> = Result { () throws(ModelError) in
        try FeaturePrintModel(contentsOf: DefaultModelFile.prints.find())
    }
}
