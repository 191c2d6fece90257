// The C library declares `stdout` as a variable, which Swift 6 refuses without this attribute.
#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    @preconcurrency import Foundation
#endif

/// The three streams that a process starts with, some of which may be closed, full, or pipes that nobody reads.
enum StandardStreams {
    /// Occupies the numbers of closed streams, so that no file of a catalog gets one and messages are not written into
    /// it; and reports at exit that output was lost.
    static func prepare() {
        for (stream, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(stream, F_GETFD) == -1 {
            // The opposite mode: reading and writing still fail. The lowest free number is that of the stream.
            _ = open("/dev/null", mode)
        }
        atexit {
            errno = 0
            let isLost = ferror(stdout) != 0
            guard fflush(stdout) != 0 || isLost else { return }
            let reason = errno
            // A reader such as `head` has what it wanted.
            if reason != EPIPE {
                let words = reason == 0 ? "not all of the output was written" : String(cString: strerror(reason))
                StandardError.print("standard output: cannot be written: \(words)")
            }
            // Not `exit`, which is already running.
            _exit(EXIT_FAILURE)
        }
    }
}
