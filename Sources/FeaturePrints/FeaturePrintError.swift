/// Why two prints cannot be compared.
public enum FeaturePrintError: Error, Equatable, CustomStringConvertible {
    /// The prints were made with different models, whose distances mean nothing.
    case differentModels(ModelIdentity, ModelIdentity)
    /// A print has this number of components instead of the expected one.
    case wrongDimension(Int, expected: Int)
    /// A print is longer than a unit vector.
    case notNormalized(norm: Double)

    public var description: String {
        switch self {
        case .differentModels(let one, let other):
            "a print of model \(one) cannot be compared with one of model \(other); make both with one model"
        case .wrongDimension(let count, let expected): "the print has \(count) components, not \(expected)"
        case .notNormalized(let norm): "the print has the norm \(norm), not 1"
        }
    }
}
