import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

struct EvaluateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract: "Measures recall and precision on labeled queries.",
        discussion: """
            QUERIES has one line of JSON per query: {"query": path, "target": id or null}, the path \
            relative to the file; or it is a folder with a file queries.jsonl. A query that shows \
            several entities has "targets": [ids]; it counts as right if the first match is any of \
            them, and “share” is the fraction of its targets among as many first matches. A target that \
            the catalog lacks is reported, counts as not found, and makes the exit status 3. Queries may \
            have a "group", or a "kind", for which all figures are printed too.

            “Candidates” is the recall of the first stage, which the second cannot exceed. \
            “Accepted” is what the default decision does: first matches that are right, and wrong. \
            With --leave-out each query is searched again as if its targets were not in the catalog; \
            a match that is accepted then is a false accept. Micro-average precision ranks the first \
            matches of all queries by confidence: 1 means that one threshold separates all correct \
            matches from all wrong ones. A second table has what other confidences than ½ would accept: \
            “search --min-confidence” takes one. The calibration error is the mean difference between the \
            confidences of first matches and the shares of them that are right, in ten bins.
            """)

    @OptionGroup var catalog: CatalogOption
    @OptionGroup var model: ModelOptions

    @Option(
        help: ArgumentHelp("The queries: JSON lines, or a folder with queries.jsonl.", valueName: "path"),
        completion: .file())
    var queries: FilePath

    @OptionGroup var effort: EffortOption
    @OptionGroup var crops: CropOption

    @Flag(help: "Search each query again without its targets, to measure false accepts.")
    var leaveOut = false

    @Option(
        help: ArgumentHelp(
            """
            Also print the smallest confidence that accepts at most this share of the queries without a target in \
            the catalog, and what it accepts of the others, 0…1.
            """, valueName: "share"))
    var falseAccepts: Double?

    @Option(
        help: ArgumentHelp("Also write the matches of each query to this file, as JSON lines.", valueName: "file"),
        completion: .file(extensions: ["jsonl"]))
    var answers: FilePath?

    @Option(
        help: ArgumentHelp(
            "Also write what the confidences were computed from to this file, as JSON lines for “model calibrate”.",
            valueName: "file"), completion: .file(extensions: ["jsonl"]))
    var observations: FilePath?

    @Option(
        help: ArgumentHelp(
            """
            Also fit the model’s match threshold and confidence to the queries, and write the model with them to this \
            file. Each query is searched with and without its targets, and once more by prints alone. \
            CATALOG/model.safetensors is what the catalog itself uses.
            """, valueName: "file"), completion: .file(extensions: ["safetensors"]))
    var calibrate: FilePath?

    @Flag(help: "Print all figures as one line of JSON.")
    var json = false

    @OptionGroup var jobs: JobsOption
    @OptionGroup var timing: TimingOptions

    func validate() throws {
        if let falseAccepts, !(0...1).contains(falseAccepts) {
            throw ValidationError("--false-accepts is a share of queries, 0…1, not \(falseAccepts)")
        }
    }

    func run() async throws {
        for output in [answers, observations, calibrate] { if let output { try OutputFile.check(output) } }
        let catalog = try model.openCatalog(at: catalog.url, jobs: jobs)
        let timings = timing.makeTimings()
        let file = queriesFile
        let queries = try JSONLine.values(
            LabeledQuery.self, in: file, kind: "a query such as {\"query\": \"a.jpg\", \"target\": \"id\"}")
        let folder = file.deletingLastPathComponent().path
        var report = EvaluationReport()
        var (lines, observed) = ("", "")
        var seen: [MatchObservation] = []
        let leaveOut = leaveOut || calibrate != nil
        var failures = try await reportUnknownTargets(of: queries, file: file, in: catalog)
        for (number, query) in queries {
            let path = query.path.hasPrefix("/") ? query.path : folder + "/" + query.path
            let prefix = "\(file.path):\(number): "
            guard
                let image = QueryImage.readOrReport(
                    path, prefix: prefix, options: catalog.decodingOptions(for: effort.effort), timings: timings,
                    failures: &failures)
            else { continue }
            let result = try await QueryImage.resultOrReport(path, prefix: prefix, failures: &failures) {
                try await catalog.evaluate(
                    image, targets: query.targets, leaveOut: leaveOut,
                    options: SearchOptions(
                        limit: max(10, query.targets.count), effort: effort.effort, crops: crops.crops,
                        recall: effort.recall, timings: timings))
            }
            guard let evaluated = result else { continue }
            report.add(evaluated, group: query.group)
            var fitted = evaluated.observations
            if observations != nil {
                for observation in query.named(fitted, path: path) { observed += try JSONLine.text(observation) + "\n" }
            }
            if calibrate != nil {
                if effort.effort != .prints, catalog.hasLocalFeatures {
                    fitted += try await catalog.evaluate(
                        image, targets: query.targets, leaveOut: true,
                        options: SearchOptions(
                            limit: max(10, query.targets.count), effort: .prints, crops: crops.crops,
                            recall: effort.recall)
                    ).observations
                }
                seen += query.named(fitted, path: path)
            }
            if answers != nil {
                lines += try SearchAnswer(query: query.path, image: image, matches: evaluated.matches).line + "\n"
            }
        }
        if json {
            Swift.print(try JSONLine.text(EvaluationAnswer(report, falseAccepts: falseAccepts)))
        } else {
            report.print(falseAccepts: falseAccepts)
        }
        if let answers { try OutputFile.write(Data(lines.utf8), to: answers) }
        if let observations { try OutputFile.write(Data(observed.utf8), to: observations) }
        if let calibrate {
            // Standard output has one line of JSON alone.
            try Calibration(seen).write(
                catalog.model, to: calibrate, print: { json ? StandardError.print($0) : Swift.print($0) })
        }
        timings?.printReport()
        if failures > 0 { throw ExitCode.someFailed }
    }

    /// Reports targets that the catalog lacks: they are more often mistakes in the labels than absent entities.
    ///
    /// - Returns: the number of queries with such targets.
    private func reportUnknownTargets(
        of queries: [(line: Int, value: LabeledQuery)], file: URL, in catalog: Catalog
    ) async throws -> Int {
        let known = try await catalog.knownTargets(of: queries.map(\.value))
        var count = 0
        for (line, query) in queries {
            let unknown = query.targets(besides: known)
            guard !unknown.isEmpty else { continue }
            count += 1
            let ids = unknown.map { "“\($0.escaped)”" }.joined(separator: ", ")
            StandardError.print("\(file.path):\(line): the catalog has no entity \(ids)")
        }
        return count
    }

    private var queriesFile: URL {
        let url = queries.url
        var isFolder: ObjCBool = false
        let isThere = FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
        return isThere && isFolder.boolValue ? url.appendingPathComponent("queries.jsonl") : url
    }
}

