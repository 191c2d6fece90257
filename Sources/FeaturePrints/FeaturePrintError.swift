/// Why two prints cannot be compared.
public enum FeaturePrintError: Error, Equatable, CustomStringConvertible {
    /// The prints were made with different models, whose distances mean nothing.
    case differentModels(ModelIdentity, ModelIdentity)

    public var description: String {
        switch self {
        case .differentModels(let one, let other):
            "a print of model \(one) cannot be compared with one of model \(other); make both with one model"
        }
    }
}
