import Foundation

/// Refuses to start where the process may have too few threads: Swift's tasks would wait for theirs for ever.
enum ThreadLimit {
    /// Beside the first one. Swift's tasks need about half as many, and searches one more.
    private static let needed = 8

    /// Starts as many threads at once, which end when all have started.
    static func check() {
        let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        defer { gate.deallocate() }
        pthread_mutex_init(gate, nil)
        defer { pthread_mutex_destroy(gate) }
        pthread_mutex_lock(gate)
        var threads: [pthread_t] = []
        var failure: CInt = 0
        while threads.count < needed, failure == 0 {
            #if canImport(Darwin)
                var thread: pthread_t?
            #else
                var thread = pthread_t()
            #endif
            failure = pthread_create(
                &thread, nil,
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
        StandardError.print(
            "Error: only \(threads.count) of \(needed) threads can be started: \(String(cString: strerror(failure))); "
                + "raise the limit with “ulimit -u”, or that of the container.")
        _exit(EXIT_FAILURE)
    }
}
