import ArgumentParser
import Foundation
import Lookalike

struct EvaluateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract: "Measures recall and precision on labeled queries.",
        discussion: """
            FILE has one line of JSON per query: {"query": path, "target": id or null}. The path is \
            relative to FILE. If queries have a “kind”, recall is printed for each kind too.

            Micro-average precision ranks the first matches of all queries by distance, including \
            queries without a target: 1 means that one threshold separates all correct matches from \
            all wrong ones.
            """)

    @OptionGroup var catalog: CatalogOption
    @OptionGroup var model: ModelOptions

    @Option(help: ArgumentHelp("The queries, as JSON lines.", valueName: "file"))
    var queries: String

    @OptionGroup var crops: CropOption

    @Option(help: ArgumentHelp("Also write the matches of each query to this file, as JSON lines.", valueName: "file"))
    var answers: String?

    @OptionGroup var timing: TimingOptions

    private struct Query: Decodable {
        let query: String
        let target: String?
        let kind: String?
    }

    func run() async throws {
        let catalog = try Catalog(at: catalog.url, model: model.loadIfNamed())
        let embedder = QueryEmbedder(catalog.model, crops: crops.crops)
        let timings = timing.makeTimings()
        let file = URL(fileURLWithPath: queries)
        var all = Evaluation()
        var byKind: [String: Evaluation] = [:]
        var lines = ""
        var failures = 0
        for (number, query) in try readQueries(file) {
            let path = URL(fileURLWithPath: query.query, relativeTo: file.deletingLastPathComponent()).path
            guard
                let image = QueryImage.readOrReport(
                    path, prefix: "\(queries):\(number): ", options: catalog.model.decodingOptions, timings: timings,
                    failures: &failures)
            else { continue }
            let embedded = try embedder.embed(image, timings: timings)
            let matches = try await catalog.search(
                matchingAnyOf: embedded.prints, limit: 10, maxDistance: .infinity, timings: timings)
            let threshold = embedded.matchThreshold
            let outcome = Evaluation.Outcome(
                target: query.target, ranking: matches.map { ($0.entity.id, $0.distance) }, matchThreshold: threshold)
            all.add(outcome)
            if let kind = query.kind { byKind[kind, default: Evaluation()].add(outcome) }
            if answers != nil {
                lines += try SearchAnswer(query: query.query, matches: matches, matchThreshold: threshold).line + "\n"
            }
        }
        if let answers { try Data(lines.utf8).write(to: URL(fileURLWithPath: answers), options: .atomic) }
        report(all, byKind: byKind)
        timings?.printReport()
        if failures > 0 { throw ExitCode.someFailed }
    }

    private func readQueries(_ file: URL) throws -> [(Int, Query)] {
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        var queries: [(Int, Query)] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        where !line.allSatisfy(\.isWhitespace) {
            guard let query = try? JSONDecoder().decode(Query.self, from: Data(line.utf8)) else {
                throw ValidationError(
                    "\(file.path):\(index + 1): not a query such as {\"query\": \"a.jpg\", \"target\": \"id\"}")
            }
            queries.append((index + 1, query))
        }
        return queries
    }

    private func report(_ all: Evaluation, byKind: [String: Evaluation]) {
        func row(_ name: String, _ value: String) {
            print(name.padding(toLength: 34, withPad: " ", startingAt: 0) + value)
        }
        func share(_ value: Double?) -> String { value.map { String(format: "%.4f", $0) } ?? "–" }
        row("queries", "\(all.outcomes.count), \(all.absentCount) of them without a target")
        row("recall@1", share(all.recall(at: 1)))
        for (kind, evaluation) in byKind.sorted(by: { $0.key < $1.key }) {
            row("  \(kind)", share(evaluation.recall(at: 1)) + "  (\(evaluation.presentCount))")
        }
        row("recall@10", share(all.recall(at: 10)))
        row("micro-average precision", share(all.microAveragePrecision))
        if let best = all.recall(atPrecision: 0.95) {
            row("recall at 95 % precision", share(best.recall) + String(format: "  at distance %.4f", best.distance))
        } else {
            row("recall at 95 % precision", "–")
        }
        let limits = all.outcomes.compactMap(\.matchThreshold)
        if let least = limits.min(), let most = limits.max() {
            let rates = all.rates()
            let range = String(format: least == most ? "%.2f" : "%.2f–%.2f", least, most)
            row(
                "at the match threshold \(range)",
                "recall \(share(rates.recall)), false accept rate \(share(rates.falseAcceptRate))")
        }
    }
}
