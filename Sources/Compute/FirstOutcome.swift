import Synchronization

/// A result that is set once, by whoever is first, and awaited by one task.
package final class FirstOutcome<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var continuation: CheckedContinuation<Value, any Error>?
    }

    private let state = Mutex(State())

    /// An outcome without a result.
    package init() {}

    /// Sets the result, unless there is one. Returns whether this was the first.
    @discardableResult
    package func set(_ result: Result<Value, any Error>) -> Bool {
        let (isFirst, continuation) = state.withLock { state -> (Bool, CheckedContinuation<Value, any Error>?) in
            guard state.result == nil else { return (false, nil) }
            state.result = result
            return (true, state.continuation)
        }
        continuation?.resume(with: result)
        return isFirst
    }

    /// The result, as soon as it is set.
    package var value: Value {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                let known = state.withLock { state in
                    if state.result == nil { state.continuation = continuation }
                    return state.result
                }
                if let known { continuation.resume(with: known) }
            }
        }
    }
}
