public import ArgumentParser
import CommandProcess
import Lookalike
public import LookalikeService

@main
struct LookalikeServe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookalike-serve",
        abstract: "Serves catalogs over HTTP, with a page to search them.",
        version: PackageVersion.current,
        subcommands: [Serve.self, MakeKey.self], defaultSubcommand: Serve.self)

    static func main() async {
        CommandProcess.prepare()
        await main(nil)
    }
}

struct MakeKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make-key",
        abstract: "Makes an API key.",
        discussion: """
            Prints the line for the key file to standard output, and the key to standard error. The key is shown \
            once: the file has its SHA-256 alone.

              lookalike-serve make-key --scope write --name shop >> keys
            """)

    @Option(help: "What the key allows: read or write.")
    var scope: APIKeyScope = .read

    @Option(help: "What logs call the key.")
    var name = "key"

    func validate() throws {
        if name.isEmpty || name.contains(where: { $0.isNewline || $0 == ";" }) {
            throw ValidationError("--name is empty, or has a line break or a semicolon.")
        }
    }

    func run() throws {
        let (key, entry) = APIKey.make(scope: scope, name: name)
        // The key comes first, so that no file gets the line of a key that nobody has seen.
        try StandardError.printResult("The key, shown this once: \(key)")
        print(entry.line)
    }
}

extension APIKeyScope: @retroactive ExpressibleByArgument {}
