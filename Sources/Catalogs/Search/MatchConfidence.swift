import Foundation

/// The confidence of matches: the probability that an entity is what a query shows, by logistic regression on the number
/// of inliers and on how far the prints are within the match threshold.
///
/// The coefficients are calibrated on real photographs; the model card says how.
struct MatchConfidence {
    /// The match threshold of the query.
    let threshold: Double
    /// Whether the local features of the query were compared.
    let isVerified: Bool

    /// Log odds per inlier, up to the largest count that adds any.
    private static let perInlier = 0.9
    private static let mostInliers = 40
    /// Log odds per unit of distance within the threshold, with inliers and without.
    private static let perVerifiedDistance = 3.0
    private static let perDistance = 8.0
    private static let verifiedBias = -7.5
    /// How far within the threshold the print of an entity has to be that was not verified.
    private static let unverifiedMargin = 0.15

    init(_ query: CatalogQuery) {
        threshold = query.matchThreshold ?? 2
        isVerified = query.isVerified
    }

    /// The log odds of an entity that was verified.
    func logOdds(inlierCount: Int, distance: Double) -> Double {
        Self.verifiedBias + Self.perInlier * Double(min(inlierCount, Self.mostInliers)) + Self.perVerifiedDistance * (threshold - distance)
    }

    /// The log odds of an entity that was not.
    func logOdds(distance: Double) -> Double { Self.perDistance * (threshold - distance - margin) }

    /// The distance at which an entity that was not verified has these log odds; negative if there is none.
    func distance(logOdds: Double) -> Double { threshold - margin - logOdds / Self.perDistance }

    var margin: Double { isVerified ? Self.unverifiedMargin : 0 }

    /// 0...1.
    static func probability(_ logOdds: Double) -> Double { 1 / (1 + exp(-logOdds)) }
    static func logOdds(_ probability: Double) -> Double { log(probability / (1 - probability)) }
}
