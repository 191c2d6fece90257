import Dispatch

/// The results of `count` pieces of work that run on as many threads, in order.
///
/// Each piece writes a place of its own, so nothing is locked.
func concurrentMap<Result: Sendable>(_ count: Int, _ body: @Sendable (Int) -> Result) -> [Result] {
    [Result](unsafeUninitializedCapacity: count) { buffer, initialized in
        nonisolated(unsafe) let places = buffer
        DispatchQueue.concurrentPerform(iterations: count) { index in
            places.initializeElement(at: index, to: body(index))
        }
        initialized = count
    }
}
