import ArgumentParser
import Foundation
import Lookalike

struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Finds what images show, nearest first.",
        discussion: """
            Without --max-distance, the distance that the model recommends for the image is the farthest. \
            An image that shows nothing of the catalog gets an empty answer, which is no error.

            With --json, a line a query:
            {"query":"photo.jpg","results":[{"distance":0.61,"id":"a/b","image":"…","title":"…"}]}
            """)

    @OptionGroup var catalog: CatalogOption
    @OptionGroup var model: ModelOptions

    @Option(help: "The most matches for an image.")
    var limit = 10

    @Option(help: ArgumentHelp("The farthest match, 0…2.", valueName: "d"))
    var maxDistance: Double?

    @OptionGroup var region: RegionOption

    @Flag(help: "Print a line of JSON a query.")
    var json = false

    @Option(help: ArgumentHelp("Also draw queries and matches on a PNG.", valueName: "file"))
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
                matching: image, limit: limit, maxDistance: maxDistance, regions: region.regions, timings: timings)
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
            print(String(format: "%4d  %.3f  ", index + 1, match.distance) + match.entity.id + (words.isEmpty ? "" : "  " + words))
        }
    }
}

/// The JSON form of an answer.
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
    /// Up to where the model recommends to believe in a match.
    let recommendedMaxDistance: Double?
    let results: [Result]

    init(query: String, matches: [CatalogMatch], recommendedMaxDistance: Double? = nil) {
        self.query = query
        self.recommendedMaxDistance = recommendedMaxDistance
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
