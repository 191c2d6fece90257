import ArgumentParser
import CommandProcess
import Foundation
import Lookalike
import MilvusCatalog

@main
struct LookalikeMilvus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookalike-milvus",
        abstract: "Keeps catalogs in Milvus, a vector database, and searches them there.",
        discussion: """
            An address is milvus://HOST:PORT/COLLECTION, or milvus+tls://… for an encrypted connection; the port is \
            19530 without another one. The environment variable MILVUS_TOKEN has what the server asks for: \
            user:password, or an API key.

              lookalike index covers/ --catalog catalog/
              lookalike-milvus push catalog/ milvus://localhost/covers
              lookalike-milvus search milvus://localhost/covers photo.jpg
              lookalike-milvus serve milvus://localhost/covers --port 8700

            Exit status: 0 success, 1 failure, 3 some images could not be copied or read, 64 invalid arguments.
            """,
        version: PackageVersion.current, subcommands: [Push.self, Pull.self, Search.self, Serve.self])

    static func main() async {
        CommandProcess.prepare()
        Catalog.handleTruncatedFiles()
        await main(nil)
    }
}

struct ServerOptions: ParsableArguments {
    @Option(help: "Seconds that the server may take to answer a read, with all attempts.")
    var timeout = 10.0

    func validate() throws {
        if !(0.001...86_400).contains(timeout) { throw ValidationError("--timeout must be from 0.001 to 86400.") }
    }

    var options: MilvusOptions {
        MilvusOptions(
            readDeadline: .seconds(timeout), token: ProcessInfo.processInfo.environment["MILVUS_TOKEN"])
    }

    func options(_ breadth: BreadthOption) -> MilvusOptions {
        var options = options
        options.breadth = breadth.breadth
        return options
    }
}

struct BreadthOption: ParsableArguments {
    @Option(
        help: """
            How much of an index that is not flat a search looks at: lists of ivf, 32 by default, and neighbors of \
            hnsw and diskann, 128 by default. More find more, and take longer.
            """)
    var breadth: Int?

    func validate() throws {
        if let breadth, !(1...32_768).contains(breadth) { throw ValidationError("--breadth must be from 1 to 32768.") }
    }
}

struct ModelOption: ParsableArguments {
    @Option(help: ArgumentHelp("The model of the prints, if it is not the default one.", valueName: "file"))
    var model: String?

    var loaded: FeaturePrintModel? {
        get throws { try model.map { try FeaturePrintModel(contentsOf: URL(fileURLWithPath: $0)) } }
    }
}

/// Reads the values of arguments and options; errors say what is wrong with them.
enum Parsed {
    static func address(_ text: String) throws -> MilvusAddress {
        do { return try MilvusAddress(text) } catch { throw ValidationError("\(error)") }
    }

    /// An address in the place of a folder would be taken for a path.
    static func checkFolder(_ text: String) throws {
        if text.wholeMatch(of: /milvus(\+tls)?:.*/) != nil {
            throw ValidationError("“\(text)” is in the place of a folder; push has the folder first, pull the address.")
        }
    }

    static func condition(_ text: String) throws -> Condition {
        do { return try Condition(parsing: text) } catch { throw ValidationError(error.reason) }
    }

    static func effort(_ text: String) throws -> SearchEffort {
        guard let effort = SearchEffort(rawValue: text) else {
            let names = SearchEffort.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--effort “\(text)” is none of \(names).")
        }
        return effort
    }
}

extension CopyReport {
    /// Prints what was done, and ends the process with 3 if something could not be copied.
    func printAndExit(verb: String) throws {
        for note in notes { StandardError.print(note) }
        for problem in problems { StandardError.print("\(problem)") }
        try StandardOutput.printUnbuffered(
            "\(written) \(verb), \(unchanged) unchanged, \(removed) removed, \(problems.count) problems")
        if !problems.isEmpty { throw ExitCode(3) }
    }
}

