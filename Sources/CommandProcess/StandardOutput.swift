#if canImport(Glibc)
    import Glibc
#else
    import Foundation
#endif

/// Results of a command.
public enum StandardOutput {
    /// Writes a line at once, for scripts that wait for it. Control characters are escaped, see `String.escaped`.
    ///
    /// - Throws: ``StreamError``.
    public static func printUnbuffered(_ line: String) throws(StreamError) {
        try UnbufferedOutput.put(line.escaped + "\n", to: STDOUT_FILENO)
    }
}
