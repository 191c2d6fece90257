import ArgumentParser
import Foundation

/// Runs the service. It is a program of its own, so that the command is built without a web server.
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
        try program.run(arguments)
    }
}

/// Runs the import of networks. It is a program of its own, so that the command is built without protocol buffers.
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

/// A program that does the work of a subcommand and is built and installed by itself.
///
/// The file beside this program wins over one in `PATH`: both are of the same version.
private struct CompanionProgram {
    /// The name of the file.
    let name: String
    /// How to build the program, for the error that it is not there.
    let hint: String

    /// Replaces this process by the program; returns only by throwing.
    ///
    /// - Throws: ``CommandError``.
    func run(_ arguments: [String]) throws -> Never {
        let path = try find()
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
        words.append(nil)
        execv(path, words)
        let reason = String(cString: strerror(errno))
        for word in words { free(word) }
        throw CommandError(subject: path, reason: "cannot be run: \(reason)")
    }

    private func find() throws -> String {
        let beside = Self.folder.map { [$0] } ?? []
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        for folder in beside + path.split(separator: ":").map(String.init) {
            let file = folder + "/" + name
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: file, isDirectory: &isFolder), !isFolder.boolValue,
                access(file, X_OK) == 0
            {
                return file
            }
        }
        throw CommandError(subject: name, reason: "is neither beside this program nor in PATH. \(hint)")
    }

    /// The folder of this program's file, behind links.
    private static var folder: String? {
        guard let executable = Bundle.main.executableURL else { return nil }
        return executable.resolvingSymlinksInPath().deletingLastPathComponent().path
    }
}
