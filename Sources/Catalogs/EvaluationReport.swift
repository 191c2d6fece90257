package import CatalogEntities
package import FeaturePrints
package import VectorSearch

/// A query with the ids of the entities that it shows, and its group.
package struct LabeledQuery: Decodable {
    package let path: String
    /// The ids; empty if the query shows nothing of the catalog.
    package let targets: Set<String>
    /// The group that recall is printed for; by default the query's kind.
    package let group: String?

    private enum Key: String, CodingKey { case query, target, targets, group, kind }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        path = try container.decode(String.self, forKey: .query)
        // Without this check a mistyped key would make a query that shows nothing.
        guard container.contains(.target) || container.contains(.targets) else {
            throw DecodingError.keyNotFound(
                Key.target, .init(codingPath: decoder.codingPath, debugDescription: "no target"))
        }
        let target = try container.decodeIfPresent(ScalarText.self, forKey: .target)
        let targets = try container.decodeIfPresent([ScalarText].self, forKey: .targets)
        self.targets = Set(targets?.map(\.text) ?? target.map { [$0.text] } ?? [])
        group =
            try container.decodeIfPresent(ScalarText.self, forKey: .group)?.text
            ?? container.decodeIfPresent(ScalarText.self, forKey: .kind)?.text
    }

    /// Observations of the query, for cross-validation.
    package func named(_ observations: [MatchObservation], path: String) -> [MatchObservation] {
        observations.map {
            var observation = $0
            observation.query = path
            observation.object = targets.min() ?? path
            observation.kind = group ?? ""
            return observation
        }
    }

    /// A text, or a number as a manifest takes it for one.
    private struct ScalarText: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let value = try JSONValue(from: decoder)
            switch value {
            case .string, .integer, .number: text = value.text
            default:
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "neither a text nor a number"))
            }
        }
    }
}

extension LabeledQuery {
    /// The targets that are not among the known ones. Bytes are compared, since Swift’s strings may be
    /// equal for different ids.
    package func targets(besides known: Set<ExactText>) -> [String] {
        targets.filter { !known.contains(ExactText($0)) }.sorted()
    }
}

extension Catalog {
    /// The targets of queries that the catalog has: others are more often mistakes in the labels than absent entities.
    package func knownTargets(of queries: [LabeledQuery]) async throws -> Set<ExactText> {
        let targets = Set(queries.flatMap { $0.targets.map { ExactText($0) } })
        return Set(try await entities(for: targets.map(\.text)).map { ExactText($0.id) })
    }
}

/// The figures of an evaluation: of all queries, and per group.
package struct EvaluationReport {
    /// What a smallest confidence accepts: shares of the queries with a target, right and wrong, and of those without.
    package struct Decision: Encodable {
        package let confidence: Double
        package let accepted: Double?
        package let wrong: Double?
        package let falseAccepts: Double?
    }

    package private(set) var all = Evaluation()
    package private(set) var groups: [String: Evaluation] = [:]
    /// All queries, with and without their targets; those whose targets were left out have none.
    package private(set) var judged = Evaluation()

    package init() {}

    package mutating func add(_ query: Catalog.EvaluatedQuery, group: String?) {
        all.add(query.outcome)
        judged.add(query.outcome)
        if let outcome = query.withoutTargets { judged.add(outcome) }
        if let group { groups[group, default: Evaluation()].add(query.outcome) }
    }

    /// What some confidences accept.
    package var decisions: [Decision] { [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9].map { decision(at: $0) } }

    /// The smallest confidence with three digits that accepts at most a share of the queries without a target; nil
    /// without such queries.
    package func recommended(falseAccepts share: Double) -> Decision? {
        // Rounded up: a larger confidence accepts no more.
        judged.confidence(atFalseAcceptRate: share).map { decision(at: ($0 * 1_000).rounded(.up) / 1_000) }
    }

    private func decision(at confidence: Double) -> Decision {
        let accepted = all.accepted(atConfidence: confidence)
        return Decision(
            confidence: confidence, accepted: accepted.right, wrong: accepted.wrong,
            falseAccepts: judged.accepted(atConfidence: confidence).falseAccepts)
    }
}

/// The figures of an evaluation as JSON. What there are no queries for is absent.
package struct EvaluationAnswer: Encodable {
    private struct Figures: Encodable {
        let queries: Int
        let recallAt1: Double?
        let recallAt10: Double?
        let targetShare: Double?
        let candidateRecallAt20: Double?
        let accepted: Double?
        let wrong: Double?

        init(_ evaluation: Evaluation) {
            queries = evaluation.presentCount
            (recallAt1, recallAt10) = (evaluation.recall(at: 1), evaluation.recall(at: 10))
            (targetShare, candidateRecallAt20) = (evaluation.targetShare, evaluation.candidateRecall(at: 20))
            (accepted, wrong) = (evaluation.acceptedRight, evaluation.acceptedWrong)
        }
    }

    private let all: Figures
    private let groups: [String: Figures]
    private let microAveragePrecision: Double?
    private let recallAt95Precision: Double?
    private let calibrationError: Double?
    /// The queries without a target in the catalog, and the share of them with an accepted match.
    private let absentQueries: Int
    private let falseAccepts: Double?
    private let decisions: [EvaluationReport.Decision]
    /// Nil if it was not asked for.
    private let recommended: EvaluationReport.Decision?
    /// Queries that were not evaluated; nil for the command, which prints them to standard error.
    private let problems: [IndexProblem]?

    package init(_ report: EvaluationReport, falseAccepts: Double?, problems: [IndexProblem]? = nil) {
        all = Figures(report.all)
        groups = report.groups.mapValues { Figures($0) }
        microAveragePrecision = report.all.microAveragePrecision
        recallAt95Precision = report.all.recall(atPrecision: 0.95)?.recall
        calibrationError = report.judged.expectedCalibrationError
        absentQueries = report.judged.absentCount
        self.falseAccepts = report.judged.falseAcceptRate
        decisions = report.decisions
        recommended = falseAccepts.flatMap { report.recommended(falseAccepts: $0) }
        self.problems = problems
    }
}
