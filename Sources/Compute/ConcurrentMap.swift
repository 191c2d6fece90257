import Synchronization

/// The results of `count` work items in order, computed on at most `threads` threads: the current one, and others of
/// ``ComputeExecutor`` that have nothing to do. They take the items dynamically.
///
/// Every item writes to its own place, so no lock is needed.
package func concurrentMap<Result: Sendable>(
    _ count: Int, threads: Int, _ body: @Sendable (Int) -> Result
) -> [Result] {
    let workers = min(threads, count)
    guard workers > 1 else { return (0..<count).map(body) }
    return [Result](unsafeUninitializedCapacity: count) { buffer, initialized in
        nonisolated(unsafe) let places = buffer
        let next = Atomic<Int>(0)
        ComputeThreads.current.share(helpers: workers - 1) { isWantedElsewhere in
            while !isWantedElsewhere() {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < count else { return }
                places.initializeElement(at: index, to: body(index))
            }
        }
        initialized = count
    }
}
