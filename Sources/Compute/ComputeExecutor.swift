import CKernels
import Foundation

/// Threads of the package's own, on which searches and index runs compute.
///
/// Swift's tasks share a small pool of threads, and a task that computes for long keeps it from all others. So a
/// catalog computes here, and tasks that await its results wait without a thread.
///
/// **How many threads a query gets.** A job of the queue runs on one thread. Work that can be split is shared with the
/// threads that have nothing to do at that moment. So a query that is alone uses all cores, and under load each query
/// has one. A thread that helps goes back to the queue as soon as a job waits there.
///
/// Threads start when they are first needed; a process that computes nothing has none.
///
/// ```swift
/// let executor = ComputeExecutor(threads: 2)
/// let catalog = try Catalog(at: url, executor: executor)
/// ```
public final class ComputeExecutor: TaskExecutor {
    /// One thread per processor that the process may run on; used unless another executor is given.
    public static let shared = ComputeExecutor(threads: availableProcessorCount)

    /// The maximum number of threads.
    public var threadCount: Int { threads.count }

    let threads: ComputeThreads

    /// An executor with threads of its own.
    ///
    /// - Parameter threads: the maximum number of threads.
    /// - Precondition: at least one thread.
    public init(threads: Int) {
        require(threads > 0, "an executor with \(threads) threads runs nothing")
        self.threads = ComputeThreads(count: threads) { DetachedThread.start(named: $0, $1) }
    }

    /// An executor whose threads are started by a closure, which returns false if one cannot be started.
    package init(
        threads: Int,
        startThread: @escaping @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool
    ) { self.threads = ComputeThreads(count: threads, startThread: startThread) }

    deinit { threads.stop() }

    /// Runs a job on one of the threads, after those that wait already.
    public func enqueue(_ job: consuming ExecutorJob) {
        threads.enqueue(UnownedJob(job), on: asUnownedTaskExecutor())
    }
}

extension TaskExecutor {
    /// Runs `body` on this executor. It is given a flag that is set when the task is cancelled, which any thread that
    /// takes part may look at.
    ///
    /// - Throws: what `body` throws, and `CancellationError` if the task is cancelled before `body` begins.
    package func compute<Result: Sendable>(
        _ body: @Sendable (Cancellation) async throws -> Result
    ) async throws -> Result {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withTaskExecutorPreference(self) {
                try cancellation.check()
                return try await body(cancellation)
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}

/// The number of threads that a computation would get if it began now: the current one, and those with nothing to do.
package var availableThreadCount: Int {
    let threads = ComputeThreads.current
    return 1 + min(threads.availableCount, threads.count - 1)
}

/// The number of processors that this process may run on, at least 1. Unlike Foundation's count it respects CPU
/// affinity (`taskset`, a container's CPU set) and the time that a control group gives (a container's quota).
package var availableProcessorCount: Int {
    let allowed = Int(lk_available_processors())
    let count = allowed > 0 ? allowed : max(1, ProcessInfo.processInfo.activeProcessorCount)
    return min(count, quotaOfProcessors)
}

/// Read once: a quota is seldom changed, and the count is asked for often.
private let quotaOfProcessors = ControlGroups().processors.map { max(1, Int($0.rounded(.up))) } ?? .max

/// A number of threads that a process can have: each takes memory of its own, such as a network's activations.
package func threadCount(_ wanted: Int) -> Int { min(max(1, wanted), mostThreads) }

package let mostThreads = 1024
