import Lookalike

extension ServiceContext {
    /// Runs `body` in a task that is cancelled when the client goes away, or after `limit`. Returns no later than
    /// `limit`, also if `body` goes on: what it holds, such as its place in a pool, it holds until it ends.
    ///
    /// - Throws: ``Problem`` after the limit, `CancellationError` when the client is gone, and what `body` throws.
    func working<Result: Sendable>(
        limit: Duration, else problem: Problem, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let outcome = FirstOutcome<Result>()
        let work = Task { outcome.set(await Swift.Result { try await body() }) }
        let timer = Task {
            try await Task.sleep(for: limit)
            if outcome.set(.failure(problem)) { work.cancel() }
        }
        let number = connection?.onClose {
            work.cancel()
            outcome.set(.failure(CancellationError()))
        }
        defer {
            timer.cancel()
            connection?.forget(number)
        }
        return try await withTaskCancellationHandler {
            try await outcome.value
        } onCancel: {
            work.cancel()
        }
    }
}
