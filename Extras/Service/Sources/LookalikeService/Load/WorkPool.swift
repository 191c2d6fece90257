#if Service
public import Foundation
import HTTPTypes
import Lookalike
import Synchronization

/// Whose work it is: clients with the same key share what the key gets, and those without a key have none.
@_spi(Service) public struct WorkClient: Hashable, Sendable {
    /// SHA-256 of the key.
    @_spi(Service) public let key: Data?
    /// The address, of which one client has one.
    @_spi(Service) public let address: String

    @_spi(Service) public init(key: Data?, address: String) {
        self.key = key
        self.address = address
    }

    /// The service itself.
    static let service = WorkClient(key: nil, address: "")
}

/// Runs work in a number of places. Other work waits; a task that is cancelled leaves. The next place is for the key
/// that has had the least time of those that wait, and among its clients for the one that has; work of the same client
/// runs in the order in which it came.
///
/// With limits, work waits for a short time, and more is refused at once: work for which there is no room, and work
/// that would wait longer than the deadline, by the average time of what was done lately.
@_spi(Service) public final class WorkPool: Sendable {
    private struct Ticket {
        /// Whoever takes a ticket out answers it.
        let outcome: FirstOutcome<Void>
        let client: WorkClient
    }

    private struct State {
        var running = 0
        /// A ticket for each task that waits, in the order in which they came.
        var waiting: [Ticket] = []
        /// Seconds that work takes, a moving average; nil at first.
        var average: Double?
        var keys = Shares<Data?>()
        var clients = Shares<WorkClient>()
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
    @_spi(Service) public convenience init(places: Int, queueLimit: Int = .max, deadline: Duration? = nil) {
        self.init(places: places, queueLimit: queueLimit, deadline: deadline, metrics: nil)
    }

    init(places: Int, queueLimit: Int = .max, deadline: Duration? = nil, metrics: PoolMetrics?) {
        precondition(places > 0, "a pool with \(places) places runs nothing")
        self.places = places
        self.queueLimit = queueLimit
        self.deadline = deadline
        self.metrics = metrics
    }