extension JSONLine {
    /// The values of a file of JSON lines, with their line numbers. Blank lines are passed over.
    ///
    /// - Parameter kind: what a line should be, for errors.
    /// - Throws: `ValidationError` that names the file or the line.
    static func values<Value: Decodable>(_: Value.Type, in file: URL, kind: String) throws -> [(
        line: Int, value: Value
    )] {
        let data: Data
        do {
            data = try Data(contentsOf: file)
        } catch {
            throw ValidationError("\(file.path) cannot be read: \((error as NSError).localizedDescription)")
        }
        var values: [(Int, Value)] = []
        // Bytes are split: a string in JSON may have characters that Swift takes for the end of a line.
        for (index, line) in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where !line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) {
            guard let value = try? JSONDecoder().decode(Value.self, from: Data(line)) else {
                throw ValidationError("\(file.path):\(index + 1): not \(kind)")
            }
            values.append((index + 1, value))
        }
        return values
    }
}

/// A share with three digits; a dash for none.
func share(_ value: Double?) -> String { value.map { String(format: "%.3f", $0) } ?? "–" }

/// The figures of an evaluation as a table, one row per group.
extension EvaluationReport {
    func print(falseAccepts: Double?) {
        row(["", "queries", "recall@1", "recall@10", "share", "candidates@20", "accepted", "wrong"])
        for (group, evaluation) in groups.sorted(by: { $0.key < $1.key }) { row(figures(group.escaped, evaluation)) }
        row(figures("all", all))
        Swift.print()
        row(["confidence", "accepted", "wrong", "absent"])
        for decision in decisions + (falseAccepts.flatMap(recommended).map { [$0] } ?? []) {
            row(
                [String(format: "%.3f", decision.confidence)]
                    + [decision.accepted, decision.wrong, decision.falseAccepts].map(share))
        }
        Swift.print()
        line("micro-average precision", share(all.microAveragePrecision))
        if let best = all.recall(atPrecision: 0.95) {
            line(
                "recall at 95 % precision", share(best.recall) + String(format: "  at confidence %.3f", best.confidence)
            )
        } else {
            line("recall at 95 % precision", "–")
        }
        if let error = judged.expectedCalibrationError { line("calibration error", String(format: "%.3f", error)) }
        if let rate = judged.falseAcceptRate {
            let count = Int((rate * Double(judged.absentCount)).rounded())
            line(
                "false accept rate",
                share(rate) + "  (\(count) of \(judged.absentCount) queries without a target in the catalog)")
        }
    }

    private func figures(_ name: String, _ evaluation: Evaluation) -> [String] {
        [
            name, "\(evaluation.presentCount)", share(evaluation.recall(at: 1)), share(evaluation.recall(at: 10)),
            share(evaluation.targetShare), share(evaluation.candidateRecall(at: 20)), share(evaluation.acceptedRight),
            share(evaluation.acceptedWrong),
        ]
    }

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
