import Compute
import Foundation
import Inference

/// What speaks for and against an entity whose local features were compared with a query.
package struct MatchEvidence: Sendable, Hashable, Codable {
    /// The inliers at places of their own. An inlier that other entities have too, with other pictures, counts in part.
    package var inliers: Double
    /// The inliers as a share of the features of the entity's image that lie within the query, 0...1.
    package var share: Double
    /// The features that had a match, inliers or not: the more, the more inliers agree by chance.
    package var matches: Int
    /// The dense descriptors that match; 0 if they were not compared, or if inliers speak against the entity.
    package var denseMatches: Int
    /// The inliers over those of the first rival, another thing that the catalog has: the natural logarithm of their
    /// ratio, each plus one; 0 without a lead.
    package var inlierLead = 0.0
    /// The dense matches beyond those of the first rival; 0 without a lead.
    package var denseLead = 0
    /// How much the query looks like the entity where others of its template look different, as a share of how much it
    /// does elsewhere, about -0.2...1; nil if there are none, or nothing is to be seen of it.
    package var agreement: Double?
    /// The share of the structured windows of the entity's image that look the same in the query, 0...1; nil without an
    /// outline, for a small one, and where inliers and their share leave no doubt.
    package var likeness: Double?

    /// Evidence from the comparison of local features.
    package init(inliers: Double, share: Double, matches: Int, denseMatches: Int) {
        (self.inliers, self.share, self.matches, self.denseMatches) = (inliers, share, matches, denseMatches)
    }

    /// Whether features agree on an outline.
    package var isVerified: Bool { inliers > 0 }
}

extension MatchEvidence {
    /// With less agreement the query shows another one of a template, more likely than not.
    package static let leastAgreement = 0.82
    /// The largest log odds per agreement beyond that.
    static let perAgreement = 40.0
    /// With so much, inliers that others of the template have, too, count in full.
    package static let fullAgreement = 0.9

    /// What unrelated images have: a rival of less, or none, gives no larger lead.
    private static let inliersByChance = 6.0
    private static let denseMatchesByChance = 15

    /// Sets the leads over rivals.
    ///
    /// - Parameters:
    ///   - inliers: the most inliers of one; 0 without any.
    ///   - denseMatches: the most dense matches of one.
    package mutating func lead(overInliers inliers: Double, denseMatches: Int) {
        inlierLead = max(log1p(self.inliers) - log1p(max(inliers, Self.inliersByChance)), 0)
        denseLead = max(self.denseMatches - max(denseMatches, Self.denseMatchesByChance), 0)
    }

    /// Lowers the lead of the dense matches to that over one rival more.
    package mutating func lead(overDenseMatches denseMatches: Int) {
        denseLead = min(denseLead, max(self.denseMatches - denseMatches, 0))
    }

    /// More dense matches carry no further evidence.
    private static let mostDenseMatches = 60
    private static let largestDenseLead = 40

    /// An unknown likeness counts as this one.
    static let neutralLikeness = 0.5

    /// What the regression weighs. With an outline: the logarithm of the inliers, the inliers up to a number, their
    /// share, the logarithm of the matches, the inliers' lead, the likeness, the dense matches and their lead up to a
    /// number, and how far the distance is within the threshold; otherwise the last three.
    func features(mostInliers: Double, withinThreshold: Double) -> [Double] {
        let dense = [
            Double(min(denseMatches, Self.mostDenseMatches)), Double(min(denseLead, Self.largestDenseLead)),
            withinThreshold,
        ]
        guard isVerified else { return dense }
        return [
            log1p(inliers), min(inliers, mostInliers), share, log1p(Double(matches)), inlierLead,
            (likeness ?? Self.neutralLikeness) - Self.neutralLikeness,
        ] + dense
    }
}

