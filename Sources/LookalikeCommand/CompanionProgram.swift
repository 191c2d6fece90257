import Foundation

/// A program that does the work of a subcommand and is built and installed by itself.
///
/// It is looked for beside this program, so that those of one version belong together, and then in `PATH`.
struct CompanionProgram {
    /// The name of its file.
    let name: String
    /// How to build it, if it is not there.
    let hint: String

    /// Replaces this process by the program. Returns only by throwing.
    ///
    /// - Throws: ``NotFound``, or ``CannotRun`` with the system's message.
    func run(_ arguments: [String]) throws -> Never {
        let path = try find()
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
        words.append(nil)
        execv(path, words)
        let reason = String(cString: strerror(errno))
        for word in words { free(word) }
        throw CannotRun(path: path, reason: reason)
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
        throw NotFound(name: name, hint: hint)
    }

    /// The folder of this program's file, whatever it was called by.
    private static var folder: String? {
        guard let executable = Bundle.main.executableURL else { return nil }
        return executable.resolvingSymlinksInPath().deletingLastPathComponent().path
    }

    struct NotFound: Error, CustomStringConvertible {
        let name: String
        let hint: String
        var description: String { "“\(name)” is neither beside this program nor in PATH. \(hint)" }
    }

    struct CannotRun: Error, CustomStringConvertible {
        let path: String
        let reason: String
        var description: String { "\(path): cannot be run: \(reason)" }
    }
}
