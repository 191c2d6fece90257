public import CatalogEntities
import FeaturePrints
public import Imaging

/// An entity that a search found: how sure it is, and where the query shows it.
public struct CatalogMatch: Sendable, Hashable {
    /// The entity.
    public let entity: CatalogEntity
    /// The place of the image that matches among the entity's images, from 0.
    public let imageIndex: Int
    /// The path of the image that matches, as ``CatalogEntity/images`` has it.
    public var image: String { entity.images.indices.contains(imageIndex) ? entity.images[imageIndex] : entity.image }
    /// The probability that the query shows the entity, 0...1, calibrated on real photographs. Comparable between
    /// queries; the default decision accepts ½ and more. 0 for a match by the prints alone of a model without a match
    /// threshold, which tell nothing of a probability.
    public let confidence: Double
    /// Where the query shows the image that matches, as fractions of the query's sides, clockwise from the image's own
    /// top left; counterclockwise if the query shows it mirrored. Where few features agree on a plane, as on a building
    /// from another side, it is the box around that place. Nil if local features did not verify the match.
    public let outline: Quadrilateral?
    /// Whether the query shows the image as in a mirror.
    public let isMirrored: Bool
    /// Whether a code of ``SearchOptions/codes`` names the entity.
    public let isNamedByCode: Bool
    /// Whether words of ``SearchOptions/texts`` name the entity more likely than not.
    public let isNamedByText: Bool
    /// The number of local features that agree on ``outline``; 0 without one.
    public let inlierCount: Int
    /// The minimum distance between the query's prints and the image's, 0...2.
    public let distance: Double
    /// The place in the ranking, with the entity's row in the database.
    let cursor: SearchCursor
    /// The entity's row in the database.
    package var key: Int64 { cursor.key }

    /// A match that no search found, such as one for a preview or a test.
    ///
    /// - Parameters:
    ///   - imageIndex: the place of the image that matches among the entity's images.
    ///   - confidence: 0...1.
    ///   - distance: the distance of the prints, 0...2.
    ///   - cursor: where pages after this match start. Without it they start at its distance.
    public init(
        entity: CatalogEntity, imageIndex: Int = 0, confidence: Double, distance: Double,
        outline: Quadrilateral? = nil, isMirrored: Bool = false, isNamedByCode: Bool = false,
        isNamedByText: Bool = false,
        inlierCount: Int = 0, cursor: SearchCursor? = nil
    ) {
        self.entity = entity
        self.imageIndex = imageIndex
        self.confidence = confidence
        self.distance = distance
        self.outline = outline
        self.isMirrored = isMirrored
        self.isNamedByCode = isNamedByCode
        self.isNamedByText = isNamedByText
        self.inlierCount = inlierCount
        self.cursor = cursor ?? SearchCursor(sortKey: distance * distance, key: 0)
    }

    package init(entity: CatalogEntity, place: RankedEntity) {
        self.entity = entity
        imageIndex = place.image
        confidence = place.confidence
        outline = place.verified?.place
        isMirrored = place.verified?.isMirrored ?? false
        isNamedByCode = place.verified?.isNamedByCode ?? false
        isNamedByText = place.verified?.textProbability ?? 0 >= 0.5
        inlierCount = place.verified?.inlierCount ?? 0
        distance = Double(place.squaredDistance.squareRoot())
        cursor = SearchCursor(sortKey: place.sortKey, key: place.key)
    }
}

extension CatalogMatch: Identifiable {
    /// The entity's id.
    public var id: String { entity.id }
}

/// Coded as `entity`, `image` and `imageIndex` (of an entity with several images), `confidence`, `distance`,
/// `inlierCount`, `outline` (the corners; absent for a match that was not verified), `isMirrored`, `isNamedByCode`,
/// `isNamedByText` and `cursor` (what ``SearchCursor`` is after this match).
extension CatalogMatch: Codable {
    private enum CodingKeys: CodingKey {
        case entity, image, imageIndex, confidence, distance, inlierCount, outline, isMirrored, isNamedByCode
        case isNamedByText, cursor
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            entity: try values.decode(CatalogEntity.self, forKey: .entity),
            imageIndex: try values.decodeIfPresent(Int.self, forKey: .imageIndex) ?? 0,
            confidence: try values.decode(Double.self, forKey: .confidence),
            distance: try values.decode(Double.self, forKey: .distance),
            outline: try values.decodeIfPresent(Quadrilateral.self, forKey: .outline),
            isMirrored: try values.decodeIfPresent(Bool.self, forKey: .isMirrored) ?? false,
            isNamedByCode: try values.decodeIfPresent(Bool.self, forKey: .isNamedByCode) ?? false,
            isNamedByText: try values.decodeIfPresent(Bool.self, forKey: .isNamedByText) ?? false,
            inlierCount: try values.decodeIfPresent(Int.self, forKey: .inlierCount) ?? 0,
            cursor: try values.decodeIfPresent(SearchCursor.self, forKey: .cursor))
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(entity, forKey: .entity)
        if entity.images.count > 1 {
            try values.encode(image, forKey: .image)
            try values.encode(imageIndex, forKey: .imageIndex)
        }
        try values.encode(confidence, forKey: .confidence)
        try values.encode(distance, forKey: .distance)
        try values.encode(inlierCount, forKey: .inlierCount)
        try values.encodeIfPresent(outline, forKey: .outline)
        try values.encode(isMirrored, forKey: .isMirrored)
        try values.encode(isNamedByCode, forKey: .isNamedByCode)
        try values.encode(isNamedByText, forKey: .isNamedByText)
        try values.encode(SearchCursor(after: self), forKey: .cursor)
    }
}

extension SearchCursor {
    /// The place after a match of an image search.
    public init(after match: CatalogMatch) {
        self = match.cursor
    }
}
