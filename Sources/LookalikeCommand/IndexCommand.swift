import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Indexes images into a catalog.",
        discussion: """
            INPUT is a folder, which is searched with the folders in it for images, whatever their names. An image’s \
            id is its path below the folder without the extension. Of two images with the same id, such as a.jpg and \
            a.png, the one that was indexed first is kept, and the other is reported. A folder says nothing else of \
            an entity: titles, attributes and further images that it has stay. Hidden files are left out, and so are \
            the bins, snapshots, thumbnails and previews that file servers and photo libraries keep, such as @eaDir \
            and #recycle; a note counts them.

            Or INPUT is a manifest: a .csv file with column names in the first line, or a .jsonl file with one object \
            per line. It needs “id” and “image” (a path, relative to the manifest), and may have “type”, “title”, \
            “subtitle” and “labels” (separated by “;” in .csv). An entity with several images has them in “images”, \
            separated by “|” in .csv, a list in .jsonl. It is found by any of them; the first is its cover. Other \
            columns are kept as attributes. Numbers with decimal commas, or with signs between thousands, are stored \
            without them.

            Or INPUT is “-”: paths of images on standard input, one a line, or each with a zero byte at its end. \
            Their ids are their paths below the current folder without the extension.

            A second run indexes only what has changed. An image that cannot be read is reported, and the exit status \
            is 3 unless --known-bad lists it; all others are indexed, those of the same entity too.
            """)

    @Argument(help: "A folder of images, a .csv or .jsonl manifest, or “-” for a list of paths.", completion: .file())
    var input: FilePath

    @OptionGroup var catalog: CatalogOption
    @OptionGroup var model: ModelOptions

    @Option(
        help: ArgumentHelp(
            """
            Leave files and folders out by a pattern as in .gitignore, such as 'drafts/' or '*-small.jpg'; '!@eaDir/' takes \
            in what is left out by default. Can be repeated; the last pattern that matches decides.
            """, valueName: "pattern"))
    var exclude: [String] = []

    @Flag(help: "Go on, and index again whenever files of INPUT have changed. Ctrl-C ends it.")
    var watch = false

    @Option(
        help: ArgumentHelp(
            "The long side of the thumbnails of images that are new or changed; 0 for none.", valueName: "pixels"))
    var thumbnails = CatalogIndexer.defaultThumbnailSide

    @Option(
        help: ArgumentHelp(
            """
            Refuse images of more than this many megapixels; 268 by default. Above that, decoding an image may take 12 \
            MB per megapixel.
            """, valueName: "megapixels"))
    var maxMegapixels: Double?

    @OptionGroup var jobs: JobsOption

    @Flag(
        help: """
            Read all images again and compare their contents with what was indexed. Otherwise a file is read again \
            only after its size, its times or its inode changed.
            """)
    var checksum = false

    @Flag(
        help: """
            Remove images that no longer exist, if they were in a folder of INPUT’s images or below one, and entities \
            that have no other image. Images stay that may be on a disk that is not mounted: elsewhere, behind a broken \
            link, or in a folder that is empty now.
            """)
    var prune = false

    @Flag(help: "Let --prune remove every image that no longer exists, even if that is all of them.")
    var force = false

    @Flag(
        inversion: .prefixedNo,
        help: """
            Extract local features, which verify matches. Without them indexing is faster, and matches are less \
            certain. By default they are extracted, but not for an imported network: the confidence of verified \
            matches was fitted to the default model.
            """
    )
    var localFeatures: Bool?

    @Option(
        help: ArgumentHelp(
            """
            A list of what cannot be indexed and need not fail a nightly run: a path per line, as messages name it. \
            The exit status is 0 if nothing else fails.
            """, valueName: "file"),
        completion: .file())
    var knownBad: FilePath?

    @Flag(help: "Print one line of JSON with the counts, the removed ids and the problems.")
    var json = false

    @OptionGroup var timing: TimingOptions

    func validate() throws {
        if !(0...4096).contains(thumbnails) { throw ValidationError("--thumbnails must be between 0 and 4096.") }
        if let maxMegapixels, !(maxMegapixels > 0 && maxMegapixels <= 4294) {
            throw ValidationError("--max-megapixels must be above 0, and at most 4294.")
        }
        if exclude.contains(where: { $0.allSatisfy { "!/".contains($0) } }) {
            throw ValidationError("--exclude needs a pattern, such as 'drafts/'.")
        }
        if watch, isList { throw ValidationError("--watch is for a folder or a manifest; a list is read once.") }
        if !exclude.isEmpty, !input.isFolder { throw ValidationError("--exclude is for a folder.") }
    }

    private var isList: Bool { input.text == "-" }

    func run() throws {
        guard watch else { return try update(try entries()) }
        var (indexed, seen): (Int?, Int?) = (nil, nil)
        var problem = ""
        while true {
            do {
                let entries = try entries()
                let state = entries.state()
                // Files that are being written are different at the next look.
                if state != indexed, state == seen || indexed == nil {
                    do { try update(entries) } catch let code as ExitCode where code == .someFailed {}
                    (indexed, problem) = (state, "")
                    fflush(nil)
                }
                seen = state
            } catch {
                // A disk that is away for a while, or another indexer.
                if problem != "\(error)" { StandardError.print("\(error)") }
                problem = "\(error)"
            }
            Thread.sleep(forTimeInterval: 2)
        }
    }

    private func entries() throws -> IndexEntries {
        guard isList else {
            return try ImageSource.entries(at: input.url, excluding: exclude)
        }
        let paths = QueryImages.paths(inList: FileHandle.standardInput.readDataToEndOfFile())
        return ImageSource.entries(ofImagesAt: paths, below: FilePath.currentFolder.folderURL)
    }

    private var keptModel: URL { catalog.url.appendingPathComponent("model.safetensors") }

    /// Whether the catalog’s own model, the default one without a file, is the same to the byte.
    private func keeps(_ model: FeaturePrintModel) throws -> Bool {
        let own = try? Data(contentsOf: keptModel, options: .mappedIfSafe)
        return try (own ?? FeaturePrintModel.default().fileData) == model.fileData
    }

    private func update(_ entries: IndexEntries) throws {
        let known = try knownPaths()
        let count = entries.count()
        if prune, !force, count.items == 0 {
            // This is more often a disk that is not mounted than a catalog without images.
            throw CommandError(
                subject: input.text, reason: "has no images. Is its disk mounted? Use --force to prune all the same.")
        }
        let indexer = try model.openIndexer(
            at: catalog.url, thumbnailSide: thumbnails == 0 ? nil : thumbnails, localFeatures: localFeatures,
            limits: maxMegapixels.map { DecodingOptions(maximumMegapixels: $0) } ?? DecodingOptions(),
            readsUnchangedFiles: checksum)
        if localFeatures == nil, !indexer.extractsLocalFeatures, !indexer.model.usesLocalFeatures {
            StandardError.print(
                "note: no local features, because the model “\(indexer.model.identity.name.escaped)” is imported: "
                    + "matches are by prints alone. --local-features extracts them all the same.")
        }
        if let given = model.model, try !keeps(indexer.model) {
            StandardError.print(
                "note: the catalog keeps the match threshold and the confidence that it has; searches take those of "
                    + "\(given.text.escaped) once it is copied to \(keptModel.path.escaped)")
        }
        let timings = timing.makeTimings()
        let start = ContinuousClock.now
        var bar = ProgressBar()
        let report = try indexer.index(entries, jobs: jobs.jobs, timings: timings) {
            // Entries that are refused before they are read count as processed, too.
            bar.show($0.processed, of: count.items + count.problems)
        }
        bar.finish()
        for note in count.notes { StandardError.print("note: \(note.escaped)") }
        for note in report.notes { StandardError.print("\(note)") }
        let new = report.problems.filter { problem in
            // A problem of a manifest names the row, and then the image. When rows are added, the image keeps its name.
            !known.contains(FilePath(problem.subject)?.absolute ?? "")
                && !problem.reason.ranges(of: ": ").contains {
                    known.contains(String(problem.reason[..<$0.lowerBound]))
                }
        }
        for problem in new { StandardError.print("\(problem)") }
        if new.count < report.problems.count {
            StandardError.print("note: known to be bad, and not indexed: \(report.problems.count - new.count)")
        }
        IndexSummary(report: report, time: ContinuousClock.now - start).print()
        var gone: [String] = []
        if prune, force {
            gone = try indexer.prune(evenIfAll: true)
        } else if prune {
            let (removed, keptCount, unlisted) = try indexer.prune(inFoldersOf: entries)
            gone = removed
            if let first = unlisted.first {
                let others = unlisted.count == 1 ? "" : ", and so are \(unlisted.count - 1) more"
                StandardError.print(
                    "note: “\(first.escaped)” is in the catalog, not in \(input.text.escaped)\(others); --prune removes "
                        + "what has no image, and “lookalike catalog remove” what stays")
            }
            if keptCount > 0 {
                StandardError.print(
                    "note: entities whose missing images may be on a disk that is not mounted stay: \(keptCount); "
                        + "--force removes them, too")
            }
        }
        if json {
            print(try JSONLine.text(IndexAnswer(report, removed: prune ? gone : nil)))
        } else {
            printCounts(report, removedCount: gone.count)
        }
        timings?.printReport()
        if !new.isEmpty { throw ExitCode.someFailed }
    }

    /// The absolute paths that the list of known bad images has.
    private func knownPaths() throws -> Set<String> {
        guard let knownBad else { return [] }
        let text: String
        do {
            text = try String(contentsOfFile: knownBad.absolute, encoding: .utf8)
        } catch {
            throw CommandError(knownBad, cannotBe: "read", error)
        }
        return Set(text.split(whereSeparator: \.isNewline).compactMap { FilePath(String($0))?.absolute })
    }

    private func printCounts(_ report: IndexReport, removedCount: Int) {
        print(
            "\(report.added) added, \(report.updated) updated, \(report.unchanged) unchanged"
                + (prune ? ", \(removedCount) removed" : "")
                + (report.problems.isEmpty ? "" : ", \(report.problems.count) not indexed"))
    }
}

/// What an index run did, for standard error: how many images at what rate, and how many failed for which reason.
private struct IndexSummary {
    let report: IndexReport
    let time: Duration

    func print() { for line in lines { StandardError.print(line) } }

    private var lines: [String] {
        let seconds = time / .seconds(1)
        let rate = Double(report.processed) / max(seconds, 1e-3)
        let images = report.processed == 1 ? "1 image" : "\(report.processed) images"
        let total = images + String(format: " in %.1f s, %.0f per second", seconds, rate)
        guard report.problems.count > 1 else { return [total] }
        let counts = Dictionary(grouping: report.problems) { Self.kind(of: $0.reason) }.mapValues(\.count)
        let kinds = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return [total, "not indexed:"] + kinds.map { String(format: "%8d  ", $0.value) + $0.key }
    }

    /// The reason without quoted text and numbers, which differ from image to image.
    private static func kind(of reason: String) -> String {
        reason.replacing(/“[^”]*”/, with: "“…”").replacing(/[0-9][0-9×]*/, with: "…")
    }
}
