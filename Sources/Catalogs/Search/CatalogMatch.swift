public import FeaturePrints
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
    /// top left; counterclockwise if the query shows it mirrored. Nil if local features did not verify the match.
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
    var key: Int64 { cursor.key }

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

    init(entity: CatalogEntity, place: RankedEntity) {
        self.entity = entity
        imageIndex = place.image
        confidence = place.confidence
        outline = place.verified?.outline
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

/// A query image, embedded and verified: what a ranking is made from, and its pages.
///
/// Made by ``Catalog/query(for:options:)``. It holds no pixels.
public struct CatalogQuery: Sendable {
    /// A print per crop. An entity's distance is the minimum distance of its images over them.
    public let prints: [FeaturePrint]
    /// The match threshold of the prints, 0...2; nil for a model without one.
    public let matchThreshold: Double?
    /// The images that were judged by their local features.
    package private(set) var verified: [VerifiedEntity]
    /// Whether all was done that the effort asks for. Without it a ``TimeBudget`` was spent before, and entities may be
    /// missing or less sure than they would be.
    public let isComplete: Bool
    /// Whether local features were compared: entities that were not found by them are less likely then.
    public let isVerified: Bool
    /// The rows of the images that the first stage found, most likely first.
    package let candidates: [Int64]
    /// The rows of entities that are no matches: the one that others are to resemble.
    private(set) var excluded: Set<Int64>
    /// The nearest prints that the first stage found, for a ranking of the same entities.
    private(set) var scan: PrintScan?
    /// What the confidences of matches are computed with.
    let confidence: MatchConfidence

    package init(
        prints: [FeaturePrint], matchThreshold: Double?, coefficients: ConfidenceCoefficients,
        verified: [VerifiedEntity] = [], isVerified: Bool = false, candidates: [Int64] = [],
        excluded: Set<Int64> = [], scan: PrintScan? = nil, isComplete: Bool = true
    ) {
        self.prints = prints
        self.matchThreshold = matchThreshold
        confidence = MatchConfidence(
            coefficients, threshold: matchThreshold, verified: verified, isVerified: isVerified)
        self.verified = verified
        self.isVerified = isVerified
        self.isComplete = isComplete
        self.candidates = candidates
        self.excluded = excluded
        self.scan = scan
    }

    /// The query without the nearest prints that were found for it: a few kilobytes. Keep this one for later pages; its
    /// ranking is the same.
    public var withoutScan: CatalogQuery {
        var copy = self
        copy.scan = nil
        return copy
    }

    /// The query by its prints alone, without some entities.
    func resembling(besides entities: Set<Int64>) -> CatalogQuery {
        var copy = withoutVerified
        copy.excluded.formUnion(entities)
        return copy
    }

    /// The query with the same confidence in entities that were not verified, for a ranking of them alone.
    package var withoutVerified: CatalogQuery {
        var copy = self
        copy.verified = []
        return copy
    }
}

/// An entity with an image whose local features were compared with the query's, and agree or disagree.
package struct VerifiedEntity: Sendable, Hashable, Codable {
    /// The image's row in the database.
    package let key: Int64
    /// The entity's row in the database.
    package var entity: Int64 { ImageRow.entity(key) }
    /// The catalog's revision when it was verified.
    package let revision: Int64
    package let inlierCount: Int
    /// Where the query shows the image; nil if features do not agree on an outline.
    package var outline: Quadrilateral?
    /// Whether the query shows the image as in a mirror.
    package let isMirrored: Bool
    package var evidence: MatchEvidence
    /// The minimum over the query's crops and, if it was embedded, the crop that the outline rectifies.
    package var squaredDistance: Float
    package var distance: Double { Double(squaredDistance.squareRoot()) }
    /// Whether its local features were compared.
    package var isCompared = true
    /// Whether a code that was read from the query names the entity, whatever its image looks like.
    package var isNamedByCode = false
    /// The probability that texts that were read from the query name the entity, whatever its image looks like.
    package var textProbability = 0.0

    /// Entities that were compared, and those that codes and texts name.
    static func joined(_ compared: [VerifiedEntity], named: [VerifiedEntity]) -> [VerifiedEntity] {
        let entities = Dictionary(named.map { ($0.entity, $0) }, uniquingKeysWith: { first, _ in first })
        var joined = compared
        for index in joined.indices {
            guard let named = entities[joined[index].entity] else { continue }
            joined[index].isNamedByCode = joined[index].isNamedByCode || named.isNamedByCode
            joined[index].textProbability = max(joined[index].textProbability, named.textProbability)
        }
        let known = Set(compared.map(\.entity))
        return joined + named.filter { !known.contains($0.entity) }
    }
}
