import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

#if Barcodes
import Barcodes
#endif
#if TextRecognition
import TextRecognition
#endif

struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Finds the entities that images show, surest first.",
        discussion: """
            A match has a confidence between 0 and 1. By default those with 0.5 and more are printed; \
            --min-confidence and --max-distance replace that decision. An image without a match is not \
            an error.

            --where, --type and --label choose the entities to search:

              lookalike search --catalog catalog/ --where 'price < 20' photo.jpg

            An image that shows several things is searched for more of them, and a long or large one in \
            tiles. A wall of 40 covers needs --max-objects 40 or --limit 40 to print them all.

            --words finds what they describe, in a catalog whose model reads texts: without an image, or beside \
            one, which the entities are to resemble then. All are ranked; --max-distance cuts the list.

            A mirrored image is found if its print is near, and marked as such.

            --json prints one line per query. The image is the one of the entity that matches. The outline is where \
            the query shows it: four corners in the query's pixels, clockwise from the image's own top left.
            {"query":"photo.jpg","results":[{"confidence":0.98,"distance":0.61,"id":"a/b","image":"…", \
            "inliers":31,"outline":[[12,8],[311,14],[305,322],[9,310]],"title":"…"}]}
            A match that a code or a text names has "named":"code" or "named":"text". \
            A line has "incomplete":true if the time of --within was over before all was compared.
            """)

    @OptionGroup var catalog: CatalogOption
    @OptionGroup var model: ModelOptions

    @Option(help: "Maximum number of matches per image; 10 by default, or --max-objects if that is more.")
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            """
            Maximum number of objects to find in an image, such as the covers on a wall; \
            \(SearchOptions.defaultMaxObjects) by default. Entities with the same picture at one place are one object.
            """, valueName: "n"))
    var maxObjects: Int?

    @OptionGroup var selection: ConditionOptions
    @OptionGroup var bounds: BoundOptions
    @OptionGroup var effort: EffortOption
    @OptionGroup var crops: CropOption

    @Option(
        help: ArgumentHelp(
            """
            The time for an image, such as 100ms or 2s: its matches are the best found so far, and marked as such. A \
            step that has begun is finished.
            """, valueName: "time"),
        transform: { text in
            guard let time = Duration(searchTime: text) else {
                throw ValidationError("“\(text)” is not a time such as 100ms or 2s.")
            }
            return time
        })
    var within: Duration?

    @Option(
        name: .customLong("code"), parsing: .singleValue,
        help: ArgumentHelp(
            """
            A barcode’s text: entities that have it in an attribute named after GTIN, EAN, UPC, ISBN or barcode, in \
            whatever form, are matches.
            """, valueName: "text"))
    var codes: [String] = []

    @Option(
        name: .customLong("text"), parsing: .singleValue,
        help: ArgumentHelp(
            "A line of text in the image: entities whose title has its words are matches, or surer ones.",
            valueName: "line"))
    var texts: [String] = []

    @Option(
        help: ArgumentHelp(
            "What the entities are to show, such as “red lamp”; the model of the catalog has to read texts.",
            valueName: "text"))
    var words: String?

    @Option(help: ArgumentHelp("The weight of the words beside an image, 0…1; 0.5 by default.", valueName: "w"))
    var wordsWeight: Double?

    #if Barcodes
    @Flag(help: "Read the barcodes of the images.")
    var barcodes = false
    #endif

    #if TextRecognition
    @Flag(help: "Read the text of the images.")
    var readText = false

    @Option(
        help: ArgumentHelp(
            "The languages of the text, names of Tesseract’s data with plus signs between.", valueName: "names"))
    var textLanguages = "eng"
    #endif

    @Option(
        help: ArgumentHelp(
            "Also print so many entities that resemble the image most, below the matches.", valueName: "n"))
    var similar = 0

    @Flag(help: "Fold matches with the same picture into the surest of them.")
    var groupDuplicates = false

    @Flag(help: "Print one line of JSON per query.")
    var json = false

    @Option(
        help: ArgumentHelp("Also write queries and matches as an HTML page with pictures.", valueName: "file"),
        completion: .file(extensions: ["html"]))
    var sheet: FilePath?

    @OptionGroup var jobs: JobsOption
    @OptionGroup var timing: TimingOptions

    @OptionGroup var images: QueryImages

    func validate() throws {
        guard words != nil || !images.isEmpty else { throw ValidationError("Missing an image, or --words.") }
        try validateWords()
        if let limit, limit < 0 { throw ValidationError("--limit cannot be negative.") }
        if let maxObjects, maxObjects < 1 { throw ValidationError("--max-objects must be at least 1.") }
        if similar < 0 { throw ValidationError("--similar cannot be negative.") }
        if let sheet { try SheetPage.check(sheet) }
    }

    func run() async throws {
        if let sheet { try OutputFile.check(sheet) }
        let catalog = try model.openCatalog(at: catalog.url, jobs: jobs)
        try await selection.noteUnknownTypes(in: catalog)
        if words == nil, catalog.model.matchThreshold == nil, bounds.bounds.minConfidence > 0 {
            StandardError.print(
                "note: the catalog’s model has no match threshold, so prints alone have no confidence; set one with "
                    + "“lookalike evaluate --calibrate”, or search with --max-distance")
        }
        if let words { return try await search(describedBy: words, in: catalog) }
        let timings = timing.makeTimings()
        var searchOptions = SearchOptions(
            limit: limit ?? max(10, maxObjects ?? 0), bounds: bounds.bounds, condition: selection.condition,
            effort: effort.effort, crops: crops.crops, maxObjects: maxObjects ?? SearchOptions.defaultMaxObjects,
            recall: effort.recall, codes: codes, texts: texts, timings: timings)
        #if TextRecognition
        let textReader =
            readText ? try TextReader(languages: textLanguages.split(separator: "+").map(String.init)) : nil
        #endif
        var page = ContactSheet()
        var failures = 0
        for argument in try images.paths() {
            var options = catalog.decodingOptions(for: effort.effort)
            #if Barcodes
            // Narrow lines do not outlast a reduction.
            if barcodes { (options.neededSize, options.largeImages) = (nil, nil) }
            #endif
            #if TextRecognition
            if readText { (options.neededSize, options.largeImages) = (nil, nil) }
            #endif
            searchOptions.budget = within.map { TimeBudget($0) }
            guard let image = QueryImage.readOrReport(argument, options: options, timings: timings, failures: &failures)
            else { continue }
            #if Barcodes
            if barcodes { searchOptions.codes = codes + BarcodeReader().barcodes(in: image).map(\.text) }
            #endif
            #if TextRecognition
            if let textReader { searchOptions.texts = texts + (try textReader.lines(in: image)).map(\.text) }
            #endif
            let found = try await QueryImage.resultOrReport(argument, failures: &failures) {
                let query = try await catalog.query(for: image, options: searchOptions)
                let found = try await catalog.matches(of: query, options: searchOptions, areFolded: groupDuplicates)
                var options = searchOptions
                options.limit = similar
                let resembling =
                    similar > 0 ? try await catalog.similar(to: query, besides: found.all, options: options) : nil
                return (found.shown, found.duplicates, resembling, query.isComplete)
            }
            guard let (matches, duplicates, resembling, isComplete) = found else { continue }
            if json {
                print(
                    try SearchAnswer(
                        query: argument, image: image, matches: matches, isComplete: isComplete,
                        duplicates: duplicates, similar: resembling
                    ).line)
            } else {
                print(argument.escaped)
                if matches.isEmpty { print("      no match") }
                if !isComplete { print("      cut short: the time was over before all was compared") }
                printMatches(matches, duplicates: duplicates ?? [:])
                if let resembling, !resembling.isEmpty {
                    print("   similar:")
                    printMatches(resembling, areSimilar: true)
                }
            }
            if sheet != nil {
                let name = argument == "-" ? "standard input" : URL(fileURLWithPath: argument).lastPathComponent
                try await page.add(image, named: name, matches: matches, in: catalog)
            }
        }
        if let sheet { try OutputFile.write(page.data(searched: selection.condition), to: sheet) }
        timings?.printReport()
        if failures > 0 { throw ExitCode.someFailed }
    }

    /// - Parameters:
    ///   - duplicates: the matches that are folded into each match, by its row.
    ///   - areSimilar: whether the entities merely resemble the query, or have no confidence; it is not shown.
    func printMatches(
        _ matches: [CatalogMatch], duplicates: [Int64: [String]] = [:], areSimilar: Bool = false
    ) {
        for (index, match) in matches.enumerated() {
            let words = [match.entity.title, match.entity.subtitle].compactMap { $0 }.joined(separator: " — ")
            let confidence = areSimilar ? "     " : String(format: "%3.0f %%", 100 * match.confidence)
            let figures = String(format: "%4d  ", index + 1) + confidence + String(format: "  %.3f  ", match.distance)
            print(
                figures + match.entity.id.escaped + (words.isEmpty ? "" : "  " + words.escaped)
                    + (match.imageName.map { "  [\($0.escaped)]" } ?? "") + (match.isMirrored ? "  (mirrored)" : "")
                    + (match.isNamedByCode ? "  (code)" : "") + (match.isNamedByText ? "  (text)" : ""))
            let others = duplicates[match.key] ?? []
            if !others.isEmpty {
                let ids = others.map(\.escaped).joined(separator: ", ")
                print("      and \(others.count) more with the same picture: \(ids)")
            }
        }
    }
}

extension CatalogMatch {
    /// The name of the image that matches, without its folder; nil for an entity with one image.
    var imageName: String? {
        entity.images.count > 1 ? image.split(separator: "/").last.map(String.init) ?? "image \(imageIndex + 1)" : nil
    }
}
