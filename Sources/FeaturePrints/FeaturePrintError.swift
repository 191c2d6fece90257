/// Why two prints cannot be compared.
public enum FeaturePrintError: Error, Equatable, CustomStringConvertible {
    case differentModels(ModelIdentity, ModelIdentity)

    public var description: String {
        switch self {
        case .differentModels(let one, let other):
            "a print of model \(one) cannot be compared with one of model \(other); make both with one model"
        }
    }
}
