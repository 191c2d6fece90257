import CommandProcess
import Foundation
import Lookalike

/// The figures of an evaluation as a table, one row per group.
struct EvaluationReport {
    private var all = Evaluation()
    private var groups: [String: Evaluation] = [:]
    /// Queries without a target, and queries whose targets were left out.
    private var absent = Evaluation()

    mutating func add(_ query: Catalog.EvaluatedQuery, group: String?) {
        all.add(query.outcome)
        if let group { groups[group, default: Evaluation()].add(query.outcome) }
        if query.outcome.targets.isEmpty { absent.add(query.outcome) }
        if let outcome = query.withoutTargets { absent.add(outcome) }
    }

    func print() {
        row(["", "queries", "recall@1", "recall@10", "share", "candidates@20", "accepted", "wrong"])
        for (group, evaluation) in groups.sorted(by: { $0.key < $1.key }) { row(figures(group.escaped, evaluation)) }
        row(figures("all", all))
        Swift.print()
        line("micro-average precision", share(all.microAveragePrecision))
        if let best = all.recall(atPrecision: 0.95) {
            line(
                "recall at 95 % precision", share(best.recall) + String(format: "  at confidence %.3f", best.confidence)
            )
        } else {
            line("recall at 95 % precision", "–")
        }
        if let rate = absent.falseAcceptRate {
            let count = Int((rate * Double(absent.absentCount)).rounded())
            line(
                "false accept rate",
                share(rate) + "  (\(count) of \(absent.absentCount) queries without a target in the catalog)")
        }
    }

    private func figures(_ name: String, _ evaluation: Evaluation) -> [String] {
        [
            name, "\(evaluation.presentCount)", share(evaluation.recall(at: 1)), share(evaluation.recall(at: 10)),
            share(evaluation.targetShare), share(evaluation.candidateRecall(at: 20)), share(evaluation.acceptedRight),
            share(evaluation.acceptedWrong),
        ]
    }

    private func share(_ value: Double?) -> String { value.map { String(format: "%.3f", $0) } ?? "–" }

    private static let widths = [14, 9, 10, 11, 8, 15, 10, 8]

    private func row(_ cells: [String]) {
        let text = zip(cells, Self.widths).enumerated().map { index, cell in
            let padding = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
            return index == 0 ? cell.0 + padding : padding + cell.0
        }
        Swift.print(text.joined())
    }

    private func line(_ name: String, _ value: String) {
        Swift.print(name.padding(toLength: 28, withPad: " ", startingAt: 0) + value)
    }
}
