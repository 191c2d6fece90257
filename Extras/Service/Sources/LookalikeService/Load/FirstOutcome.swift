import Synchronization

/// A result that is set once, by whoever is first, and awaited by one task.
final class FirstOutcome<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case awaited(CheckedContinuation<Value, any Error>)
        case set(Result<Value, any Error>)
    }

    private enum Next {
        case ignored, stored
        case resume(CheckedContinuation<Value, any Error>)
    }

    private let state = Mutex(State.empty)

    /// Returns whether this was the first.
    @discardableResult
    func set(_ result: Result<Value, any Error>) -> Bool {
        let next: Next = state.withLock { state in
            switch state {
            case .empty:
                state = .set(result)
                return .stored
            case .awaited(let continuation):
                state = .set(result)
                return .resume(continuation)
            case .set: return .ignored
            }
        }
        switch next {
        case .ignored: return false
        case .stored: return true
        case .resume(let continuation):
            continuation.resume(with: result)
            return true
        }
    }

    var value: Value {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                let known: Result<Value, any Error>? = state.withLock { state in
                    if case .set(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let known { continuation.resume(with: known) }
            }
        }
    }
}
