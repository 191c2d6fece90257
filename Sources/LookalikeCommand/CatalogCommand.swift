import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

struct CatalogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catalog", abstract: "Shows, checks and edits a catalog.",
        subcommands: [
            Info.self, Verify.self, Index.self, List.self, Duplicates.self, Remove.self, Merge.self, Import.self,
            Export.self,
        ])

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
        static let configuration = CommandConfiguration(
            commandName: "info", abstract: "Prints what a catalog contains.")
        @OptionGroup var folder: Folder

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            let info = try await folder.open().info
            print("entities        \(info.entityCount)")
            if info.imageCount != info.entityCount { print("images          \(info.imageCount)") }
            for type in info.typeCounts where info.typeCounts.count > 1 || !type.value.isEmpty {
                let name = type.value.isEmpty ? "without a type" : "of type “\(type.value.escaped)”"
                print("                \(type.count) \(name)")
            }
            print("local features  \(info.entitiesWithLocalFeatures) entities")
            print("model           " + "\(info.model)".escaped)
            print("dimension       \(info.dimension)")
            print("revision        \(info.revision)")
            print("written by      " + (info.writtenBy.map { "Lookalike \($0)".escaped } ?? "unknown"))
            print("database        \(megabytes(info.databaseBytes))")
            print("print matrix    \(megabytes(info.matrixBytes))")
            print("inverted lists  \(megabytes(info.invertedListBytes))")
            print("print index     " + printIndex(info))
        }

        private func printIndex(_ info: CatalogInfo) -> String {
            info.printListCount.map { "\($0) lists, \(megabytes(info.printIndexBytes))" } ?? "none; searches are exact"
        }

        private func megabytes(_ bytes: Int64) -> String { String(format: "%.2f MB", Double(bytes) / 1e6) }
    }

    struct Index: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "index",
            abstract: "Chooses how the nearest prints are found.",
            discussion: """
                An inverted file lets searches read a small part of the prints of a large catalog, at a recall that \
                “search --recall” chooses. The choice is kept, and index runs bring the file up to date.
                """)
        @OptionGroup var folder: Folder

        @Option(
            help: """
                “ivf” makes an inverted file, “exact” removes it, and “automatic” has one from about half a million \
                images on.
                """)
        var kind = PrintIndexKind.automatic

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            // The indexer would make a catalog that is not there.
            _ = try folder.open()
            try folder.openIndexer().setPrintIndex(kind)
            let info = try await folder.open().info
            print(
                info.printListCount.map { "\(info.imageCount) images in \($0) lists" }
                    ?? "searches compare all \(info.imageCount) images")
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Reads everything and reports damage.")
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
        static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the entities.")
        @OptionGroup var folder: Folder
        @OptionGroup var selection: ConditionOptions

        @Option(help: "Maximum number of entities; all by default.")
        var limit: Int?

        @Flag(help: "Print one line of JSON per entity.")
        var json = false

        func validate() throws {
            if let limit, limit < 0 { throw ValidationError("--limit cannot be negative.") }
        }

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            let catalog = try folder.open()
            try await selection.noteUnknownTypes(in: catalog)
            if let limit {
                for entity in try await catalog.entities(where: selection.condition, limit: limit).entities {
                    try show(entity)
                }
            } else {
                try await catalog.forEachEntity(where: selection.condition, show)
            }
        }

        @Sendable private func show(_ entity: CatalogEntity) throws {
            let words = [entity.id, entity.title, entity.subtitle].compactMap { $0?.escaped }
            print(json ? try JSONLine.text(entity) : words.joined(separator: "\t"))
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Removes entities, by their ids or by a condition.",
            discussion: "If one of the ids is unknown, nothing is removed.")
        @OptionGroup var folder: Folder

        @Argument(help: "The ids of the entities.")
        var ids: [String] = []

        @OptionGroup var selection: ConditionOptions

        @Flag(help: "Let a condition remove every entity of the catalog.")
        var force = false

        @Option(help: "Remove nothing if the condition selects more entities than this.")
        var atMost: Int?

        func validate() throws {
            if let atMost, atMost < 0 { throw ValidationError("--at-most cannot be negative.") }
            if atMost != nil, selection.isEmpty { throw ValidationError("--at-most is for a condition.") }
            if ids.isEmpty, selection.isEmpty {
                throw ValidationError("Name the entities to remove: ids, or --where, --type or --label.")
            }
            if !ids.isEmpty, !selection.isEmpty {
                throw ValidationError("Name the entities to remove by ids or by a condition, not by both.")
            }
        }

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            // The indexer would make a catalog that is not there.
            let catalog = try folder.open()
            let ids = selection.isEmpty ? ids : try await selectedIDs(in: catalog)
            let unique = Set(ids.map { Data($0.utf8) })
            if !ids.isEmpty { try folder.openIndexer().removeAll(ids) }
            print("\(unique.count) removed")
        }

        private func selectedIDs(in catalog: Catalog) async throws -> [String] {
            if let error = try await catalog.unknownTypes(in: selection.condition).first { throw error }
            let ids = try await catalog.reduceEntities(into: [String](), where: selection.condition) {
                $0.append($1.id)
            }
            if let atMost, ids.count > atMost {
                throw CommandError(
                    subject: folder.folder.text,
                    reason: "the condition selects \(ids.count), more than --at-most \(atMost); "
                        + "nothing was removed")
            }
            let total = try await catalog.info.entityCount
            // This is more often a mistake than a wish for an empty catalog.
            if ids.count >= total, total > 0, !force {
                throw CommandError(
                    subject: folder.folder.text,
                    reason: "the condition selects all \(total) entities; nothing was removed. "
                        + "Use --force to remove them all.")
            }
            StandardError.print("\(ids.count) of \(total) entities will be removed")
            return ids
        }
    }

    struct Merge: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "merge",
            abstract: "Merges catalogs into one, such as those that several machines indexed.",
            discussion: """
                  lookalike catalog merge monday/ tuesday/ --into week/

                Prints, local features and thumbnails are copied; no image is read. The catalogs must have the same \
                model. If several of them have an entity with the same id, the one of the catalog that is named last \
                is taken; it takes the place of one in the merged catalog, too. Entities that only the merged catalog \
                has stay.

                A merge that was interrupted is completed by running it again. An entity of which something is \
                damaged is reported, the others are merged, and the exit status is 3.
                """)

        @Argument(
            help: ArgumentHelp("The folders of the catalogs to merge.", valueName: "dir"), completion: .directory)
        var catalogs: [FilePath]

        @Option(
            help: ArgumentHelp("The folder of the merged catalog; made if it is missing.", valueName: "dir"),
            completion: .directory)
        var into: FilePath

        @OptionGroup var model: ModelOptions
        @OptionGroup var timing: TimingOptions

        func run() throws { try timing.measuringAll(perform) }

        private func perform() throws {
            var shown = 0
            let report = try CatalogIndexer.merge(
                catalogs.map(\.folderURL), into: into.folderURL, model: model.loadIfNamed(),
                precision: model.precision.choice
            ) { report in
                guard report.processed - shown >= 100_000 else { return }
                shown = report.processed
                StandardError.print("\(shown) entities so far")
            }
            for note in report.notes { StandardError.print("\(note)") }
            for problem in report.problems { StandardError.print("\(problem)") }
            print(
                "\(report.added) added, \(report.updated) updated, \(report.unchanged) unchanged"
                    + (report.problems.isEmpty ? "" : ", \(report.problems.count) not merged"))
            if !report.problems.isEmpty { throw ExitCode.someFailed }
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract:
                "Writes the prints as prints.npy, the local features as features.jsonl, the entities as entities.jsonl."
        )
        @OptionGroup var folder: Folder
        @OptionGroup var selection: ConditionOptions

        @Option(help: ArgumentHelp("The folder to write to.", valueName: "dir"), completion: .directory)
        var output = FilePath.currentFolder

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            let catalog = try folder.open()
            try await selection.noteUnknownTypes(in: catalog)
            let count = try await catalog.export(to: output.folderURL, where: selection.condition)
            print("\(count) entities written to \(output.text.escaped)")
        }
    }

    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Adds entities by prints that were made before, such as those that “catalog export” wrote.",
            discussion: """
                  lookalike catalog import prints.npy --entities entities.jsonl --catalog catalog/

                PRINTS is a NumPy file with a float32 matrix, one row per image. FILE has one line of JSON per row, with \
                an “id”; it may have “image” (a path, which is not read), “type”, “title”, “subtitle”, “labels” and \
                “attributes”. Lines that follow each other with the same id are images of one entity. The prints must \
                be those of the catalog’s model.

                Nothing is added if a row or line cannot be used. Without local features the entities are found by \
                their prints alone. Local features and thumbnails, such as “lookalike worker” computes, are files with \
                a record per row: the number of bytes, 32 bits little-endian, and the bytes.
                """)

        @Argument(
            help: ArgumentHelp("A .npy file with a row per image.", valueName: "prints"),
            completion: .file(extensions: ["npy"]))
        var prints: FilePath

        @Option(
            help: ArgumentHelp("A .jsonl file with a line per row.", valueName: "file"),
            completion: .file(extensions: ["jsonl"]))
        var entities: FilePath

        @Option(help: ArgumentHelp("A file with the local features of each row.", valueName: "file"))
        var localFeatures: FilePath?

        @Option(help: ArgumentHelp("A file with a thumbnail of each row.", valueName: "file"))
        var thumbnails: FilePath?

        @OptionGroup var catalog: CatalogOption
        @OptionGroup var model: ModelOptions
        @OptionGroup var timing: TimingOptions

        func run() throws { try timing.measuringAll(perform) }

        private func perform() throws {
            let files = try PrintFiles(
                prints: prints.url, entities: entities.url, localFeatures: localFeatures?.url,
                thumbnails: thumbnails?.url)
            // An indexer makes a catalog that is not there, which would stay if the prints do not fit it.
            if case .catalog = Catalog.state(of: catalog.url) {} else { try files.check(for: model.load()) }
            let indexer = try model.openIndexer(at: catalog.url, localFeatures: localFeatures != nil)
            var bar = ProgressBar()
            let report = try indexer.index(files) { bar.show($0.processed, of: files.count) }
            bar.finish()
            for problem in report.problems { StandardError.print("\(problem)") }
            print(
                "\(report.added) added, \(report.updated) updated, \(report.unchanged) unchanged"
                    + (report.problems.isEmpty ? "" : ", \(report.problems.count) not added"))
            if localFeatures == nil, report.added + report.updated > 0 {
                StandardError.print(
                    "note: these entities have no local features; searches match them by their prints alone. "
                        + "“lookalike index” makes local features of images.")
            }
            if !report.problems.isEmpty { throw ExitCode.someFailed }
        }
    }
}
