#if canImport(Glibc)
    import Glibc
#else
    import Foundation
#endif

/// A standard stream that cannot be written: it is closed, its disk is full, or nobody reads it.
public struct StreamError: Error, CustomStringConvertible {
    public let description: String

    /// - Parameter number: the system's error number.
    init(descriptor: CInt, number: CInt) {
        let stream = descriptor == STDOUT_FILENO ? "standard output" : "standard error"
        description = "\(stream): cannot be written: \(String(cString: strerror(number)))"
    }
}
