#if Service
import Foundation
import Lookalike

extension ServiceContext {
    /// Runs `body` in a task that is cancelled when the client goes away, or after `limit`. Returns no later than
    /// `limit`, even if `body` goes on: what `body` holds, such as its place in a pool, it holds until it ends.
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

extension Result where Failure == any Error {
    /// What asynchronous work returned or threw.
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// The thread that this is run on.
enum ComputeThread {
    /// The processor's time that it has had.
    static var time: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Lets all other threads run first, from now on, where that can be said of one thread.
    static func yieldToOthers() {
        #if os(Linux)
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        #endif
    }
}

extension ComputeExecutor {
    /// Where catalogs are written, so that no lookup or search waits until a thread has embedded its batch of images.
    static let indexing = ComputeExecutor(threads: shared.threadCount)
}

/// Computes, reads or writes files on the threads for that, and not on those of Swift's tasks.
func computing<Result: Sendable>(
    on executor: ComputeExecutor = .shared, _ body: @Sendable () throws -> Result
) async throws -> Result {
    try await withTaskExecutorPreference(executor) { try body() }
}
#endif
