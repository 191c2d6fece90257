public import Compute

// The C library declares `stdout` as a variable, which Swift 6 refuses without this attribute.
#if canImport(Glibc)
@preconcurrency import Glibc
#else
@preconcurrency import Foundation
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

/// A standard stream that cannot be written: it is closed, its disk is full, or nobody reads it.
public struct StreamError: DescribedError {
    /// The name of the stream.
    public let subject: String
    /// What is wrong; the system's message.
    public let reason: String

    /// - Parameter number: the system's error number.
    init(descriptor: CInt, number: CInt) {
        subject = descriptor == STDOUT_FILENO ? "standard output" : "standard error"
        reason = "cannot be written: \(String(cString: strerror(number)))"
    }

    public var description: String { "\(subject): \(reason)" }
}

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

/// Writes at once, not when a buffer is full.
private enum UnbufferedOutput {
    /// Writes text to standard output or standard error.
    static func put(_ text: String, to descriptor: CInt) throws(StreamError) {
        let failure = withoutBrokenPipeSignal { () -> CInt? in
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                errno = 0
                let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return errno }
                bytes = bytes.dropFirst(count)
            }
            return nil
        }
        if let failure { throw StreamError(descriptor: descriptor, number: failure) }
    }

    /// A write to a pipe that nobody reads sends SIGPIPE to the thread, which would end the process.
    private static func withoutBrokenPipeSignal(_ body: () -> CInt?) -> CInt? {
        var pipe = sigset_t()
        var before = sigset_t()
        var pending = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        sigpending(&pending)
        let wasPending = sigismember(&pending, SIGPIPE) == 1
        pthread_sigmask(SIG_BLOCK, &pipe, &before)
        let failure = body()
        sigpending(&pending)
        if !wasPending, sigismember(&pending, SIGPIPE) == 1 {
            var signal: Int32 = 0
            sigwait(&pipe, &signal)
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        return failure
    }
}
