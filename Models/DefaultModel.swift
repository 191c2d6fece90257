import FeaturePrints
import Foundation
import Inference

extension FeaturePrintModel {
    /// The model that the package ships, read once unless a precision is given.
    ///
    /// - Parameter precision: the fastest that the CPU supports, by default. With a precision the file is read anew.
    /// - Throws: ``ModelError``, with the reason `notFound` if the file is at none of the places of ``DefaultModelFile``.
    public static func `default`(precision: Precision? = nil) throws(ModelError) -> FeaturePrintModel {
        guard let precision else { return try shared.get() }
        return try FeaturePrintModel(contentsOf: DefaultModelFile.prints.find(), precision: precision)
    }

    private static let shared: Result<FeaturePrintModel, ModelError> = Result { () throws(ModelError) in
        try FeaturePrintModel(contentsOf: DefaultModelFile.prints.find())
    }
}
