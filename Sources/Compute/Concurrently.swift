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
