import Foundation

/// Retrieval metrics over labeled queries: recall@k, micro-average precision, and what the default decision accepts.
public struct Evaluation: Sendable {
    /// The ranking of one labeled query.
    public struct Outcome: Sendable {
        /// The ids of the correct entities; empty for an absent query, which shows nothing of the catalog.
        public let targets: Set<String>
        /// Ids and confidences, surest first, whether accepted or not.
        public let ranking: [(id: String, confidence: Double)]
        /// How many matches of the ranking were accepted.
        public let acceptedCount: Int
        /// The ids of the first stage's candidates, most likely first.
        public let candidates: [String]

        /// The outcome of a query whose correct entities are `targets`.
        public init(
            targets: Set<String>, ranking: [(id: String, confidence: Double)], acceptedCount: Int = 0,
            candidates: [String] = []
        ) {
            self.targets = targets
            self.ranking = ranking
            self.acceptedCount = acceptedCount
            self.candidates = candidates
        }

        func isRight(at rank: Int) -> Bool { ranking.prefix(rank).contains { targets.contains($0.id) } }

        /// The share of the targets among as many first matches.
        fileprivate var targetShare: Double {
            Double(ranking.prefix(targets.count).count { targets.contains($0.id) }) / Double(targets.count)
        }
    }

    /// The outcomes in the order in which they were added.
    public private(set) var outcomes: [Outcome] = []

    /// An evaluation without queries.
    public init() {}

    /// Adds the outcome of a query.
    public mutating func add(_ outcome: Outcome) { outcomes.append(outcome) }

    private var present: [Outcome] { outcomes.filter { !$0.targets.isEmpty } }
    private var absent: [Outcome] { outcomes.filter { $0.targets.isEmpty } }

    /// The number of queries with a target in the catalog.
    public var presentCount: Int { present.count }
    /// The number of queries without a target in the catalog.
    public var absentCount: Int { absent.count }

    private static func share(_ outcomes: [Outcome], where condition: (Outcome) -> Bool) -> Double? {
        outcomes.isEmpty ? nil : Double(outcomes.count(where: condition)) / Double(outcomes.count)
    }

    /// recall@rank: the share of present queries with a target among the first `rank` matches; nil without any.
    public func recall(at rank: Int) -> Double? { Self.share(present) { $0.isRight(at: rank) } }

    /// The recall@rank of the first stage: the ceiling of the second. Nil without a present query, and if no query has
    /// candidates, as in a search by prints alone.
    public func candidateRecall(at rank: Int) -> Double? {
        guard present.contains(where: { !$0.candidates.isEmpty }) else { return nil }
        return Self.share(present) { outcome in
            outcome.candidates.prefix(rank).contains { outcome.targets.contains($0) }
        }
    }

    /// The mean, over present queries, of the share of their targets among as many first matches.
    public var targetShare: Double? {
        let present = present
        return present.isEmpty ? nil : present.reduce(0) { $0 + $1.targetShare } / Double(present.count)
    }

    /// The share of present queries whose first match is right and accepted.
    public var acceptedRight: Double? { Self.share(present) { $0.acceptedCount > 0 && $0.isRight(at: 1) } }

    /// The share of present queries whose first match is wrong and accepted.
    public var acceptedWrong: Double? { Self.share(present) { $0.acceptedCount > 0 && !$0.isRight(at: 1) } }

    /// The share of absent queries with an accepted match.
    public var falseAcceptRate: Double? { Self.share(absent) { $0.acceptedCount > 0 } }

    /// What another smallest confidence accepts of first matches: shares of present queries, right and wrong, and of
    /// absent ones; nil without such queries.
    public func accepted(
        atConfidence least: Double
    ) -> (right: Double?, wrong: Double?, falseAccepts: Double?) {
        func isAccepted(_ outcome: Outcome) -> Bool { outcome.ranking.first.map { $0.confidence >= least } ?? false }
        return (
            Self.share(present) { isAccepted($0) && $0.isRight(at: 1) },
            Self.share(present) { isAccepted($0) && !$0.isRight(at: 1) }, Self.share(absent, where: isAccepted)
        )
    }

    /// The smallest confidence that accepts no larger share of absent queries; nil without such queries.
    public func confidence(atFalseAcceptRate rate: Double) -> Double? {
        let firsts = absent.map { $0.ranking.first?.confidence ?? 0 }.sorted(by: >)
        guard !firsts.isEmpty else { return nil }
        let allowed = Int(rate * Double(firsts.count))
        return allowed < firsts.count ? firsts[allowed].nextUp : 0
    }

    /// The first matches of all queries, including absent ones, surest first, with the recall and the precision up to
    /// each.
    private var curve: [(confidence: Double, recall: Double, precision: Double, isRight: Bool)] {
        let firsts = outcomes.compactMap { outcome in
            outcome.ranking.first.map { (confidence: $0.confidence, isRight: outcome.isRight(at: 1)) }
        }.sorted { ($1.confidence, $0.isRight ? 1 : 0) < ($0.confidence, $1.isRight ? 1 : 0) }
        let presentCount = presentCount
        var right = 0
        return firsts.enumerated().map { index, first in
            if first.isRight { right += 1 }
            return (
                first.confidence, Double(right) / Double(max(presentCount, 1)), Double(right) / Double(index + 1),
                first.isRight
            )
        }
    }

    /// Micro-average precision: the area under the precision-recall curve of the first matches of all queries, ranked
    /// together by confidence, with one threshold for all (Perronnin et al., "A family of contextual measures of
    /// similarity", 2009; the measure of the Image Similarity Challenge, Douze et al., 2021).
    public var microAveragePrecision: Double? {
        presentCount == 0 ? nil : curve.filter(\.isRight).reduce(0) { $0 + $1.precision } / Double(presentCount)
    }

    /// The expected calibration error: the difference between the mean confidence of first matches and the share of
    /// them that is right, in ten bins of confidence, weighted by the number in each. Nil without a match.
    ///
    /// Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning", AAAI 2015.
    public var expectedCalibrationError: Double? {
        let firsts = curve
        guard !firsts.isEmpty else { return nil }
        let bins = Dictionary(grouping: firsts) { min(Int($0.confidence * 10), 9) }
        return bins.values.reduce(0) { sum, bin in
            let (confidence, right) = (bin.reduce(0) { $0 + $1.confidence }, Double(bin.count(where: \.isRight)))
            return sum + abs(confidence - right) / Double(firsts.count)
        }
    }

    /// The largest recall at which the precision of first matches is at least `precision`, with the confidence there.
    public func recall(atPrecision precision: Double) -> (recall: Double, confidence: Double)? {
        curve.last { $0.precision >= precision && $0.isRight }.map { ($0.recall, $0.confidence) }
    }
}
