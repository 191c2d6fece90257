import Inference

/// The coefficients of the confidence of matches: a logistic regression that was fitted to the distances of a model.
///
/// The log odds of an entity whose local features were verified are
/// *verifiedBias + perInlier · min(inliers, mostInliers) + perRectifiedDistance · min(distance, largestDistance)*, with
/// the distance of the crop that its outline rectifies. The log odds of any other entity are
/// *perDistance · (threshold − distance − margin)*, with `unverifiedMargin` if local features were compared, and 0
/// otherwise.
public struct ConfidenceCoefficients: Sendable, Hashable, Codable {
    /// Log odds per inlier, 0...100.
    public let perInlier: Double
    /// The largest number of inliers that adds log odds, 0...10,000.
    public let mostInliers: Double
    /// Log odds per unit of distance of a rectified crop, −1,000...0.
    public let perRectifiedDistance: Double
    /// Log odds of a verified entity without inliers and at the distance 0, −1,000...1,000.
    public let verifiedBias: Double
    /// Larger distances of a rectified crop carry no further evidence; 0...2. Also stands for the distance of a crop
    /// that was not embedded.
    public let largestDistance: Double
    /// Log odds per unit of distance within the match threshold, 0.001...1,000.
    public let perDistance: Double
    /// How much smaller the distance of an entity has to be if it was not verified although local features were
    /// compared; 0...2.
    public let unverifiedMargin: Double

    /// - Precondition: the coefficients are in their ranges.
    public init(
        perInlier: Double, mostInliers: Double, perRectifiedDistance: Double, verifiedBias: Double,
        largestDistance: Double, perDistance: Double, unverifiedMargin: Double
    ) {
        (self.perInlier, self.mostInliers, self.perRectifiedDistance) = (perInlier, mostInliers, perRectifiedDistance)
        (self.verifiedBias, self.largestDistance, self.perDistance) = (verifiedBias, largestDistance, perDistance)
        self.unverifiedMargin = unverifiedMargin
        precondition(outOfRange == nil, "a coefficient is out of range")
    }

    enum CodingKeys: String, CodingKey {
        case perInlier = "per_inlier"
        case mostInliers = "most_inliers"
        case perRectifiedDistance = "per_rectified_distance"
        case verifiedBias = "verified_bias"
        case largestDistance = "largest_distance"
        case perDistance = "per_distance"
        case unverifiedMargin = "unverified_margin"
    }

    /// The first coefficient that is not in its range, with its value; a value that is not finite is in none.
    private var outOfRange: String? {
        let checks: [(CodingKeys, Double, ClosedRange<Double>)] = [
            (.perInlier, perInlier, 0...100), (.mostInliers, mostInliers, 0...10_000),
            (.perRectifiedDistance, perRectifiedDistance, -1_000...0), (.verifiedBias, verifiedBias, -1_000...1_000),
            (.largestDistance, largestDistance, 0...2), (.perDistance, perDistance, 0.001...1_000),
            (.unverifiedMargin, unverifiedMargin, 0...2),
        ]
        return checks.first { !$0.2.contains($0.1) }.map { "\($0.0.rawValue) = \($0.1)" }
    }
}

extension ConfidenceCoefficients {
    /// The key of the coefficients in a model file's metadata.
    public static let metadataKey = "lookalike.confidence"

    /// Nil if the file has no coefficients.
    ///
    /// - Throws: `malformed` if they are unusable.
    init?(of file: SafeTensorsFile) throws(ModelError.Reason) {
        guard let coefficients = try file.decoded(Self.self, from: Self.metadataKey) else { return nil }
        self = coefficients
        if let outOfRange { throw .malformed("the metadata “\(Self.metadataKey)” has \(outOfRange), out of range") }
    }
}
