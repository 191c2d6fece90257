import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

struct CatalogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catalog", abstract: "Shows, checks and edits a catalog.",
        subcommands: [Info.self, Verify.self, List.self, Remove.self, Export.self])

    struct Folder: ParsableArguments {
        @Argument(help: ArgumentHelp("The catalog's folder.", valueName: "dir"), completion: .directory)
        var folder: FilePath

        @OptionGroup var model: ModelOptions
        @OptionGroup var timing: TimingOptions

        private var url: URL { folder.folderURL }

        func open() throws -> Catalog { try model.openCatalog(at: url) }

        func openIndexer() throws -> CatalogIndexer { try model.openIndexer(at: url) }
    }

    struct Info: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints what a catalog contains.")
        @OptionGroup var folder: Folder

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            let info = try await folder.open().info
            print("entities        \(info.entityCount)")
            for (type, count) in info.typeCounts where info.typeCounts.count > 1 || !type.isEmpty {
                print("                \(count) \(type.isEmpty ? "without a type" : "of type “\(type.escaped)”")")
            }
            print("local features  \(info.entitiesWithLocalFeatures) entities")
            print("model           " + "\(info.model)".escaped)
            print("dimension       \(info.dimension)")
            print("revision        \(info.revision)")
            print("written by      " + (info.writtenBy.map { "Lookalike \($0)".escaped } ?? "unknown"))
            print("database        \(megabytes(info.databaseBytes))")
            print("print matrix    \(megabytes(info.matrixBytes))")
            print("inverted lists  \(megabytes(info.invertedListBytes))")
        }

        private func megabytes(_ bytes: Int64) -> String { String(format: "%.2f MB", Double(bytes) / 1e6) }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Reads everything and reports damage.")
        @OptionGroup var folder: Folder

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            let catalog = try folder.open()
            let problems = try await catalog.verify()
            for problem in problems { print(problem.escaped) }
            let count = try await catalog.info.entityCount
            if catalog.count != count {
                StandardError.print(
                    "note: prints.matrix is of an earlier state, with \(catalog.count) entities; the database has "
                        + "\(count). It is brought up to date when somebody who may write to the catalog opens it.")
            }
            if problems.isEmpty { print("\(count) entities, all intact") } else { throw ExitCode.failure }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the entities.")
        @OptionGroup var folder: Folder

        @Flag(help: "Print one line of JSON per entity.")
        var json = false

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            try await folder.open().forEachEntity { entity in
                if json {
                    print(try JSONLine.text(entity))
                } else {
                    print(
                        [entity.id, entity.title, entity.subtitle].compactMap { $0?.escaped }.joined(separator: "\t"))
                }
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes entities.", discussion: "If one of the ids is unknown, nothing is removed.")
        @OptionGroup var folder: Folder

        @Argument(help: "The ids of the entities.")
        var ids: [String]

        func run() throws { try folder.timing.measuringAll(perform) }

        private func perform() throws {
            // The indexer would make a catalog that is not there.
            _ = try folder.open()
            let unique = Set(ids.map { Data($0.utf8) })
            try folder.openIndexer().remove(ids)
            print("\(unique.count) removed")
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Writes the prints as prints.npy, the local features as features.jsonl, the entities as entities.jsonl."
        )
        @OptionGroup var folder: Folder

        @Option(help: ArgumentHelp("The folder to write to.", valueName: "dir"), completion: .directory)
        var output = FilePath.currentFolder

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            let catalog = try folder.open()
            try await catalog.export(to: output.folderURL)
            print("\(catalog.count) entities written to \(output.text.escaped)")
        }
    }
}
