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

enum StandardError {
    /// Writes a line. Control characters are escaped, see `String.escaped`; failures are ignored.
    static func print(_ line: String) { writeAsIs(line.escaped + "\n") }

    /// Writes text as it is. Failures are ignored: results matter more than messages about them.
    static func writeAsIs(_ text: String) {
        withoutBrokenPipeSignal {
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                bytes = bytes.dropFirst(count)
            }
        }
    }

    /// A write to a pipe that nobody reads sends SIGPIPE to the thread, which would end the process.
    private static func withoutBrokenPipeSignal(_ body: () -> Void) {
        var pipe = sigset_t()
        var before = sigset_t()
        var pending = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        sigpending(&pending)
        let wasPending = sigismember(&pending, SIGPIPE) == 1
        pthread_sigmask(SIG_BLOCK, &pipe, &before)
        body()
        sigpending(&pending)
        if !wasPending, sigismember(&pending, SIGPIPE) == 1 {
            var signal: Int32 = 0
            sigwait(&pipe, &signal)
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