    /// The number of tasks that wait.
    @_spi(Service) public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` when there is a place.
    ///
    /// - Parameters:
    ///   - client: whose work it is.
    ///   - isPatient: whether it waits however long it takes, and is never refused.
    /// - Throws: ``Problem`` if there is none in time, `CancellationError`, and what `body` throws.
    @_spi(Service) public func run<Result>(
        for client: WorkClient, isPatient: Bool = false, _ body: () async throws -> Result
    ) async throws -> Result {
        try await enter(client, isPatient: isPatient)
        let start = ContinuousClock.now
        defer { leave(client, after: ContinuousClock.now - start) }
        return try await body()
    }

    /// Runs work of the service itself.
    func run<Result>(_ body: () async throws -> Result) async throws -> Result { try await run(for: .service, body) }

    /// Refuses work that `run` would refuse now, before its body is read.
    func check(for client: WorkClient) throws(Problem) {
        if let wait = state.withLock({ refusedWait(client, $0) }) { throw refusal(wait) }
    }

    private func enter(_ client: WorkClient, isPatient: Bool) async throws {
        enum Entry { case free, refused(Duration), waiting(pushedOut: Ticket?) }
        let ticket = Ticket(outcome: FirstOutcome<Void>(), client: client)
        let entry: Entry = state.withLock { state in
            if !isPatient, let wait = refusedWait(client, state) { return .refused(wait) }
            state.keys.arrive(client.key)
            state.clients.arrive(client)
            guard state.running >= places else {
                state.running += 1
                state.keys.begin(client.key)
                state.clients.begin(client)
                return .free
            }
            let pushedOut = isPatient ? nil : makeRoom(for: client, &state)
            state.waiting.append(ticket)
            return .waiting(pushedOut: pushedOut)
        }
        report()
        switch entry {
        case .free: return
        case .refused(let wait): throw refusal(wait)
        case .waiting(let pushedOut):
            pushedOut?.outcome.set(.failure(refusal(deadline ?? .seconds(1))))
            try await wait(for: ticket, until: isPatient ? nil : deadline)
        }
    }

    private func wait(for ticket: Ticket, until deadline: Duration?) async throws {
        let start = ContinuousClock.now
        let timer = deadline.map { deadline in
            Task {
                try await Task.sleep(for: deadline)
                if remove(ticket) { ticket.outcome.set(.failure(refusal(deadline))) }
            }
        }
        defer { timer?.cancel() }
        try await withTaskCancellationHandler {
            try await ticket.outcome.value
        } onCancel: {
            if remove(ticket) { ticket.outcome.set(.failure(CancellationError())) }
        }
        metrics?.waited(ContinuousClock.now - start)
    }

    /// Takes a ticket out of the queue. Returns false if it has been taken out.
    private func remove(_ ticket: Ticket) -> Bool {
        let isThere = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.outcome === ticket.outcome }) else { return false }
            Self.takeOut(index, &state)
            return true
        }
        report()
        return isThere
    }

    @discardableResult
    private static func takeOut(_ index: Int, _ state: inout State) -> Ticket {
        let ticket = state.waiting.remove(at: index)
        state.keys.leave(ticket.client.key)
        state.clients.leave(ticket.client)
        return ticket
    }

    /// Takes the last ticket of the client that has the most out of a full queue, for one that has fewer.
    private func makeRoom(for client: WorkClient, _ state: inout State) -> Ticket? {
        guard state.waiting.count >= queueLimit, let most = state.clients.mostWaiting else { return nil }
        return state.waiting.lastIndex { $0.client == most.id }.map { Self.takeOut($0, &state) }
    }

    private func leave(_ client: WorkClient, after time: Duration) {
        let next = state.withLock { state -> FirstOutcome<Void>? in
            let seconds = time / .seconds(1)
            state.average = state.average.map { $0 * 0.9 + seconds * 0.1 } ?? seconds
            state.keys.end(client.key, after: seconds)
            state.clients.end(client, after: seconds)
            guard let index = nextIndex(state) else {
                state.running -= 1
                return nil
            }
            let ticket = state.waiting.remove(at: index)
            state.keys.begin(ticket.client.key)
            state.clients.begin(ticket.client)
            return ticket.outcome
        }
        next?.set(.success(()))
        report()
    }

    private func nextIndex(_ state: State) -> Int? {
        let average = state.average ?? 0
        func share(_ ticket: Ticket) -> (Double, Double) {
            (state.keys.time(of: ticket.client.key, average), state.clients.time(of: ticket.client, average))
        }
        return state.waiting.indices.min { share(state.waiting[$0]) < share(state.waiting[$1]) }
    }

    /// How long new work would wait if that is too long; nil if it may run or wait.
    private func refusedWait(_ client: WorkClient, _ state: State) -> Duration? {
        guard state.running >= places else { return nil }
        let own = state.clients.waiting(of: client)
        // Others get a place after each of the client's own, as long as they have work.
        let ahead =
            state.keys.waiting(atMost: state.keys.waiting(of: client.key) + 1) { $0 != client.key }
            + state.clients.waiting(atMost: own + 1) { $0.key == client.key }
        let wait = Duration.seconds((state.average ?? 0) * Double(ahead) / Double(places))
        let isFull =
            state.waiting.count >= queueLimit
            && (queueLimit == 0 || (state.clients.mostWaiting?.count ?? 0) <= own + 1)
        return isFull || deadline.map { wait > $0 } ?? false ? wait : nil
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

/// The time that each of those got who have work now. Who comes starts with as much as the one who has had the least.
private struct Shares<ID: Hashable & Sendable>: Sendable {
    private struct Share {
        var seconds: Double
        /// Running or waiting.
        var count = 0
        var running = 0
    }

    private var shares: [ID: Share] = [:]

    mutating func arrive(_ id: ID) {
        let least = shares[id] == nil ? shares.values.map(\.seconds).min() : nil
        shares[id, default: Share(seconds: least ?? 0)].count += 1
    }

    mutating func begin(_ id: ID) { shares[id]?.running += 1 }

    mutating func end(_ id: ID, after seconds: Double) {
        shares[id]?.running -= 1
        shares[id]?.seconds += seconds
        leave(id)
    }

    mutating func leave(_ id: ID) {
        shares[id]?.count -= 1
        if shares[id]?.count == 0 { shares[id] = nil }
    }

    func waiting(of id: ID) -> Int { shares[id].map { $0.count - $0.running } ?? 0 }

    /// What waits of those that satisfy a condition, with a limit for each of them.
    func waiting(atMost most: Int, where isIncluded: (ID) -> Bool) -> Int {
        shares.reduce(0) { $0 + (isIncluded($1.key) ? min(most, $1.value.count - $1.value.running) : 0) }
    }

    /// The one of whom most waits.
    var mostWaiting: (id: ID, count: Int)? {
        shares.max { $0.value.count - $0.value.running < $1.value.count - $1.value.running }
            .map { ($0.key, $0.value.count - $0.value.running) }
    }

    /// The seconds that one got, with those that its running work will take.
    func time(of id: ID, _ average: Double) -> Double {
        shares[id].map { $0.seconds + Double($0.running) * average } ?? 0
    }
}
#endif
