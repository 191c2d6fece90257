#if canImport(Glibc)
    import Glibc
#else
    import Foundation
#endif

/// Writes at once, not when a buffer is full.
enum UnbufferedOutput {
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
