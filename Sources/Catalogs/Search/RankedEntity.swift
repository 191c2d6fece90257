/// An entity's place in the ranking of a query, before anything is read of the entity.
package struct RankedEntity: Sendable {
    /// The entity's row in the database.
    package let key: Int64
    package let squaredDistance: Float
    /// 0...1.
    package let confidence: Double
    /// Nil if local features did not verify the entity.
    package let verified: VerifiedEntity?
    /// Ascending; see ``Catalog/ranking(of:limit:bounds:filter:after:)``.
    package let sortKey: Double
    /// The distance at which a print alone would be as sure. Negative for an entity that is surer than any print.
    package let effectiveDistance: Double
}

/// Which entities of a ranking are matches.
public struct MatchBounds: Sendable, Hashable, Codable {
    /// The least confidence, 0...1; nil for any.
    public var minConfidence: Double?
    /// The maximum distance of the prints, 0...2; nil for any.
    public var maxDistance: Double?

    /// Bounds that both have to hold; nil for no bound.
    public init(minConfidence: Double? = nil, maxDistance: Double? = nil) {
        self.minConfidence = minConfidence
        self.maxDistance = maxDistance
    }

    /// The default decision: at least as likely right as wrong.
    public static let accepted = MatchBounds(minConfidence: 0.5)
    /// No bounds: all entities, best first.
    public static let none = MatchBounds()

    func contains(_ place: RankedEntity) -> Bool {
        place.confidence >= minConfidence ?? 0 && Double(place.squaredDistance.squareRoot()) <= maxDistance ?? .infinity
    }
}
