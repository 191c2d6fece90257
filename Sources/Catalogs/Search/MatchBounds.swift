/// Which entities of a ranking are matches.
public struct MatchBounds: Sendable, Hashable, Codable {
    /// The least confidence, 0...1; 0 for any.
    public var minConfidence: Double
    /// The maximum distance of the prints.
    public var maxDistance: DistanceLimit

    /// Bounds that both have to hold; none by default.
    public init(minConfidence: Double = 0, maxDistance: DistanceLimit = .unlimited) {
        self.minConfidence = minConfidence
        self.maxDistance = maxDistance
    }

    /// The default decision: at least as likely right as wrong.
    public static let accepted = MatchBounds(minConfidence: 0.5)
    /// No bounds: all entities, best first.
    public static let none = MatchBounds()

    /// - Parameter threshold: the match threshold of the query; nil for a model without one.
    func contains(_ place: RankedEntity, threshold: Double?) -> Bool {
        let largest = maxDistance.distance(threshold: threshold)
        // Opposite prints may be a rounding error farther apart than any limit.
        return place.confidence >= minConfidence
            && (largest >= DistanceLimit.largest || Double(place.squaredDistance.squareRoot()) <= largest)
    }
}
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
