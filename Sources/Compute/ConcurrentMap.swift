import Dispatch
import Synchronization

/// The results of `count` pieces of work in order, computed by at most `threads` threads; each takes
/// the next piece when it has done one.
///
/// Every piece writes a place of its own, so nothing is locked.
package func concurrentMap<Result: Sendable>(
    _ count: Int, threads: Int, _ body: @Sendable (Int) -> Result
) -> [Result] {
    let workers = min(threads, count)
    guard workers > 1 else { return (0..<count).map(body) }
    return [Result](unsafeUninitializedCapacity: count) { buffer, initialized in
        nonisolated(unsafe) let places = buffer
        let next = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: workers) { _ in
            while true {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < count else { return }
                places.initializeElement(at: index, to: body(index))
            }
        }
        initialized = count
    }
}