struct Push: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copies a catalog into a collection.",
        discussion: """
            The collection is made if it is missing. Images that it has already as they should be are not sent, so a \
            push that was interrupted goes on where it ended; images that the catalog does not have are removed. A \
            collection is not searched before its first push is finished.
            """)

    enum Index: String, ExpressibleByArgument, CaseIterable {
        case flat, ivf, hnsw, diskann

        var index: MilvusIndex {
            switch self {
            case .flat: .flat
            case .ivf: .ivf
            case .hnsw: .hnsw
            case .diskann: .diskANN
            }
        }
    }

    enum Words: String, ExpressibleByArgument, CaseIterable { case signatures, words, none }

    @Argument(help: "The folder of the catalog.") var catalog: String
    @Argument(help: "The address of the collection.", transform: Parsed.address) var address: MilvusAddress
    @Option(help: "How a new collection finds the nearest prints: flat compares all, and answers as the catalog does.")
    var index = Index.flat
    @Option(
        help: """
            What a new collection keeps of visual words, where the server has sparse vectors: words with parts of \
            their signatures, or words alone, which take an eighth of the room.
            """)
    var words = Words.signatures
    @Flag(help: "Let a new collection have its partitions by the types of entities, for searches among some types.")
    var partitionByType = false
    @Option(
        help: ArgumentHelp(
            """
            The number of this catalog among several that one collection has, from 0: the rows of the others stay as \
            they are. No entity may be in two of them.
            """, valueName: "number"))
    var shard: Int?
    @OptionGroup var server: ServerOptions
    @OptionGroup var model: ModelOption

    func validate() throws {
        try Parsed.checkFolder(catalog)
        if let shard, !(0..<MilvusCatalog.mostShards).contains(shard) {
            throw ValidationError("--shard is not in 0…\(MilvusCatalog.mostShards - 1).")
        }
    }

    func run() async throws {
        let local = try await Catalog.open(at: URL(fileURLWithPath: catalog), model: model.loaded)
        let settings = MilvusSettings(
            index: index.index, hasWords: words != .none, hasSignatures: words == .signatures,
            isPartitionedByType: partitionByType)
        try await MilvusCatalog.push(local, to: address, shard: shard, settings: settings, options: server.options)
            .printAndExit(verb: "pushed")
    }
}

struct Pull: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copies a collection into the folder of a catalog.",
        discussion: "The catalog answers as the one that was pushed. It is made if it is missing.")

    @Argument(help: "The address of the collection.", transform: Parsed.address) var address: MilvusAddress
    @Argument(help: "The folder of the catalog.") var catalog: String
    @OptionGroup var server: ServerOptions
    @OptionGroup var model: ModelOption

    func validate() throws { try Parsed.checkFolder(catalog) }

    func run() async throws {
        let remote = try await MilvusCatalog(address, options: server.options)
        try await remote.pull(into: URL(fileURLWithPath: catalog), model: model.loaded).printAndExit(verb: "pulled")
    }
}

struct Search: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Finds the entities that images show, surest first.",
        discussion: """
            Prints a line of JSON per image:
            {"query":"photo.jpg","results":[{"confidence":0.98,"distance":0.61,"id":"a/b","inliers":31,"title":"…"}]}
            """)

    @Argument(help: "The address of the collection.", transform: Parsed.address) var address: MilvusAddress
    @Argument(help: "Image files.") var images: [String]
    @Option(help: "Maximum number of matches per image.") var limit = 10
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("Only entities that satisfy a condition, such as 'price < 20'.", valueName: "condition"),
        transform: Parsed.condition)
    var condition = Condition.everything
    @Option(help: "How much work a search does: prints or standard.", transform: Parsed.effort)
    var effort = SearchEffort.standard
    @Flag(help: "Print the nearest entities however sure they are.") var all = false
    @OptionGroup var breadth: BreadthOption
    @OptionGroup var server: ServerOptions
    @OptionGroup var model: ModelOption

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit cannot be negative.") }
    }

    private struct Line: Encodable {
        struct Match: Encodable {
            let id: String
            let title: String?
            let confidence: Double
            let distance: Double
            let inliers: Int?
        }

        let query: String
        let results: [Match]
    }

    func run() async throws {
        let catalog = try await RemoteCatalogSearch(
            MilvusCatalog(address, options: server.options(breadth)), model: try model.loaded)
        let options = SearchOptions(
            limit: limit, bounds: all ? .none : .accepted, condition: condition, effort: effort)
        var failures = 0
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for path in images {
            do throws(any Error) {
                let image = try PixelBuffer(
                    contentsOf: URL(fileURLWithPath: path), options: catalog.decodingOptions(for: effort))
                let matches = try await catalog.search(matching: image, options: options)
                let line = Line(
                    query: path,
                    results: matches.map {
                        Line.Match(
                            id: $0.id, title: $0.entity.title, confidence: $0.confidence, distance: $0.distance,
                            inliers: $0.inlierCount)
                    })
                try StandardOutput.printUnbuffered(String(decoding: try encoder.encode(line), as: UTF8.self))
            } catch let error as ImageError {
                StandardError.print("\(error)")
                failures += 1
            } catch let error as ModelError {
                StandardError.print("\(path): \(error)")
                failures += 1
            }
        }
        if failures > 0 { throw ExitCode(3) }
    }
}
