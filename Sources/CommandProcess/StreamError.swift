#if canImport(Glibc)
    import Glibc
#else
    import Foundation
#endif

/// A standard stream that cannot be written: it is closed, its disk is full, or nobody reads it.
public struct StreamError: Error, CustomStringConvertible {
    public let description: String

    /// - Parameter number: the system's error number.
    init(stream: String, number: CInt) {
        description = "\(stream): cannot be written: \(String(cString: strerror(number)))"
    }
}
