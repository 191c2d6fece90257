import Imaging

/// An entity that a search found: how sure it is, and where the query shows it.
public struct CatalogMatch: Sendable, Hashable {
    /// The entity.
    public let entity: CatalogEntity
    /// The probability that the query shows the entity, 0...1, calibrated on real photographs. Comparable between
    /// queries; the default decision accepts ½ and more.
    public let confidence: Double
    /// Where the query shows the entity's image, as fractions of the query's sides, clockwise from the image's own top
    /// left. Nil if local features did not verify the match.
    public let outline: Quadrilateral?
    /// The number of local features that agree on ``outline``; 0 without one.
    public let inlierCount: Int
    /// The minimum distance between the query's prints and the entity's, 0...2.
    public var distance: Double { Double(squaredDistance.squareRoot()) }

    let squaredDistance: Float
    /// The place in the ranking, and in cursors.
    let sortKey: Double
    /// The entity's row in the database.
    let key: Int64

    init(entity: CatalogEntity, place: RankedEntity) {
        self.entity = entity
        confidence = place.confidence
        outline = place.verified?.outline
        inlierCount = place.verified?.inlierCount ?? 0
        squaredDistance = place.squaredDistance
        sortKey = place.sortKey
        key = place.key
    }
}

extension CatalogMatch: Identifiable {
    /// The entity's id.
    public var id: String { entity.id }
}

/// Coded as `entity`, `confidence`, `distance`, `inlierCount`, `outline` (the corners; absent for a match that was not
/// verified) and `cursor` (what ``SearchCursor`` is after this match).
extension CatalogMatch: Encodable {
    private enum CodingKeys: String, CodingKey { case entity, confidence, distance, inlierCount, outline, cursor }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(entity, forKey: .entity)
        try values.encode(confidence, forKey: .confidence)
        try values.encode(distance, forKey: .distance)
        try values.encode(inlierCount, forKey: .inlierCount)
        try values.encodeIfPresent(outline, forKey: .outline)
        try values.encode(SearchCursor(after: self), forKey: .cursor)
    }
}
