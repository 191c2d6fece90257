import Compute
import Synchronization

/// Lets one asynchronous change of a catalog go on at a time, in the order in which they came.
///
/// Changes that wait keep no thread, so many at once do not delay searches on the same executor.
final class ChangeQueue: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [FirstOutcome<Void>] = []
    }

    private let state = Mutex(State())

    /// Runs `body` when all changes that came before have ended.
    ///
    /// - Throws: what `body` throws, and `CancellationError` if the task is cancelled while it waits.
    func run<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        let turn = state.withLock { state -> FirstOutcome<Void>? in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let turn = FirstOutcome<Void>()
            state.waiting.append(turn)
            return turn
        }
        if let turn {
            try await withTaskCancellationHandler {
                try await turn.value
            } onCancel: {
                turn.set(.failure(CancellationError()))
            }
        }
        defer { pass() }
        return try await body()
    }

    /// To the first that waits and was not cancelled.
    private func pass() {
        state.withLock { state in
            while !state.waiting.isEmpty {
                if state.waiting.removeFirst().set(.success(())) { return }
            }
            state.isTaken = false
        }
    }
}
