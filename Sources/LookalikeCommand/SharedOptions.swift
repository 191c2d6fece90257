public import ArgumentParser
public import CommandProcess
import DefaultModel
import Foundation
import Lookalike

struct TimingOptions: ParsableArguments {
    @Flag(help: "Print the time of each stage to standard error.")
    var timings = false

    /// The timings to fill; nil without the flag.
    func makeTimings() -> StageTimings? { timings ? StageTimings() : nil }

    /// Runs a command without stages and prints its total time.
    func measuringAll<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let start = ContinuousClock.now
        defer { if timings { StandardError.print(StageTimings.line("total", ContinuousClock.now - start)) } }
        return try await body()
    }

    /// Runs a command without stages and prints its total time.
    func measuringAll<Result>(_ body: () throws -> Result) rethrows -> Result {
        let start = ContinuousClock.now
        defer { if timings { StandardError.print(StageTimings.line("total", ContinuousClock.now - start)) } }
        return try body()
    }
}

extension StageTimings {
    func printReport() {
        for (stage, time, count) in stages {
            let each =
                count > 1
                ? String(format: "  (%d images, %.3f ms each)", count, time / .milliseconds(1) / Double(count)) : ""
            StandardError.print(Self.line(stage.rawValue, time) + each)
        }
    }

    static func line(_ name: String, _ time: Duration) -> String {
        name.padding(toLength: 10, withPad: " ", startingAt: 0) + String(format: " %10.3f ms", time / .milliseconds(1))
    }
}

struct PrecisionOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The number format of the network: “float32”, “int8”, or “auto” for the fastest that the CPU supports.",
            valueName: "format"))
    var precision = Format.auto

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case auto, float32, int8
    }

    /// The precision; nil for the fastest.
    var choice: FeaturePrintModel.Precision? { FeaturePrintModel.Precision(rawValue: precision.rawValue) }

    /// The model in a file, or the default model for nil.
    func loadModel(_ file: FilePath?) throws -> FeaturePrintModel {
        guard let file else { return try .default(precision: choice) }
        return try FeaturePrintModel(contentsOf: file.url, precision: choice)
    }
}

struct ModelOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("A model file; the default model without it.", valueName: "file"),
        completion: .file(extensions: ["safetensors"]))
    var model: FilePath?

    @OptionGroup var precision: PrecisionOption

    func load() throws -> FeaturePrintModel { try precision.loadModel(model) }

    /// The model; nil if no file is named, since a catalog then uses its own.
    func loadIfNamed() throws -> FeaturePrintModel? { try model == nil ? nil : load() }

    func openCatalog(at url: URL, jobs: JobsOption? = nil) throws -> Catalog {
        try Catalog(at: url, model: loadIfNamed(), precision: precision.choice, executor: jobs?.executor)
    }

    func openIndexer(
        at url: URL, thumbnailSide: Int? = CatalogIndexer.defaultThumbnailSide, localFeatures: Bool? = nil,
        limits: DecodingOptions = DecodingOptions(), readsUnchangedFiles: Bool = false
    ) throws -> CatalogIndexer {
        try CatalogIndexer(
            at: url, model: loadIfNamed(), precision: precision.choice, thumbnailSide: thumbnailSide,
            localFeatures: localFeatures, limits: limits, readsUnchangedFiles: readsUnchangedFiles)
    }
}

struct JobsOption: ParsableArguments {
    @Option(help: "Number of threads; all cores by default.")
    var jobs: Int?

    /// The executor; nil without the option, for the shared one with a thread per core.
    var executor: ComputeExecutor? { jobs.map { ComputeExecutor(threads: $0) } }

    func validate() throws {
        if let jobs, !(1...mostThreads).contains(jobs) {
            throw ValidationError("--jobs must be between 1 and \(mostThreads).")
        }
        if let jobs { CommandProcess.checkAddressSpace(threads: jobs) }
    }
}

struct CatalogOption: ParsableArguments {
    @Option(
        name: .customLong("catalog"), help: ArgumentHelp("The catalog's folder.", valueName: "dir"),
        completion: .directory)
    var folder: FilePath

    var url: URL { folder.folderURL }
}

struct EffortOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            How much work to do: “prints” compares prints alone; “standard” verifies candidates by local features.
            """,
            valueName: "effort"))
    var effort = SearchEffort.standard

    @Option(
        help: ArgumentHelp(
            "The share of the nearest prints to find in a catalog with an inverted file (“catalog index”); 1 for all.",
            valueName: "share"))
    var recall = SearchOptions.defaultRecall

    func validate() throws {
        guard recall > 0, recall <= 1 else { throw ValidationError("--recall must be above 0 and at most 1.") }
    }
}

struct BoundOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Minimum confidence of a match, 0…1.", valueName: "p"))
    var minConfidence: Double?

    @Option(help: ArgumentHelp("Maximum distance of a match, 0…2.", valueName: "d"))
    var maxDistance: Double?

    var bounds: MatchBounds {
        minConfidence == nil && maxDistance == nil
            ? .accepted
            : MatchBounds(
                minConfidence: minConfidence ?? 0, maxDistance: maxDistance.map { .atMost($0) } ?? .unlimited)
    }

    func validate() throws {
        if let minConfidence, !(0...1).contains(minConfidence) {
            throw ValidationError("--min-confidence must be between 0 and 1.")
        }
        if let maxDistance, !(maxDistance >= 0) { throw ValidationError("--max-distance cannot be negative.") }
    }
}

extension SearchEffort: ExpressibleByArgument {}
extension PrintIndexKind: ExpressibleByArgument {}

struct CropOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The crops of a query to embed, one forward pass each: “whole”; “center” (also the center 72 %); \
            “localized” (also two rectified crops of the detected object); “centers” (also the center 86, 72 and \
            52 %); or a list of center fractions and localized crops, such as 1,0.8,localized. The default is \
            “whole”, and where that finds little 1,0.72,localized with the standard effort, “localized” with “prints”.
            """,
            valueName: "crops"),
        completion: .list(["whole", "center", "localized", "centers"]), transform: Self.parse)
    var crops: QueryCrops?

    private static func parse(_ text: String) throws -> QueryCrops {
        switch text {
        case "whole": return .whole
        case "localized": return .localized
        case "center": return .center
        case "centers": return .centers
        default:
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
            let fractions = parts.filter { $0 != "localized" }.map { Double($0) }
            guard !fractions.isEmpty, fractions.allSatisfy({ $0.map { $0 > 0 && $0 <= 1 } ?? false }) else {
                throw ValidationError(
                    "“\(text)” is not whole, center, centers, localized or a list of fractions between 0 and 1.")
            }
            return QueryCrops(
                centerFractions: fractions.compactMap(\.self), localizedCrops: parts.count - fractions.count)
        }
    }
}

extension CompletionKind {
    /// Image files, for shell completions.
    static var images: CompletionKind { .file(extensions: ImageFormat.allFileExtensions.sorted()) }
}

extension FilePath: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }

    public var defaultValueDescription: String { text }
}
