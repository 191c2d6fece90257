import Foundation

/// How well answers match what was asked: for each query, the entity that was right (none for a
/// query that shows nothing of the catalog) and the ranked answer.
public struct Evaluation: Sendable {
    public struct Outcome: Sendable {
        public let target: String?
        /// Ids and distances, nearest first.
        public let answer: [(id: String, distance: Double)]
        /// Up to where an answer would be given to this query, if anything says so.
        public let maxDistance: Double?

        public init(target: String?, answer: [(id: String, distance: Double)], maxDistance: Double? = nil) {
            self.target = target
            self.answer = answer
            self.maxDistance = maxDistance
        }

        func isRight(at rank: Int) -> Bool { target != nil && answer.prefix(rank).contains { $0.id == target } }
    }

    public private(set) var outcomes: [Outcome] = []

    public init() {}

    public mutating func add(_ outcome: Outcome) { outcomes.append(outcome) }

    public var presentCount: Int { outcomes.count { $0.target != nil } }
    public var absentCount: Int { outcomes.count - presentCount }

    /// The share of present queries whose target is among the first `rank` answers.
    public func recall(at rank: Int) -> Double? {
        presentCount == 0 ? nil : Double(outcomes.count { $0.isRight(at: rank) }) / Double(presentCount)
    }

    /// The first answers of all queries, absent ones included, nearest first: after each, the share
    /// of present queries found so far and the share of answers that were right.
    private var curve: [(distance: Double, recall: Double, precision: Double, isRight: Bool)] {
        let firsts = outcomes.compactMap { outcome in
            outcome.answer.first.map { (distance: $0.distance, isRight: outcome.isRight(at: 1)) }
        }.sorted { ($0.distance, $0.isRight ? 1 : 0) < ($1.distance, $1.isRight ? 1 : 0) }
        var right = 0
        return firsts.enumerated().map { index, first in
            if first.isRight { right += 1 }
            return (first.distance, Double(right) / Double(max(presentCount, 1)), Double(right) / Double(index + 1), first.isRight)
        }
    }

    /// The area under precision over recall of the first answers of all queries ranked together by
    /// distance: one threshold for all (Perronnin et al., "A family of contextual measures of
    /// similarity", 2009; the measure of the Image Similarity Challenge, Douze et al., 2021).
    public var microAveragePrecision: Double? {
        presentCount == 0 ? nil : curve.filter(\.isRight).reduce(0) { $0 + $1.precision } / Double(presentCount)
    }

    /// The largest recall at which the precision of first answers is at least `precision`, and the
    /// distance where that is.
    public func recall(atPrecision precision: Double) -> (recall: Double, distance: Double)? {
        curve.last { $0.precision >= precision && $0.isRight }.map { ($0.recall, $0.distance) }
    }

    /// With answers farther than `distance` left out, or by default those beyond each query's own limit: the share of
    /// present queries whose first answer is right, and the share of absent queries that get any.
    public func rates(within distance: Double? = nil) -> (found: Double?, falsePositives: Double?) {
        func isAnswered(_ outcome: Outcome) -> Bool {
            outcome.answer.first.map { $0.distance <= distance ?? outcome.maxDistance ?? .infinity } ?? false
        }
        let right = outcomes.count { $0.isRight(at: 1) && isAnswered($0) }
        let wrong = outcomes.count { $0.target == nil && isAnswered($0) }
        return (
            presentCount == 0 ? nil : Double(right) / Double(presentCount),
            absentCount == 0 ? nil : Double(wrong) / Double(absentCount)
        )
    }
}
