import ArgumentParser
import Foundation
import Lookalike

struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Takes images into a catalog.",
        discussion: """
            INPUT is a folder, searched recursively: an image's id is its path below the folder \
            without the extension. Or it is a manifest, a .csv file with a line of column names or a \
            .jsonl file with an object a line; it needs “id” and “image” (a path, relative to the \
            manifest) and may have “type”, “title”, “subtitle” and “labels” (in .csv separated by \
            “;”). Anything else is kept as an attribute.

            Run again, it passes over what has not changed and takes in what has. An image that \
            cannot be read is reported and the rest goes on; the exit status is then 3.
            """)

    @Argument(help: "A folder of images, or a .csv or .jsonl manifest.")
    var input: String

    @OptionGroup var catalog: CatalogOption
    @OptionGroup var model: ModelOptions

    @Option(help: ArgumentHelp("The long side of the thumbnails that the catalog keeps; 0 for none.", valueName: "pixels"))
    var thumbnails = CatalogIndexer.defaultThumbnailSide

    @Option(help: "Threads; all cores by default.")
    var jobs: Int?

    @Flag(help: "Drop entities whose image is gone.")
    var prune = false

    @OptionGroup var timing: TimingOptions

    func validate() throws {
        if let jobs, jobs < 1 { throw ValidationError("--jobs needs at least 1.") }
        if !(0...4096).contains(thumbnails) { throw ValidationError("--thumbnails lie between 0 and 4096.") }
    }

    func run() throws {
        let (items, problems) = try ImageSource.items(at: URL(fileURLWithPath: input))
        let indexer = try CatalogIndexer(
            at: catalog.url, model: model.loadIfNamed(), thumbnailSide: thumbnails == 0 ? nil : thumbnails)
        let timings = timing.makeTimings()
        var bar = ProgressBar(total: items.count)
        var report = try indexer.index(items, jobs: jobs, timings: timings) { bar.show($0.processed) }
        bar.finish()
        report.problems = problems + report.problems
        for problem in report.problems { StandardError.print("\(problem)") }
        let gone = prune ? try indexer.prune() : []
        print(
            "\(report.added) added, \(report.updated) updated, \(report.unchanged) unchanged"
                + (prune ? ", \(gone.count) dropped" : "")
                + (report.problems.isEmpty ? "" : ", \(report.problems.count) could not be taken in"))
        timings?.printReport()
        if !report.problems.isEmpty { throw ExitCode.someFailed }
    }
}
