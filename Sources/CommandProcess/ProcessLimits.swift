import CDispatch
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

/// Ends the process if it may start too few threads: Swift's tasks would wait forever for theirs.
enum ThreadLimit {
    /// Besides the main thread. Swift's tasks need about four, and a search one more.
    private static let needed = 8

    /// Starts this many threads, and lets them end once all have started.
    static func check() {
        let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        defer { gate.deallocate() }
        pthread_mutex_init(gate, nil)
        defer { pthread_mutex_destroy(gate) }
        pthread_mutex_lock(gate)
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        // They do nothing, and address space may be short.
        pthread_attr_setstacksize(&attributes, 256 << 10)
        var threads: [pthread_t] = []
        var failure: CInt = 0
        while threads.count < needed, failure == 0 {
            #if canImport(Darwin)
            var thread: pthread_t?
            #else
            var thread = pthread_t()
            #endif
            failure = pthread_create(
                &thread, &attributes,
                { gate in
                    let address: UnsafeMutableRawPointer? = gate
                    let gate = address?.assumingMemoryBound(to: pthread_mutex_t.self)
                    if let gate {
                        pthread_mutex_lock(gate)
                        pthread_mutex_unlock(gate)
                    }
                    return nil
                }, gate)
            let started: pthread_t? = thread
            if failure == 0, let started { threads.append(started) }
        }
        pthread_mutex_unlock(gate)
        for thread in threads { pthread_join(thread, nil) }
        guard failure != 0 else { return }
        let advice = failure == EAGAIN ? "; raise the limit with “ulimit -u”, or that of the container" : ""
        StandardError.print(
            "Error: only \(threads.count) of \(needed) threads can be started: \(String(cString: strerror(failure)))"
                + advice)
        _exit(EXIT_FAILURE)
    }
}
