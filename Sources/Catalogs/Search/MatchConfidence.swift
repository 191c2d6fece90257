import Foundation

/// The confidence of matches: the probability that the query shows the entity, by logistic regression.
///
/// A verified entity is judged by the inliers that it alone explains and by the print of the crop that its outline
/// rectifies; any other by how far its print is within the match threshold. The coefficients were fitted to real
/// photographs and simulated captures, with and without their targets in the catalog; the model card has the data and
/// the cross-validation.
struct MatchConfidence {
    /// The match threshold of the query.
    let threshold: Double
    /// Whether the local features of the query were compared.
    let isVerified: Bool

    /// Log odds per inlier, up to the largest count that adds any, and per unit of distance.
    private static let perInlier = 0.93
    static let mostInliers = 25.0
    private static let perRectifiedDistance = -10.9
    private static let verifiedBias = -4.8
    /// Larger distances carry no further evidence: windows over a wallpaper, or a thumb on a cover, make any distance
    /// large. Also stands for the distance of a crop that was not embedded.
    private static let largestDistance = 0.75

    /// Log odds per unit of distance within the match threshold.
    private static let perDistance = 8.0
    /// How much smaller the distance has to be if its entity was not verified although local features were compared.
    private static let unverifiedMargin = 0.3

    init(_ query: CatalogQuery) {
        threshold = query.matchThreshold ?? 2
        isVerified = query.isVerified
    }

    /// The log odds of a verified entity.
    func logOdds(evidence: Double, rectifiedDistance: Double?) -> Double {
        Self.verifiedBias + Self.perInlier * min(evidence, Self.mostInliers)
            + Self.perRectifiedDistance * min(rectifiedDistance ?? .infinity, Self.largestDistance)
    }

    /// The log odds of an entity by its print alone.
    func logOdds(distance: Double) -> Double { Self.perDistance * (threshold - distance - margin) }

    /// The distance at which a print alone has these log odds; negative if none has.
    func distance(logOdds: Double) -> Double { threshold - margin - logOdds / Self.perDistance }

    var margin: Double { isVerified ? Self.unverifiedMargin : 0 }

    /// 0...1.
    static func probability(_ logOdds: Double) -> Double { 1 / (1 + exp(-logOdds)) }
}
