#if canImport(Glibc)
    import Glibc
#else
    import Foundation
#endif

/// Messages of a command.
public enum StandardError {
    /// Writes a line. Control characters are escaped, see `String.escaped`. Failures are ignored: results matter more
    /// than messages about them.
    public static func print(_ line: String) { writeAsIs(line.escaped + "\n") }

    /// Writes text as it is. Failures are ignored.
    public static func writeAsIs(_ text: String) { try? UnbufferedOutput.put(text, to: STDERR_FILENO) }

    /// Writes a line that is a result, such as a secret that does not belong in a file.
    ///
    /// - Throws: ``StreamError``.
    public static func printResult(_ line: String) throws(StreamError) {
        try UnbufferedOutput.put(line.escaped + "\n", to: STDERR_FILENO)
    }
}
