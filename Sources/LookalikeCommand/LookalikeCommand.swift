import ArgumentParser
import CommandProcess
import Compute
import Foundation
import Lookalike

@main
struct LookalikeCommand: AsyncParsableCommand {
    // All commands state their names: what the parser uses otherwise, String(describing:), makes Swift's runtime search
    // all conformances of the program for each of them, at every start.
    static let configuration = CommandConfiguration(
        commandName: "lookalike",
        abstract: "Finds the entities of a catalog that an image shows.",
        discussion: """
            First index your images into a catalog, then search it with others:

              lookalike index covers/ --catalog catalog/
              lookalike search --catalog catalog/ photo.jpg

            A search finds candidates by feature prints (global image descriptors) and visual words, \
            and verifies them by local features. Images are \(ImageFormat.list(conjunction: "or")) \
            files.

            Exit status: 0 success, 1 failure, 3 some images could not be read or embedded, 64 invalid \
            arguments.
            """,
        version: PackageVersion.current,
        subcommands: [
            IndexCommand.self, SearchCommand.self, LabelCommand.self, EmbedCommand.self, DistanceCommand.self,
            EvaluateCommand.self, CatalogCommand.self, ModelCommand.self, FormatsCommand.self, WorkerCommand.self,
            ServeCommand.self,
        ])

    static func main() async {
        CommandProcess.prepare()
        Catalog.handleTruncatedFiles()
        do {
            var command = try await asyncParseAsRoot()
            do {
                if var command = command as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    try command.run()
                }
            } catch let error where exitCode(for: error) == .failure && !(error is ExitCode) {
                // Errors quote ids, paths and names of layers.
                throw EscapedError(description: message(for: error).escaped + advice(for: error))
            }
        } catch {
            exit(withError: error)
        }
    }

    /// Which option helps, which the library does not know.
    private static func advice(for error: any Error) -> String {
        switch (error as? CatalogError)?.reason {
        case .missing?: ", with “lookalike index”"
        case .allImagesMissing?: " Use --force to remove them all."
        default: ""
        }
    }

    private struct EscapedError: Error, CustomStringConvertible {
        let description: String
    }
}

/// Why a command cannot do its work.
struct CommandError: Error, CustomStringConvertible {
    /// A path, or the name of a program.
    let subject: String
    let reason: String

    var description: String { "\(subject): \(reason)" }
}

extension CommandError {
    /// - Parameter action: what failed, such as “read”.
    init(_ path: FilePath, cannotBe action: String, _ error: any Error) {
        let reason = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
        let words =
            reason.domain == NSPOSIXErrorDomain
            ? String(cString: strerror(CInt(reason.code))) : reason.localizedDescription
        self.init(subject: path.text, reason: "cannot be \(action): \(words)")
    }
}

extension ExitCode {
    /// Some images could not be read or embedded; everything else was done.
    static let someFailed = ExitCode(3)
}
