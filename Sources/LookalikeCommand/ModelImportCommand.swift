import ArgumentParser

/// Runs the import, which is a program of its own: indexing and searching does not need protocol buffers.
struct ModelImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Converts an ONNX network to a model file.",
        discussion: """
            Runs the program lookalike-import, with all arguments:

              lookalike model import network.onnx --output network.safetensors

            “lookalike model import --help” lists them.
            """)

    @Argument(parsing: .captureForPassthrough, help: "The arguments of lookalike-import.")
    var arguments: [String] = []

    func run() throws {
        let program = CompanionProgram(
            name: "lookalike-import",
            hint: "In a clone of Lookalike, “make importer” builds it.")
        try program.run(arguments)
    }
}
