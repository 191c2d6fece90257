import HTTPTypes
import Synchronization

/// Admits work up to a number of places, lets some wait for a short time, and refuses the rest at once.
///
/// Whoever would wait longer than the deadline, by the average time of what was done lately, is refused at once instead
/// of at the deadline.
final class WorkPool: Sendable {
    private struct Waiting {
        let number: Int
        let continuation: CheckedContinuation<Void, any Error>
        let timer: Task<Void, any Error>
    }

    private struct State {
        var running = 0
        var waiting: [Waiting] = []
        var nextNumber = 0
        /// Those that will wait; one that is cancelled before is not here.
        var announced: Set<Int> = []
        /// Seconds that work takes, a moving average; nil at first.
        var average: Double?
    }

    let name: String
    let places: Int
    let queueLimit: Int
    let deadline: Duration
    private let metrics: PoolMetrics
    private let state = Mutex(State())

    /// - Parameters:
    ///   - places: what runs at once.
    ///   - queueLimit: what waits at most.
    ///   - deadline: how long it waits at most.
    /// - Precondition: at least one place.
    init(name: String, places: Int, queueLimit: Int, deadline: Duration, metrics: PoolMetrics) {
        precondition(places > 0, "a pool with \(places) places runs nothing")
        self.name = name
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

    /// Refuses work that `run` would refuse now; before a body is read.
    func check() throws(Problem) {
        let wait = state.withLock { expectedWait($0) }
        if let wait { try refuseIfLate(wait, isFull: state.withLock { $0.waiting.count >= queueLimit }) }
    }

    /// What runs and what waits.
    var load: (running: Int, waiting: Int) { state.withLock { ($0.running, $0.waiting.count) } }

    private func enter() async throws {
        enum Entry { case free, refused(wait: Duration?), wait(Int) }
        let entry: Entry = state.withLock { state in
            guard let wait = expectedWait(state) else {
                state.running += 1
                return .free
            }
            if state.waiting.count >= queueLimit || wait > deadline { return .refused(wait: wait) }
            state.nextNumber += 1
            state.announced.insert(state.nextNumber)
            return .wait(state.nextNumber)
        }
        report()
        switch entry {
        case .free: return
        case .refused(let wait): throw refusal(wait ?? deadline)
        case .wait(let number): try await wait(number)
        }
    }

    private func wait(_ number: Int) async throws {
        let start = ContinuousClock.now
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let timer = Task {
                    try await Task.sleep(for: deadline)
                    remove(number)?.resume(throwing: refusal(deadline))
                }
                let isCancelled = state.withLock { state in
                    guard state.announced.remove(number) != nil else { return true }
                    // Work may have ended since the place was asked for.
                    if state.running < places {
                        state.running += 1
                        timer.cancel()
                        continuation.resume()
                    } else {
                        state.waiting.append(Waiting(number: number, continuation: continuation, timer: timer))
                    }
                    return false
                }
                if isCancelled {
                    timer.cancel()
                    continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            remove(number)?.resume(throwing: CancellationError())
        }
        metrics.waited(ContinuousClock.now - start)
    }

    /// Takes one that waits out of the queue; nil if it is not there any more, or not yet.
    private func remove(_ number: Int) -> CheckedContinuation<Void, any Error>? {
        let found = state.withLock { state -> Waiting? in
            state.announced.remove(number)
            return state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
        }
        found?.timer.cancel()
        report()
        return found?.continuation
    }

    private func leave(after time: Duration) {
        let next = state.withLock { state -> Waiting? in
            let seconds = time / .seconds(1)
            state.average = state.average.map { $0 * 0.9 + seconds * 0.1 } ?? seconds
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.running -= 1
            return nil
        }
        next?.timer.cancel()
        next?.continuation.resume()
        report()
    }

    /// Nil if there is a place now.
    private func expectedWait(_ state: State) -> Duration? {
        guard state.running >= places else { return nil }
        return .seconds((state.average ?? 0) * Double(state.waiting.count) / Double(places))
    }

    private func refuseIfLate(_ wait: Duration, isFull: Bool) throws(Problem) {
        if isFull || wait > deadline { throw refusal(wait) }
    }

    private func refusal(_ wait: Duration) -> Problem {
        metrics.refused()
        let seconds = max(1, Int((wait / .seconds(1)).rounded(.up)))
        return Problem(
            .overloaded, "Too many requests wait already; try again in \(seconds) s.",
            headers: [.retryAfter: "\(seconds)"])
    }

    private func report() {
        let (running, waiting) = load
        metrics.set(running: running, waiting: waiting)
    }
}
