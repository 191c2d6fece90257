import Dispatch
import Foundation
import Synchronization

/// A fixed number of threads with one queue of jobs. Threads without a job help where work is shared.
///
/// Unchecked: `condition` guards all that changes, except for the atomics.
final class ComputeThreads: @unchecked Sendable {
    typealias StartThread = @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool

    let count: Int

    private let processID = getpid()
    private let startThread: StartThread
    private let condition = NSCondition()
    private var jobs = JobQueue()
    /// Shared work that takes more helpers.
    private var open: [SharedWork] = []
    private var startedCount = 0
    private var isStopped = false
    /// Jobs in the queue.
    private let waitingCount = Atomic<Int>(0)
    /// Threads that run a job or help.
    private let busyCount = Atomic<Int>(0)

    /// - Parameter startThread: runs a closure on a thread with a name; false if that cannot be started.
    init(count: Int, startThread: @escaping StartThread) { (self.count, self.startThread) = (count, startThread) }

    /// Whether a job waits for a thread.
    var hasWaitingJobs: Bool { waitingCount.load(ordering: .relaxed) > 0 }

    /// Threads that have nothing to do; none while jobs wait, and none after a fork: the child has only the thread that
    /// forked, and another one may have held a lock.
    var availableCount: Int {
        guard !hasWaitingJobs, getpid() == processID else { return 0 }
        return max(0, count - busyCount.load(ordering: .relaxed))
    }

    func enqueue(_ job: UnownedJob, on executor: UnownedTaskExecutor) {
        condition.lock()
        jobs.append(JobQueue.Entry(job: job, executor: executor))
        waitingCount.wrappingAdd(1, ordering: .relaxed)
        startThreads()
        // Not after the lock is given up: the job may then be done already, and its executor, and this object, gone.
        condition.signal()
        condition.unlock()
    }

    /// Lets the threads end once the queue is empty.
    func stop() {
        condition.lock()
        isStopped = true
        condition.unlock()
        condition.broadcast()
    }

    /// Runs `body` on this thread and on up to `helpers` idle ones. Returns when all have returned.
    ///
    /// - Parameter body: shares out the work by itself; a thread that arrives late may find nothing left. Its argument
    ///   says whether a helping thread should return because a job waits for it.
    func share(helpers: Int, _ body: @Sendable (_ isWantedElsewhere: () -> Bool) -> Void) {
        let wanted = min(helpers, availableCount)
        guard wanted > 0 else { return body { false } }
        withoutActuallyEscaping(body) { body in
            let work = SharedWork(slots: wanted, body: body)
            condition.lock()
            open.append(work)
            startThreads(helpers: wanted)
            condition.unlock()
            for _ in 0..<wanted { condition.signal() }
            body { false }
            condition.lock()
            open.removeAll { $0 === work }
            condition.unlock()
            work.waitForHelpers()
        }
    }

    // MARK: Threads

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let failure = pthread_key_create(&key, nil)
        require(failure == 0, "a process has room for one more thread-specific key")
        return key
    }()

    /// The threads that the current one belongs to; the shared ones for any other thread.
    static var current: ComputeThreads {
        guard let address = pthread_getspecific(key) else { return ComputeExecutor.shared.threads }
        return Unmanaged<ComputeThreads>.fromOpaque(address).takeUnretainedValue()
    }

    /// Starts threads if those that have nothing to do are fewer than the waiting jobs and the helpers that are wanted.
    /// The lock is held.
    private func startThreads(helpers: Int = 0) {
        // A thread that was woken for a job is idle here until it has taken it, and so the job still counts as well.
        let idle = startedCount - busyCount.load(ordering: .relaxed)
        let wanted = waitingCount.load(ordering: .relaxed) + helpers
        for _ in 0..<max(0, min(wanted - idle, count - startedCount)) {
            while !startThread("lookalike-\(startedCount + 1)", { self.run() }) {
                // The others help. Without any, jobs would wait forever; libdispatch, too, tries again until it works.
                if startedCount > 0 { return }
                usleep(10_000)
            }
            startedCount += 1
        }
    }

    private func run() {
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        condition.lock()
        while true {
            if let next = jobs.popFirst() {
                waitingCount.wrappingSubtract(1, ordering: .relaxed)
                busyCount.wrappingAdd(1, ordering: .relaxed)
                condition.unlock()
                next.job.runSynchronously(on: next.executor)
                condition.lock()
                busyCount.wrappingSubtract(1, ordering: .relaxed)
            } else if let work = open.first {
                if work.takeSlot() { open.removeFirst() }
                busyCount.wrappingAdd(1, ordering: .relaxed)
                condition.unlock()
                work.help { self.hasWaitingJobs }
                condition.lock()
                busyCount.wrappingSubtract(1, ordering: .relaxed)
            } else if isStopped {
                condition.unlock()
                return
            } else {
                condition.wait()
            }
        }
    }
}

/// Jobs in the order in which they came.
private struct JobQueue {
    struct Entry {
        let job: UnownedJob
        let executor: UnownedTaskExecutor
    }

    private var entries: [Entry] = []
    private var first = 0

    mutating func append(_ entry: Entry) { entries.append(entry) }

    /// O(1), amortized.
    mutating func popFirst() -> Entry? {
        guard first < entries.count else { return nil }
        defer {
            first += 1
            if first == entries.count || first >= 1024 {
                entries.removeFirst(first)
                first = 0
            }
        }
        return entries[first]
    }
}

/// Work that one thread began and others help with.
///
/// Unchecked: `slots` is guarded by the lock of the threads, and `body` is only read while helpers are counted.
private final class SharedWork: @unchecked Sendable {
    private var body: (@Sendable (() -> Bool) -> Void)?
    /// Helpers that may still join.
    private var slots: Int
    /// Helpers that joined and have not returned.
    private let helpers = Atomic<Int>(0)
    private let returned = DispatchSemaphore(value: 0)

    init(slots: Int, body: @escaping @Sendable (() -> Bool) -> Void) {
        self.slots = slots
        self.body = body
    }

    /// Counts a helper; returns whether it was the last that may join. The lock of the threads is held.
    func takeSlot() -> Bool {
        slots -= 1
        helpers.wrappingAdd(1, ordering: .relaxed)
        return slots == 0
    }

    func help(_ isWantedElsewhere: () -> Bool) {
        callBody(isWantedElsewhere)
        if helpers.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { returned.signal() }
    }

    /// In a function of its own, so that nothing of the closure is held after it: the thread that began the work owns
    /// what the closure captures, and goes on as soon as no helper is counted.
    @inline(never)
    private func callBody(_ isWantedElsewhere: () -> Bool) { body?(isWantedElsewhere) }

    /// Returns when no helper is at work. No more may join.
    func waitForHelpers() {
        // Helpers finish within moments of each other; sleeping takes longer than most of these waits.
        var spins = 0
        while helpers.load(ordering: .acquiring) > 0, spins < 1 << 11 { spins += 1 }
        while helpers.load(ordering: .acquiring) > 0 { returned.wait() }
        body = nil
    }
}
