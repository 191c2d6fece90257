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
            matches from all wrong ones.
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
        help: ArgumentHelp("Also write the matches of each query to this file, as JSON lines.", valueName: "file"),
        completion: .file(extensions: ["jsonl"]))
    var answers: FilePath?

    @OptionGroup var jobs: JobsOption
    @OptionGroup var timing: TimingOptions

    func run() async throws {
        if let answers { try OutputFile.check(answers) }
        let catalog = try model.openCatalog(at: catalog.url, jobs: jobs)
        let timings = timing.makeTimings()
        let file = queriesFile
        let queries = try LabeledQuery.read(file)
        let folder = file.deletingLastPathComponent().path
        var report = EvaluationReport()
        var lines = ""
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
                        timings: timings))
            }
            guard let evaluated = result else { continue }
            report.add(evaluated, group: query.group)
            if answers != nil {
                lines += try SearchAnswer(query: query.path, image: image, matches: evaluated.matches).line + "\n"
            }
        }
        report.print()
        if let answers { try OutputFile.write(Data(lines.utf8), to: answers) }
        timings?.printReport()
        if failures > 0 { throw ExitCode.someFailed }
    }

    /// Reports targets that the catalog lacks: they are more often mistakes in the labels than absent entities. Returns
    /// the number of queries with such targets.
    private func reportUnknownTargets(
        of queries: [(line: Int, query: LabeledQuery)], file: URL, in catalog: Catalog
    ) async throws -> Int {
        let targets = Set(queries.flatMap { $0.query.targets.map { Data($0.utf8) } })
        let entities = try await catalog.entities(for: targets.map { String(decoding: $0, as: UTF8.self) })
        // Of bytes: Swift compares equal some strings that are different ids.
        let known = Set(entities.map { Data($0.id.utf8) })
        var count = 0
        for (line, query) in queries {
            let unknown = query.targets.filter { !known.contains(Data($0.utf8)) }.sorted()
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
