import ArgumentParser
import CommandProcess
import Lookalike

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
