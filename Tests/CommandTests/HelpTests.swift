import Foundation
import TestSupport
import Testing

struct HelpTests {
    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsNameEveryCommand(shell: String) throws {
        let script = try Command.run("--generate-completion-script", shell)
        #expect(script.status == 0)
        for command in ["index", "search", "embed", "distance", "evaluate", "catalog", "model"] {
            #expect(script.output.contains(command), "\(command)")
        }
        #expect(script.output.contains("standard") && script.output.contains("safetensors"))
    }

    private static let hasPython = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/python3") }

    @Test(.enabled(if: hasPython, "Scripts/man-page needs Python")) func theManPageDocumentsEveryCommandAndOption()
        throws
    {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Scripts/man-page")
        let result = try Command.run(executable: script.path, [Command.executable.path])
        let page = result.output
        #expect(result.status == 0)

        struct Help: Decodable { let command: Entry }
        struct Entry: Decodable {
            struct Argument: Decodable {
                struct Name: Decodable { let name: String }
                let names: [Name]?
            }
            let commandName: String
            let arguments: [Argument]?
            let subcommands: [Entry]?
            let superCommands: [String]?
        }
        func leaves(_ entry: Entry) -> [Entry] {
            entry.subcommands.map { $0.flatMap(leaves) } ?? (entry.commandName == "help" ? [] : [entry])
        }
        let dump = try Command.run("--experimental-dump-help").output
        let commands = leaves(try JSONDecoder().decode(Help.self, from: Data(dump.utf8)).command)
        #expect(commands.count >= 12)
        for command in commands {
            let path = (command.superCommands ?? []).dropFirst() + [command.commandName]
            let heading = ".SS " + path.joined(separator: " ") + "\n"
            let start = try #require(page.range(of: heading), "\(heading)").upperBound
            let section = page[start...].prefix(upTo: page[start...].range(of: "\n.S")?.lowerBound ?? page.endIndex)
            for name in (command.arguments ?? []).flatMap({ $0.names ?? [] }).map(\.name)
            where !["h", "help", "version"].contains(name) {
                #expect(
                    section.contains("\\-\\-" + name.replacingOccurrences(of: "-", with: "\\-")), "\(path) --\(name)")
            }
        }
    }
}
