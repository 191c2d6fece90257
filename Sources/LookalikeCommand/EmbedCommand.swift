import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

struct EmbedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "embed",
        abstract: "Embeds images: prints their feature prints.",
        discussion: """
            Prints one line of JSON per image: {"image":…,"model":…,"print":[…]}. With --output, writes \
            a NumPy file instead: float32, one row per image, in the order given.
            """,
        aliases: ["print"])

    @OptionGroup var model: ModelOptions

    @Option(help: ArgumentHelp("A .npy file to write.", valueName: "file"), completion: .file(extensions: ["npy"]))
    var output: FilePath?

    @OptionGroup var jobs: JobsOption
    @OptionGroup var timing: TimingOptions

    @Argument(
        help: ArgumentHelp("Image files; “-” reads one from standard input.", valueName: "image"), completion: .images)
    var images: [String]

    private struct Line: Encodable {
        let image: String
        let model: String
        let print: [Float]
    }

    func run() async throws {
        if let output { try OutputFile.check(output) }
        let model = try model.load()
        let timings = timing.makeTimings()
        var rows: [[Float]] = []
        var failures = 0
        for argument in images {
            let options = model.decodingOptions
            guard let image = QueryImage.readOrReport(argument, options: options, timings: timings, failures: &failures)
            else { continue }
            let print = try await QueryImage.resultOrReport(argument, failures: &failures) {
                try model.featurePrint(for: image, threads: jobs.jobs, timings: timings)
            }
            guard let featurePrint = print else { continue }
            if output == nil {
                let line = Line(image: argument, model: featurePrint.model.digest, print: featurePrint.vector)
                Swift.print(try JSONLine.text(line))
            } else {
                rows.append(featurePrint.vector)
            }
        }
        if let output {
            // A file with rows missing would put later rows in the wrong place.
            guard failures == 0 else {
                StandardError.print("\(output.text): not written: \(failures) of \(images.count) images have no print")
                throw ExitCode.someFailed
            }
            try OutputFile.write(NumPyFile.data(rows, columns: model.dimension), to: output)
        }
        timings?.printReport()
        if failures > 0 { throw ExitCode.someFailed }
    }
}

struct DistanceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "distance",
        abstract: "Prints the distance between two images.",
        discussion: "The Euclidean distance between their prints: 0 for identical images, at most 2.")

    @OptionGroup var model: ModelOptions
    @OptionGroup var timing: TimingOptions

    @Argument(help: "An image file.", completion: .images)
    var a: String

    @Argument(help: "Another image file.", completion: .images)
    var b: String

    func run() throws {
        let model = try model.load()
        let timings = timing.makeTimings()
        let images = try [a, b].map { try QueryImage.read($0, options: model.decodingOptions, timings: timings) }
        let prints = try model.featurePrints(for: images, timings: timings)
        print(String(format: "%.6f", try prints[0].distance(to: prints[1])))
        timings?.printReport()
    }
}
