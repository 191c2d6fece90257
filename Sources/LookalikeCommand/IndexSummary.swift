import CommandProcess
import Foundation
import Lookalike

/// What an index run did, for standard error: how many images at what rate, and how many failed for which reason.
struct IndexSummary {
    private let report: IndexReport
    private let time: Duration

    init(_ report: IndexReport, time: Duration) {
        self.report = report
        self.time = time
    }

    func print() { for line in lines { StandardError.print(line) } }

    var lines: [String] {
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
        let rate = Double(report.processed) / max(seconds, 1e-3)
        let images = report.processed == 1 ? "1 image" : "\(report.processed) images"
        let total = images + String(format: " in %.1f s, %.0f per second", seconds, rate)
        guard report.problems.count > 1 else { return [total] }
        let counts = Dictionary(grouping: report.problems) { Self.kind(of: $0.reason) }.mapValues(\.count)
        let kinds = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return [total, "not indexed:"] + kinds.map { String(format: "%8d  ", $0.value) + $0.key }
    }

    /// A reason without what differs from image to image: quoted text, and numbers.
    private static func kind(of reason: String) -> String {
        reason.replacing(/“[^”]*”/, with: "“…”").replacing(/[0-9][0-9×]*/, with: "…")
    }
}
