import FeaturePrints
import Foundation

/// The confidence of matches: the probability that the query shows the entity, by logistic regression.
///
/// The model file has the coefficients (``ConfidenceCoefficients``), and the model card the data that they were fitted
/// to.
struct MatchConfidence: Sendable {
    let coefficients: ConfidenceCoefficients
    /// The match threshold of the query; the largest distance for a model without one.
    let threshold: Double
    /// Whether the model has a threshold. Without one, distances order entities and say nothing of their probability.
    let isCalibrated: Bool
    /// How much smaller than the threshold the distance of an entity has to be that was not verified.
    let margin: Double
    /// The log odds of such an entity per unit of distance.
    private let perDistance: Double
    /// For a query by words.
    private let textLogits: TextLogits?

    /// - Parameters:
    ///   - verified: all entities of the query that were verified.
    ///   - isVerified: whether the local features of the query were compared.
    init(
        _ coefficients: ConfidenceCoefficients, threshold given: Double?, verified: [VerifiedEntity], isVerified: Bool,
        textLogits: TextLogits? = nil
    ) {
        self.textLogits = textLogits
        let threshold = given ?? DistanceLimit.largest
        (self.coefficients, self.threshold, isCalibrated) = (coefficients, threshold, given != nil)
        perDistance = isVerified ? coefficients.perUnverifiedDistance : coefficients.perDistance
        // A verified entity explains the prints of the query: what is less near merely resembles it.
        let explained = verified.filter {
            $0.isCompared && coefficients.logOdds($0.evidence, distance: $0.distance, threshold: threshold) > 0
        }.map(\.distance).min()
        margin = max(
            isVerified ? coefficients.unverifiedMargin : 0, explained.map { threshold - $0 } ?? -.infinity)
    }

    /// The log odds of an entity that a code names, those of 0.99: the digits have a check digit, but a photograph may
    /// show the code of something else, too.
    static let logOddsOfCode = 4.6

    /// The log odds of an entity by its print alone.
    func logOdds(distance: Double) -> Double { perDistance * (threshold - distance - margin) }

    /// The distance at which a print alone has these log odds; negative if none has.
    func distance(logOdds: Double) -> Double { threshold - margin - logOdds / perDistance }

    /// The log odds that one of two causes holds, as if they were independent: the picture is that of the entity, or
    /// the words in it name the entity.
    ///
    /// - Parameter other: below 1.
    static func logOdds(_ odds: Double, orProbability other: Double) -> Double {
        // Odds of p + q − pq are those of p, of q, and their product, summed.
        let otherOdds = other / (1 - other)
        return odds > 30 ? odds : log(exp(odds) * (1 + otherOdds) + otherOdds)
    }

    /// That of an image which was not verified, 0...1.
    func confidence(distance: Double) -> Double {
        if let textLogits { return textLogits.probability(ofDistance: distance) ?? 0 }
        return isCalibrated ? Self.probability(logOdds(distance: distance)) : 0
    }

    /// 0...1.
    static func probability(_ logOdds: Double) -> Double { 1 / (1 + exp(-logOdds)) }
}
