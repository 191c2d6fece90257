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
