import Foundation

/// Retrieval metrics over labeled queries: recall@k, micro-average precision, and the false accept rate at a threshold.
public struct Evaluation: Sendable {
    public struct Outcome: Sendable {
        /// The id of the correct entity; nil for an absent query, which shows nothing of the catalog.
        public let target: String?
        /// Ids and distances, nearest first.
        public let ranking: [(id: String, distance: Double)]
        /// The match threshold for this query; nil if there is none.
        public let matchThreshold: Double?

        public init(target: String?, ranking: [(id: String, distance: Double)], matchThreshold: Double? = nil) {
            self.target = target
            self.ranking = ranking
            self.matchThreshold = matchThreshold
        }

        func isRight(at rank: Int) -> Bool { target != nil && ranking.prefix(rank).contains { $0.id == target } }
    }

    public private(set) var outcomes: [Outcome] = []

    public init() {}

    public mutating func add(_ outcome: Outcome) { outcomes.append(outcome) }

    public var presentCount: Int { outcomes.count { $0.target != nil } }
    public var absentCount: Int { outcomes.count - presentCount }

    /// recall@rank: the share of present queries whose target is among the first `rank` matches; nil without any.
    public func recall(at rank: Int) -> Double? {
        presentCount == 0 ? nil : Double(outcomes.count { $0.isRight(at: rank) }) / Double(presentCount)
    }

    /// The first matches of all queries, including absent ones, nearest first, with the recall and the precision up to
    /// each.
    private var curve: [(distance: Double, recall: Double, precision: Double, isRight: Bool)] {
        let firsts = outcomes.compactMap { outcome in
            outcome.ranking.first.map { (distance: $0.distance, isRight: outcome.isRight(at: 1)) }
        }.sorted { ($0.distance, $0.isRight ? 1 : 0) < ($1.distance, $1.isRight ? 1 : 0) }
        var right = 0
        return firsts.enumerated().map { index, first in
            if first.isRight { right += 1 }
            return (
                first.distance, Double(right) / Double(max(presentCount, 1)), Double(right) / Double(index + 1),
                first.isRight
            )
        }
    }

    /// Micro-average precision: the area under the precision-recall curve of the first matches of all queries, ranked
    /// together by distance, with one threshold for all (Perronnin et al., "A family of contextual measures of
    /// similarity", 2009; the measure of the Image Similarity Challenge, Douze et al., 2021).
    public var microAveragePrecision: Double? {
        presentCount == 0 ? nil : curve.filter(\.isRight).reduce(0) { $0 + $1.precision } / Double(presentCount)
    }

    /// The largest recall at which the precision of first matches is at least `precision`, with the distance there.
    public func recall(atPrecision precision: Double) -> (recall: Double, distance: Double)? {
        curve.last { $0.precision >= precision && $0.isRight }.map { ($0.recall, $0.distance) }
    }

    /// Recall and false accept rate if matches beyond a threshold are rejected.
    ///
    /// - Parameter threshold: one distance for all queries; the match threshold of each query by default.
    /// - Returns: the share of present queries whose first match is correct and accepted, and the share of absent
    ///   queries with an accepted match; nil without such queries.
    public func rates(atThreshold threshold: Double? = nil) -> (recall: Double?, falseAcceptRate: Double?) {
        func isAccepted(_ outcome: Outcome) -> Bool {
            outcome.ranking.first.map { $0.distance <= threshold ?? outcome.matchThreshold ?? .infinity } ?? false
        }
        let right = outcomes.count { $0.isRight(at: 1) && isAccepted($0) }
        let wrong = outcomes.count { $0.target == nil && isAccepted($0) }
        return (
            presentCount == 0 ? nil : Double(right) / Double(presentCount),
            absentCount == 0 ? nil : Double(wrong) / Double(absentCount)
        )
    }
}
