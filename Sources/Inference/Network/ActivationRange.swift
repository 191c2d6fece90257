/// The values of a tensor that its int8 codes stand for; others are clamped.
///
/// In JSON the upper bound alone if the lower one is 0, and [lower, upper] otherwise.
public struct ActivationRange: Sendable, Hashable, Codable {
    /// At most 0.
    public let lower: Float
    /// At least 0, and above the lower bound.
    public let upper: Float

    /// A range that contains 0, which the padding of a convolution is.
    ///
    /// - Parameters:
    ///   - lower: the smallest value; 0 if it is above.
    ///   - upper: the largest value; 0 if it is below. The range is 0...1 for values that are all 0 or have no bounds.
    public init(lower: Float = 0, upper: Float) {
        let bounds = (min(lower, 0), max(upper, 0))
        (self.lower, self.upper) = Self.hasSteps(bounds.0, bounds.1) ? bounds : (0, 1)
    }

    /// Whether a range has 255 steps that float32 can tell apart.
    private static func hasSteps(_ lower: Float, _ upper: Float) -> Bool { ((upper - lower) / 255).isNormal }

    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        let bounds =
            if let upper = try? value.decode(Float.self) { [0, upper] } else { try value.decode([Float].self) }
        guard bounds.count == 2, bounds[0] <= 0, bounds[1] >= 0,
            Self.hasSteps(bounds[0], bounds[1])
        else {
            throw DecodingError.dataCorruptedError(in: value, debugDescription: "\(bounds) is not a range around 0")
        }
        (lower, upper) = (bounds[0], bounds[1])
    }

    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        if lower == 0 { try value.encode(upper) } else { try value.encode([lower, upper]) }
    }
}
