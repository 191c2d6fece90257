import ArgumentParser
import CommandProcess
import Foundation
import Lookalike
import Synchronization

extension CatalogCommand {
    struct Duplicates: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "duplicates",
            abstract: "Lists the entities that have the same picture, in groups.",
            discussion: """
                The first of a group shows most of the picture; the others follow, each with what differs from it: \
                “none” (the same pixels), “quality” (also another size or format), “crop” (also a border), “mirrored”, \
                “turned”, “mark” (a watermark or text on it, or another text) or “color”. Images are not read: what was indexed is compared. Nothing is removed.

                With --json, one line per group:
                {"duplicates":[{"difference":"quality","distance":0.11,"id":"a-small","image":"…"}], \
                "reference":{"id":"a","image":"…"}}
                """)
        @OptionGroup var folder: Folder
        @OptionGroup var selection: ConditionOptions

        @Flag(help: "Print one line of JSON per group.")
        var json = false

        @Option(
            help: ArgumentHelp("Also write the groups as an HTML page with pictures.", valueName: "file"),
            completion: .file(extensions: ["html"]))
        var sheet: FilePath?

        func validate() throws { if let sheet { try SheetPage.check(sheet) } }

        func run() async throws { try await folder.timing.measuringAll(perform) }

        private func perform() async throws {
            if let sheet { try OutputFile.check(sheet) }
            let catalog = try folder.open()
            try await selection.noteUnknownTypes(in: catalog)
            let info = try await catalog.info
            let bareCount = info.entityCount - info.entitiesWithLocalFeatures
            if bareCount > 0 {
                StandardError.print(
                    "note: \(bareCount) of \(info.entityCount) entities have no local features and are compared by "
                        + "their prints alone, which find few copies; “index” with a local-feature model extracts them")
            }
            let bar = Mutex(ProgressBar(delay: .seconds(2)))
            let groups = try await catalog.duplicates(where: selection.condition) { compared, total in
                bar.withLock { $0.show(compared, of: total) }
            }
            bar.withLock { $0.finish() }
            for group in groups { print(json ? try DuplicateAnswer(group).line : Self.text(of: group)) }
            let count = groups.reduce(0) { $0 + $1.duplicates.count }
            if !json { print(DuplicateSheet.summary(duplicates: count, groups: groups.count)) }
            if let sheet {
                var page = DuplicateSheet()
                for group in groups { try await page.add(group, in: catalog) }
                try OutputFile.write(page.data(compared: selection.condition), to: sheet)
            }
        }

        private static func text(of group: DuplicateGroup) -> String {
            let words = [group.reference.id, group.reference.title].compactMap { $0?.escaped }
            let others = group.duplicates.map { member in
                "  " + member.difference.rawValue.padding(toLength: 10, withPad: " ", startingAt: 0)
                    + [member.entity.id, member.entity.title].compactMap { $0?.escaped }.joined(separator: "\t") + "\n"
            }
            return words.joined(separator: "\t") + "\n" + others.joined()
        }
    }
}
