import ArgumentParser
import Lookalike

@main
struct LookalikeServe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookalike-serve",
        abstract: "Serves catalogs over HTTP, with a page to search them.",
        version: PackageVersion.current,
        subcommands: [Serve.self, MakeKey.self], defaultSubcommand: Serve.self)
}