/// The coefficients of the confidence of matches: logistic regressions that were fitted to the distances of a model.
///
/// The log odds of an entity with an outline are
/// *verifiedBias + perLogInlier · ln(1 + inliers) + perInlier · min(inliers, mostInliers) + perShare · share +
/// perLogMatch · ln(1 + matches) + perInlierLead · inlierLead + perLikeness · (likeness − 0.5) + perDenseMatch ·
/// min(denseMatches, 60) + perDenseLead · min(denseLead, 40) + perVerifiedDistance · (threshold − distance)*. Those of
/// an entity that was compared and has none are *resemblingBias + perResemblingMatch · min(denseMatches, 60) +
/// perResemblingLead · min(denseLead, 40) + perResemblingDistance · (threshold − distance)*, and one with an outline
/// has at least these. An entity of which pixels say that the query shows another one of its template has less,
/// whatever features agree. The log odds of any other entity are *perDistance · (threshold − distance)*, and
/// *perUnverifiedDistance · (threshold − distance − unverifiedMargin)* if the query's local features were compared with
/// others. The threshold is that of the query (``FeaturePrintModel/matchThreshold(for:beside:)``).
///
/// `ConfidenceFit` finds the coefficients.
public struct ConfidenceCoefficients: Sendable, Hashable, Codable {
    /// Log odds of a verified entity without inliers, at the threshold.
    public let verifiedBias: Double
    /// Log odds per natural logarithm of one more than the inliers, 0...100.
    public let perLogInlier: Double
    /// Log odds per inlier, 0...100.
    public let perInlier: Double
    /// The largest number of inliers that adds log odds by `perInlier`, 0...10,000.
    public let mostInliers: Double
    /// Log odds per share of inliers among the visible features, 0...1,000.
    public let perShare: Double
    /// Log odds per natural logarithm of one more than the matches, −100...0.
    public let perLogMatch: Double
    /// Log odds per natural logarithm of the lead of the inliers, 0...100.
    public let perInlierLead: Double
    /// Log odds per share of the windows of an entity's image that look the same in the query, 0...100.
    public let perLikeness: Double
    /// Log odds of a verified entity per dense match, 0...100.
    public let perDenseMatch: Double
    /// Log odds of a verified entity per dense match of its lead, 0...100.
    public let perDenseLead: Double
    /// Log odds of a verified entity per unit of distance within the match threshold, 0...1,000.
    public let perVerifiedDistance: Double
    /// Log odds of an entity without an outline and without dense matches, at the threshold.
    public let resemblingBias: Double
    /// Log odds of such an entity per dense match, 0...100.
    public let perResemblingMatch: Double
    /// Log odds of such an entity per dense match of its lead, 0...100.
    public let perResemblingLead: Double
    /// Log odds of such an entity per unit of distance within the match threshold, 0...1,000.
    public let perResemblingDistance: Double
    /// Log odds of an entity by its print alone, per unit of distance within the match threshold, 0.001...1,000.
    public let perDistance: Double
    /// The same if the query's local features were compared, but not with this entity's, or too few agree.
    public let perUnverifiedDistance: Double
    /// How much smaller the distance of such an entity has to be; −2...2.
    public let unverifiedMargin: Double

    /// - Precondition: the coefficients are in their ranges.
    public init(
        verifiedBias: Double, perLogInlier: Double, perInlier: Double, mostInliers: Double, perShare: Double,
        perLogMatch: Double, perInlierLead: Double, perLikeness: Double, perDenseMatch: Double, perDenseLead: Double,
        perVerifiedDistance: Double, resemblingBias: Double, perResemblingMatch: Double, perResemblingLead: Double,
        perResemblingDistance: Double, perDistance: Double, perUnverifiedDistance: Double, unverifiedMargin: Double
    ) {
        (self.verifiedBias, self.perLogInlier, self.perInlier) = (verifiedBias, perLogInlier, perInlier)
        (self.mostInliers, self.perShare, self.perLogMatch) = (mostInliers, perShare, perLogMatch)
        (self.perInlierLead, self.perLikeness) = (perInlierLead, perLikeness)
        (self.perDenseMatch, self.perDenseLead) = (perDenseMatch, perDenseLead)
        (self.perVerifiedDistance, self.resemblingBias) = (perVerifiedDistance, resemblingBias)
        (self.perResemblingMatch, self.perResemblingLead) = (perResemblingMatch, perResemblingLead)
        (self.perResemblingDistance, self.perDistance) = (perResemblingDistance, perDistance)
        (self.perUnverifiedDistance, self.unverifiedMargin) = (perUnverifiedDistance, unverifiedMargin)
        require(outOfRange == nil, "a coefficient is out of range: \(outOfRange ?? "")")
    }

    /// For a model whose file has none: by prints alone, a tenth of the distance within the threshold is worth 0.8.
    public static let general = ConfidenceCoefficients(
        verifiedBias: -12, perLogInlier: 0, perInlier: 0.93, mostInliers: 25, perShare: 0, perLogMatch: 0,
        perInlierLead: 0, perLikeness: 0, perDenseMatch: 0, perDenseLead: 0, perVerifiedDistance: 0,
        resemblingBias: -2.4, perResemblingMatch: 0, perResemblingLead: 0, perResemblingDistance: 8, perDistance: 8,
        perUnverifiedDistance: 8, unverifiedMargin: 0.3)

