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

/// The results of two computations, at the same time if another thread of ``ComputeExecutor`` has nothing to do.
package func concurrently<First: Sendable, Second: Sendable>(
    _ first: @Sendable () -> First, and second: @Sendable () -> Second
) -> (First, Second) {
    let outcomes = concurrentMap(2, threads: 2) { index -> Outcome<First, Second> in
        index == 0 ? .first(first()) : .second(second())
    }
    guard case .first(let first) = outcomes[0], case .second(let second) = outcomes[1] else {
        preconditionFailure("the results come in the order of the computations")
    }
    return (first, second)
}

private enum Outcome<First: Sendable, Second: Sendable>: Sendable {
    case first(First)
    case second(Second)
}

extension Range<Int> {
    /// One of `count` parts of nearly the same length.
    package func part(_ index: Int, of count: Int) -> Range<Int> {
        (lowerBound + index * self.count / count)..<(lowerBound + (index + 1) * self.count / count)
    }
}
