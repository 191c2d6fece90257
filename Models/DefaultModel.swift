public import FeaturePrints
import Foundation
public import Inference

extension FeaturePrintModel {
    /// The model that the package ships, read once for each precision.
    ///
    /// - Parameter precision: the fastest that the CPU supports, by default.
    /// - Throws: ``ModelError``, with the reason `notFound` if the file is at none of its places: what
    ///   the environment variable `LOOKALIKE_MODEL` names, the folder of the library that this is a part of, the
    ///   program's resources and folder, `share/lookalike` beside these and of the system, and the checkout that it
    ///   was built from.
    public static func `default`(precision: Precision? = nil) throws(ModelError) -> FeaturePrintModel {
        switch precision {
        case nil: try fastest.get()
        case .float32: try float32.get()
        case .int8: try int8.get()
        }
    }

    private static let fastest = load(nil)
    private static let float32 = load(.float32)
    private static let int8 = load(.int8)

    private static func load(_ precision: Precision?) -> Result<FeaturePrintModel, ModelError> {
        Result { () throws(ModelError) in
            try FeaturePrintModel(contentsOf: DefaultModelFile.prints.find(), precision: precision)
        }
    }
}
