#if Service
import HTTPTypes
import Lookalike
import Synchronization

/// Runs work in a number of places. Other work waits in the order in which it came; a task that is cancelled leaves.
///
/// With limits, work waits for a short time, and more is refused at once: work for which there is no room, and work
/// that would wait longer than the deadline, by the average time of what was done lately.
final class WorkPool: Sendable {
    private struct State {
        var running = 0
        /// A ticket for each task that waits. Whoever takes a ticket out answers it.
        var waiting: [FirstOutcome<Void>] = []
        /// Seconds that work takes, a moving average; nil at first.
        var average: Double?
    }

    private let places: Int
    private let queueLimit: Int
    private let deadline: Duration?
    private let metrics: PoolMetrics?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - places: how many run at once.
    ///   - queueLimit: how many wait at most.
    ///   - deadline: how long they wait at most; nil for any time.
    /// - Precondition: at least one place.
    init(places: Int, queueLimit: Int = .max, deadline: Duration? = nil, metrics: PoolMetrics? = nil) {
        precondition(places > 0, "a pool with \(places) places runs nothing")
        self.places = places
        self.queueLimit = queueLimit
        self.deadline = deadline
        self.metrics = metrics
    }

    /// Runs `body` when there is a place.
    ///
    /// - Throws: ``Problem`` if there is none in time, `CancellationError`, and what `body` throws.
    func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await enter()
        let start = ContinuousClock.now
        defer { leave(after: ContinuousClock.now - start) }
        return try await body()
    }

    /// Refuses work that `run` would refuse now, before its body is read.
    func check() throws(Problem) {
        if let wait = state.withLock({ refusedWait($0) }) { throw refusal(wait) }
    }

    private func enter() async throws {
        enum Entry { case free, refused(Duration), waiting }
        let ticket = FirstOutcome<Void>()
        let entry: Entry = state.withLock { state in
            if let wait = refusedWait(state) { return .refused(wait) }
            guard state.running >= places else {
                state.running += 1
                return .free
            }
            state.waiting.append(ticket)
            return .waiting
        }
        report()
        switch entry {
        case .free: return
        case .refused(let wait): throw refusal(wait)
        case .waiting: try await wait(for: ticket)
        }
    }

    private func wait(for ticket: FirstOutcome<Void>) async throws {
        let start = ContinuousClock.now
        let timer = deadline.map { deadline in
            Task {
                try await Task.sleep(for: deadline)
                if remove(ticket) { ticket.set(.failure(refusal(deadline))) }
            }
        }
        defer { timer?.cancel() }
        try await withTaskCancellationHandler {
            try await ticket.value
        } onCancel: {
            if remove(ticket) { ticket.set(.failure(CancellationError())) }
        }
        metrics?.waited(ContinuousClock.now - start)
    }

    /// Takes a ticket out of the queue. Returns false if it has been taken out.
    private func remove(_ ticket: FirstOutcome<Void>) -> Bool {
        let index = state.withLock { state in
            let index = state.waiting.firstIndex { $0 === ticket }
            if let index { state.waiting.remove(at: index) }
            return index
        }
        report()
        return index != nil
    }

    private func leave(after time: Duration) {
        let next = state.withLock { state -> FirstOutcome<Void>? in
            let seconds = time / .seconds(1)
            state.average = state.average.map { $0 * 0.9 + seconds * 0.1 } ?? seconds
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.running -= 1
            return nil
        }
        next?.set(.success(()))
        report()
    }

    /// How long new work would wait if that is too long; nil if it may run or wait.
    private func refusedWait(_ state: State) -> Duration? {
        guard state.running >= places else { return nil }
        let wait = Duration.seconds((state.average ?? 0) * Double(state.waiting.count) / Double(places))
        return state.waiting.count >= queueLimit || deadline.map { wait > $0 } ?? false ? wait : nil
    }

    private func refusal(_ wait: Duration) -> Problem {
        metrics?.refused()
        let seconds = max(1, Int((wait / .seconds(1)).rounded(.up)))
        return Problem(
            .overloaded, "Too many requests wait already; try again in \(seconds) s.",
            headers: [.retryAfter: "\(seconds)"])
    }

    private func report() {
        guard let metrics else { return }
        let (running, waiting) = state.withLock { ($0.running, $0.waiting.count) }
        metrics.set(running: running, waiting: waiting)
    }
}
#endif
