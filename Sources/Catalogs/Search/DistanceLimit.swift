/// Up to which distance of the prints an entity is a match. It means the same wherever a search takes one.
public enum DistanceLimit: Sendable, Hashable {
    /// The match threshold of the query, which score normalization sets; any distance if the model has no threshold.
    case recommended
    /// Any distance.
    case unlimited
    /// This distance, 0...2.
    case atMost(Double)

    /// The limit as a distance, 0...2.
    ///
    /// - Parameter threshold: the match threshold of the query; nil for a model without one.
    public func distance(threshold: Double?) -> Double {
        switch self {
        case .recommended: threshold ?? Self.largest
        case .unlimited: Self.largest
        case .atMost(let distance): min(max(distance, 0), Self.largest)
        }
    }

    /// Unit vectors are at most this far apart.
    static let largest = 2.0
}

extension DistanceLimit: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    /// A distance, 0...2.
    public init(floatLiteral value: Double) { self = .atMost(value) }
    /// A distance, 0...2.
    public init(integerLiteral value: Int) { self = .atMost(Double(value)) }
}

/// Coded as `"recommended"`, `"unlimited"` or a number.
extension DistanceLimit: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let distance = try? container.decode(Double.self) {
            self = .atMost(distance)
            return
        }
        switch try container.decode(String.self) {
        case "recommended": self = .recommended
        case "unlimited": self = .unlimited
        case let other:
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "“\(other)” is not a limit: “recommended”, “unlimited” or a distance")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .recommended: try container.encode("recommended")
        case .unlimited: try container.encode("unlimited")
        case .atMost(let distance): try container.encode(distance)
        }
    }
}
