import Foundation

/// The arguments and the working directory as the system passes them. Swift repairs bytes that are not UTF-8; a path
/// would name another file.
enum RawArguments {
    /// Ends the process if an argument, or the name of the working directory, is not UTF-8.
    static func check() {
        guard let folder = getcwd(nil, 0) else {
            // Relative paths would start at the root.
            StandardError.print("Error: the working directory is gone, or cannot be reached. Change to another one.")
            exit(EX_USAGE)
        }
        defer { free(folder) }
        if String(validatingCString: folder) == nil {
            let name = String(cString: folder)
            StandardError.print("Error: the working directory “\(name)” is not UTF-8. Rename it.")
            exit(EX_USAGE)
        }
        for case let argument? in UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        where String(validatingCString: argument) == nil {
            StandardError.print("Error: “\(String(cString: argument))” is not UTF-8. Rename the file or folder.")
            exit(EX_USAGE)
        }
    }
}
