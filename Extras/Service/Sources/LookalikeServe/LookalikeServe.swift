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

    @Option(help: ArgumentHelp("A catalog that the key is for; may be repeated. All by default.", valueName: "name"))
    var catalog: [String] = []

    @Option(
        help: ArgumentHelp(
            "The last day on which the key is accepted, such as 2027-01-31, or a time with its zone. For ever by "
                + "default.",
            valueName: "time"))
    var expires: String?

    @Option(help: "Requests a second that may be sent with the key; ten times as many may come at once.")
    var rate: Double?

    func validate() throws {
        if name.isEmpty || name.contains(where: { $0.isNewline || $0 == ";" }) {
            throw ValidationError("--name is empty, or has a line break or a semicolon.")
        }
        if expires.map({ APIKey.Expiry($0) == nil }) ?? false {
            throw ValidationError(
                "--expires is neither a day such as 2027-01-31 nor a time such as 2027-01-31T12:00:00Z.")
        }
        do {
            // Whatever cannot be read again would be a key that does not work.
            let read = try KeyRing(text: made.entry.line).keys.first
            guard read?.name == name else { throw ValidationError("--name starts like an option: “\(name)”.") }
        } catch let error as APIKeyError {
            throw ValidationError("The key \(error.reason).")
        }
    }

    private var made: (key: String, entry: APIKey) {
        APIKey.make(
            scope: scope, name: name, catalogs: catalog.isEmpty ? nil : Set(catalog),
            expiry: expires.flatMap { APIKey.Expiry($0) }, rate: rate)
    }

    func run() throws {
        let (key, entry) = made
        // The key comes first, so that no file gets the line of a key that nobody has seen.
        try StandardError.printResult("The key, shown this once: \(key)")
        print(entry.line)
    }
}

extension APIKeyScope: @retroactive ExpressibleByArgument {}
