import Foundation

/// Refuses to start where there is too little address space for the libraries and a thread per core.
///
/// Without it threads cannot be started and allocations fail in libraries that can only hang or abort.
enum AddressSpace {
    /// Libraries, model and a small catalog.
    private static let base = 384 << 20
    /// A thread's stack, and its buffers.
    private static let perThread = 16 << 20
    private static let minimum = 512 << 20

    /// - Parameter threads: nil for one per core.
    static func check(threads: Int? = nil) {
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_AS.rawValue)
        #else
            let resource = RLIMIT_AS
        #endif
        guard getrlimit(resource, &limit) == 0 else { return }
        let threads = threads ?? ProcessInfo.processInfo.activeProcessorCount
        let needed = max(minimum, base + threads * perThread)
        guard limit.rlim_cur < UInt64(needed) else { return }
        StandardError.print(
            "Error: the address space is limited to \(limit.rlim_cur >> 20) MiB, and \(needed >> 20) MiB are needed; "
                + "raise the limit with “ulimit -v”.")
        // Not `exit`: with so little memory the libraries cannot shut their threads down, and hang.
        _exit(EXIT_FAILURE)
    }
}
