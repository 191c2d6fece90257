import Foundation

/// The arguments as the system passes them. Swift repairs bytes that are not UTF-8; a path would name another file.
enum RawArguments {
    /// Ends the process if an argument is not UTF-8.
    static func check() {
        for case let argument? in UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        where String(validatingCString: argument) == nil {
            StandardError.print("Error: “\(String(cString: argument))” is not UTF-8. Rename the file or folder.")
            exit(EX_USAGE)
        }
    }
}
