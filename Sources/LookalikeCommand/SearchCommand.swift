import ArgumentParser
import Foundation
import Lookalike

struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Finds the entities that images show, nearest first.",
        discussion: """
            Without --max-distance the threshold is set per query by score normalization; generic images \
            get a stricter one. An image without a match is not an error.

            With --json, one line per query:
            {"query":"photo.jpg","results":[{"distance":0.61,"id":"a/b","image":"…","title":"…"}]}
            """)

    @OptionGroup var catalog: CatalogOption
    @OptionGroup var model: ModelOptions

    @Option(help: "Maximum number of matches per image.")
    var limit = 10

    @Option(help: ArgumentHelp("Maximum distance of a match, 0…2.", valueName: "d"))
    var maxDistance: Double?

    @OptionGroup var crops: CropOption

    @Flag(help: "Print one line of JSON per query.")
    var json = false

    @Option(help: ArgumentHelp("Also draw queries and matches into a PNG file.", valueName: "file"))
    var sheet: String?

    @OptionGroup var timing: TimingOptions

    @Argument(help: ArgumentHelp("Image files; “-” reads one from standard input.", valueName: "image"))
    var images: [String]

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit cannot be negative.") }
        if let maxDistance, !(maxDistance >= 0) { throw ValidationError("--max-distance cannot be negative.") }
    }

    func run() async throws {
        let catalog = try Catalog(at: catalog.url, model: model.loadIfNamed())
        let timings = timing.makeTimings()
        var sheetRows: [ContactSheet.Row] = []
        var failures = 0
        for argument in images {
            let options = catalog.model.decodingOptions
            guard let image = QueryImage.readOrReport(argument, options: options, timings: timings, failures: &failures)
            else { continue }
            let matches = try await catalog.search(
                matching: image, limit: limit, maxDistance: maxDistance, crops: crops.crops, timings: timings)
            if json {
                print(try SearchAnswer(query: argument, matches: matches).line)
            } else {
                printMatches(matches, of: argument)
            }
            if sheet != nil { sheetRows.append(ContactSheet.Row(query: image, matches: matches)) }
        }
        if let sheet { try ContactSheet(rows: sheetRows).write(to: URL(fileURLWithPath: sheet)) }
        timings?.printReport()
        if failures > 0 { throw ExitCode.someFailed }
    }

    private func printMatches(_ matches: [CatalogMatch], of query: String) {
        print(query)
        if matches.isEmpty { print("      no match") }
        for (index, match) in matches.enumerated() {
            let words = [match.entity.title, match.entity.subtitle].compactMap { $0 }.joined(separator: " — ")
            print(
                String(format: "%4d  %.3f  ", index + 1, match.distance) + match.entity.id
                    + (words.isEmpty ? "" : "  " + words))
        }
    }
}

/// The matches of a query as JSON.
struct SearchAnswer: Encodable {
    struct Result: Encodable {
        let id: String
        let distance: Double
        let type: String?
        let title: String?
        let subtitle: String?
        let image: String
    }

    let query: String
    let matchThreshold: Double?
    let results: [Result]

    init(query: String, matches: [CatalogMatch], matchThreshold: Double? = nil) {
        self.query = query
        self.matchThreshold = matchThreshold
        results = matches.map {
            Result(
                id: $0.entity.id, distance: $0.distance, type: $0.entity.type, title: $0.entity.title,
                subtitle: $0.entity.subtitle, image: $0.entity.image)
        }
    }

    var line: String {
        get throws {
            try JSONLine.text(self)
        }
    }
}
