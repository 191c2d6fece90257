import Dispatch
import Synchronization

/// Runs jobs one after another on a queue of its own, once it is opened.
public final class GatedExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "gated")
    private let key = DispatchSpecificKey<Bool>()
    private let enqueued = Atomic(0)
    private let begun = Atomic(0)
    private let isOpen = Atomic(false)
    private let beforeJob: @Sendable (Int) -> Void

    /// Jobs that have been enqueued so far.
    public var jobCount: Int { enqueued.load(ordering: .relaxed) }

    /// - Parameter beforeJob: gets the number of the job, from 1 on.
    public init(beforeJob: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.beforeJob = beforeJob
        queue.setSpecific(key: key, value: true)
        queue.suspend()
    }

    // A suspended queue must not be released.
    deinit { open() }

    public func open() { if !isOpen.exchange(true, ordering: .relaxed) { queue.resume() } }

    /// Whether the caller is a job of this executor.
    public var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        enqueued.add(1, ordering: .relaxed)
        queue.async {
            self.beforeJob(self.begun.add(1, ordering: .relaxed).newValue)
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}