    /// The same with another coefficient of the distance, for entities by their prints alone.
    func with(perDistance: Double) -> ConfidenceCoefficients {
        ConfidenceCoefficients(
            verifiedBias: verifiedBias, perLogInlier: perLogInlier, perInlier: perInlier, mostInliers: mostInliers,
            perShare: perShare, perLogMatch: perLogMatch, perInlierLead: perInlierLead, perLikeness: perLikeness,
            perDenseMatch: perDenseMatch, perDenseLead: perDenseLead, perVerifiedDistance: perVerifiedDistance,
            resemblingBias: resemblingBias, perResemblingMatch: perResemblingMatch,
            perResemblingLead: perResemblingLead,
            perResemblingDistance: perResemblingDistance, perDistance: perDistance,
            perUnverifiedDistance: perUnverifiedDistance, unverifiedMargin: unverifiedMargin)
    }

    enum CodingKeys: String, CodingKey {
        case verifiedBias = "verified_bias"
        case perLogInlier = "per_log_inlier"
        case perInlier = "per_inlier"
        case mostInliers = "most_inliers"
        case perShare = "per_share"
        case perLogMatch = "per_log_match"
        case perInlierLead = "per_inlier_lead"
        case perLikeness = "per_likeness"
        case perDenseMatch = "per_dense_match"
        case perDenseLead = "per_dense_lead"
        case perVerifiedDistance = "per_verified_distance"
        case resemblingBias = "resembling_bias"
        case perResemblingMatch = "per_resembling_match"
        case perResemblingLead = "per_resembling_lead"
        case perResemblingDistance = "per_resembling_distance"
        case perDistance = "per_distance"
        case perUnverifiedDistance = "per_unverified_distance"
        case unverifiedMargin = "unverified_margin"
    }

    /// The log odds of an entity whose local features were compared. Few inliers, which may agree by chance, do not
    /// make it less likely than none: the larger of the log odds with the outline and without it counts.
    ///
    /// - Parameter distance: the minimum over the crops of the query, and the crop that the outline rectifies.
    package func logOdds(_ evidence: MatchEvidence, distance: Double, threshold: Double) -> Double {
        func sum(_ bias: Double, _ weights: [Double], _ evidence: MatchEvidence) -> Double {
            let features = evidence.features(mostInliers: mostInliers, withinThreshold: threshold - distance)
            return zip(weights, features).reduce(bias) { $0 + $1.0 * $1.1 }
        }
        var withoutOutline = evidence
        withoutOutline.inliers = 0
        let resembling = sum(
            resemblingBias, [perResemblingMatch, perResemblingLead, perResemblingDistance], withoutOutline)
        guard evidence.isVerified else { return resembling }
        let weights = [
            perLogInlier, perInlier, perShare, perLogMatch, perInlierLead, perLikeness, perDenseMatch, perDenseLead,
            perVerifiedDistance,
        ]
        let odds = max(sum(verifiedBias, weights, evidence), resembling)
        guard let agreement = evidence.agreement, agreement < MatchEvidence.fullAgreement else { return odds }
        return min(odds, MatchEvidence.perAgreement * (agreement - MatchEvidence.leastAgreement))
    }

    /// The first coefficient that is not in its range, with its value; a value that is not finite is in none.
    private var outOfRange: String? {
        let checks: [(CodingKeys, Double, ClosedRange<Double>)] = [
            (.verifiedBias, verifiedBias, -1_000...1_000), (.perLogInlier, perLogInlier, 0...100),
            (.perInlier, perInlier, 0...100), (.mostInliers, mostInliers, 0...10_000), (.perShare, perShare, 0...1_000),
            (.perLogMatch, perLogMatch, -100...0), (.perInlierLead, perInlierLead, 0...100),
            (.perLikeness, perLikeness, 0...100),
            (.perDenseMatch, perDenseMatch, 0...100), (.perDenseLead, perDenseLead, 0...100),
            (.perVerifiedDistance, perVerifiedDistance, 0...1_000), (.resemblingBias, resemblingBias, -1_000...1_000),
            (.perResemblingMatch, perResemblingMatch, 0...100), (.perResemblingLead, perResemblingLead, 0...100),
            (.perResemblingDistance, perResemblingDistance, 0...1_000),
            (.perDistance, perDistance, 0.001...1_000),
            (.perUnverifiedDistance, perUnverifiedDistance, 0.001...1_000),
            (.unverifiedMargin, unverifiedMargin, -2...2),
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
