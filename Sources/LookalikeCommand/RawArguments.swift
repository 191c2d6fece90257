import Foundation

/// The arguments as the system passes them. Swift repairs bytes that are not UTF-8; a path would name another file.
enum RawArguments {
    /// The first argument that is not UTF-8, repaired; nil if there is none.
    static var firstInvalid: String? {
        for case let argument? in UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        where String(validatingCString: argument) == nil {
            return String(cString: argument)
        }
        return nil
    }
}
