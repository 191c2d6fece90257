import CatalogEntities
import Compute
public import FeaturePrints
package import Imaging

/// A query image, embedded and verified: what a ranking is made from, and its pages.
///
/// Made by ``SearchableCatalog/query(for:options:)-(PixelBuffer,_)``. It holds no pixels.
public struct CatalogQuery: Sendable {
    /// A print per crop. An entity's distance is the minimum distance of its images over them.
    public let prints: [FeaturePrint]
    /// The match threshold of the prints, 0...2; nil for a model without one.
    public let matchThreshold: Double?
    /// The images that were judged by their local features.
    package private(set) var verified: [VerifiedEntity]
    /// Whether all was done that the effort asks for. Without it a ``TimeBudget`` was spent before, and entities may be
    /// missing or less sure than they would be.
    public private(set) var isComplete: Bool
    /// Whether local features were compared: entities that were not found by them are less likely then.
    public let isVerified: Bool
    /// The number of the catalog's revision in which images were verified; nil if none were.
    private let revision: Int64?
    /// The rows of the images that the first stage found, most likely first.
    package let candidates: [Int64]
    /// The rows of entities that are no matches: the one that others are to resemble.
    private(set) var excluded: Set<Int64>
    /// The nearest prints that the first stage found, for a ranking of the same entities.
    package private(set) var scan: PrintScan?
    /// Whether words describe what is searched. The ranking is that of the distances then, whatever the confidence.
    public let isDescribed: Bool
    /// What the confidences of matches are computed with.
    let confidence: MatchConfidence

    package init(
        prints: [FeaturePrint], matchThreshold: Double?, coefficients: ConfidenceCoefficients,
        verified: [VerifiedEntity] = [], isVerified: Bool = false, candidates: [Int64] = [],
        excluded: Set<Int64> = [], scan: PrintScan? = nil, isComplete: Bool = true, revision: Int64? = nil
    ) {
        self.prints = prints
        self.matchThreshold = matchThreshold
        confidence = MatchConfidence(
            coefficients, threshold: matchThreshold, verified: verified, isVerified: isVerified)
        self.verified = verified
        self.isVerified = isVerified
        self.revision = revision
        self.isComplete = isComplete
        self.candidates = candidates
        self.excluded = excluded
        self.scan = scan
        isDescribed = false
    }

    /// A query by words.
    ///
    /// - Parameter logits: what makes confidences of distances; nil for none.
    init(describedBy print: FeaturePrint, coefficients: ConfidenceCoefficients, logits: TextLogits?) {
        (prints, matchThreshold, isDescribed, isVerified, isComplete) = ([print], nil, true, false, true)
        confidence = MatchConfidence(
            coefficients, threshold: nil, verified: [], isVerified: false, textLogits: logits)
        (verified, candidates, excluded, scan, revision) = ([], [], [], nil, nil)
    }

    /// Whether its ranking in a state of the catalog has all that the effort asks for.
    func isComplete(in state: any CatalogState) -> Bool {
        isComplete && (revision ?? state.revision.number) == state.revision.number
    }

    /// The largest confidence of an entity, 0...1.
    var largestConfidence: Double {
        let judged = Set(verified.map(\.key))
        let near = (scan?.nearest(without: excluded) ?? []).first { !judged.contains($0.key) }.map(confidence.place)
        let places = verified.filter { !excluded.contains($0.entity) }.map(confidence.place) + [near].compactMap(\.self)
        return places.map(\.confidence).max() ?? 0
    }

    /// The same, and incomplete if further work was not done.
    func complete(_ isComplete: Bool) -> CatalogQuery {
        var copy = self
        copy.isComplete = copy.isComplete && isComplete
        return copy
    }

    /// The bounds that count for the query.
    func bounds(_ bounds: MatchBounds) -> MatchBounds {
        isDescribed ? MatchBounds(maxDistance: bounds.maxDistance) : bounds
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

    /// Fewer features than these, of less than this share of what is visible, agree on the plane of a part of a thing
    /// with depth alone. So do 78 in 100 buildings and toys of `validation-depth`, and 6 in 100 flat things.
    private static let (fewestOfPicture, leastShareOfPicture) = (20, 0.15)

    /// Where the query shows what the image shows: the outline of a picture, and the box around that of a thing with
    /// depth, whose features agree on no plane.
    var place: Quadrilateral? {
        let isPicture = inlierCount >= Self.fewestOfPicture || evidence.share >= Self.leastShareOfPicture
        return isPicture ? outline : outline?.box
    }

    /// Takes what a ``TemplateComparison`` says: what agrees has all of its inliers for itself.
    mutating func agree(_ agreement: Double?) {
        evidence.agreement = agreement
        if agreement ?? 0 >= MatchEvidence.fullAgreement { evidence.inliers = Double(inlierCount) }
    }

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
