import ArgumentParser

/// Runs the service, which is a program of its own: embedding or running the rest does not build a web server.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves catalogs over HTTP, with a page to search them.",
        discussion: """
            Runs the program lookalike-serve, with all arguments:

              lookalike serve --catalogs catalogs/ --port 8700

            “lookalike serve --help” lists them.
            """)

    @Argument(parsing: .captureForPassthrough, help: "The arguments of lookalike-serve.")
    var arguments: [String] = []

    func run() throws {
        let program = CompanionProgram(
            name: "lookalike-serve",
            hint: "In a clone of Lookalike, “make service” builds both programs into one folder.")
        // Options of the service, and its other subcommands.
        try program.run(arguments)
    }
}
