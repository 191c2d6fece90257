import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

struct EmbedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "embed",
        abstract: "Embeds images: prints their feature prints.",
        discussion: """
            Prints one line of JSON per image: {"image":…,"model":…,"print":[…]}. With --output, writes a NumPy file \
            instead: float32, one row per image, in the order given; and beside it a file of JSON lines of the same \
            name, which ends in .jsonl and names the image of each row: {"image":…,"model":…}. A pipe gets the rows \
            alone.

            An image that cannot be read or embedded is reported and has no row. The exit status is 3 then.
            """,
        aliases: ["print"])

    @OptionGroup var model: ModelOptions

    @Option(help: ArgumentHelp("A .npy file to write.", valueName: "file"), completion: .file(extensions: ["npy"]))
    var output: FilePath?

    @OptionGroup var jobs: JobsOption
    @OptionGroup var timing: TimingOptions
    @OptionGroup var images: QueryImages

    /// What is printed of an image, or what names its row.
    private struct Line: Codable {
        let image: String
        let model: String
        var print: [Float]?
    }

    /// The most bytes of a line that names a row; paths have 4,096 at most.
    private static let longestName = 1 << 16

    /// Images that are embedded together, by each thread.
    private static let imagesPerThread = 4

    func validate() throws {
        if images.isEmpty { throw ValidationError("Missing an image.") }
    }

    func run() async throws {
        if let output { try OutputFile.check(output) }
        let names = try output.flatMap { try Self.names(beside: $0) }
        let model = try model.load()
        let timings = timing.makeTimings()
        let threads = jobs.jobs ?? availableThreadCount
        var (rows, lines) = ([[Float]](), Data())
        var failures = 0
        var paths = try images.paths().makeIterator()
        while true {
            let part = (0..<Self.imagesPerThread * threads).compactMap { _ in paths.next() }
            if part.isEmpty { break }
            let prints = concurrentMap(part.count, threads: threads) { index in
                Result {
                    let image = try QueryImage.read(part[index], options: model.decodingOptions, timings: timings)
                    return try model.featurePrint(
                        for: image, threads: part.count == 1 ? threads : 1, timings: timings)
                }
            }
            for (path, result) in zip(part, prints) {
                let print = try await QueryImage.resultOrReport(path, failures: &failures) { try result.get() }
                guard let print else { continue }
                var line = Line(image: path, model: print.model.digest)
                if output == nil {
                    line.print = print.vector
                    Swift.print(try JSONLine.text(line))
                } else {
                    rows.append(print.vector)
                    lines += Data((try JSONLine.text(line) + "\n").utf8)
                }
            }
        }
        if let output {
            // Lines of other rows are never beside them.
            if let names { unlink(names.absolute) }
            try OutputFile.write(NumPyFile.data(rows, columns: model.dimension), to: output)
            if let names { try OutputFile.write(lines, to: names) }
        }
        timings?.printReport()
        if failures > 0 { throw ExitCode.someFailed }
    }

    /// The file that names the rows of another one; nil for a pipe or a device.
    ///
    /// - Throws: `ValidationError` if somebody else's file has its name.
    private static func names(beside output: FilePath) throws -> FilePath? {
        let isFile = OutputFile.kind(of: output.absolute).map { $0 == S_IFREG } ?? true
        guard isFile, !output.absolute.hasPrefix("/dev/") else { return nil }
        let suffix = URL(fileURLWithPath: output.text).pathExtension
        let stem = suffix.isEmpty ? output.text : String(output.text.dropLast(suffix.count + 1))
        guard let names = FilePath(stem + ".jsonl"), names.text != output.text else {
            throw ValidationError("\(output.text.escaped) has the name of the lines beside it; use one with .npy.")
        }
        guard OutputFile.kind(of: names.absolute) != nil else { return names }
        let start = try? FileHandle(forReadingFrom: names.url).read(upToCount: longestName)
        let first = (start ?? nil)?.split(separator: UInt8(ascii: "\n")).first ?? Data()
        guard first.isEmpty || (try? JSONDecoder().decode(Line.self, from: first)) != nil else {
            throw ValidationError(
                "\(names.text.escaped) is there, and does not name rows of an earlier run; use another --output.")
        }
        return names
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
