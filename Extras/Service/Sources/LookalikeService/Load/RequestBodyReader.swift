#if Service
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Reads bodies into memory, within a limit for each and one for all of them together.
struct RequestBodyReader: Sendable {
    /// The maximum number of bytes of a body.
    let limit: Int
    let budget: ByteBudget
    /// How long a client may send nothing.
    let idleTime: Duration

    /// The body, and a claim on the budget that ends with it.
    func read(_ request: Request, for client: WorkClient) async throws -> HeldBody {
        let announced = request.headers[.contentLength].flatMap { Int($0) }
        if let announced, announced > limit { throw tooLarge }
        try budget.check(announced ?? 0, for: client)
        // Claim bytes as they come: what a stalled client announced takes no memory, and must not keep others out.
        let claim = budget.claim(for: client)
        var data = Data()
        var pace = BodyPace(idleTime: idleTime)
        var start = ContinuousClock.now
        for try await buffer in request.body {
            try pace.add(buffer.readableBytes, after: .now - start)
            start = .now
            guard data.count + buffer.readableBytes <= limit else { throw tooLarge }
            try claim.add(buffer.readableBytes)
            buffer.withUnsafeReadableBytes { data.append(contentsOf: $0) }
        }
        return HeldBody(data: data, claim: claim)
    }

    private var tooLarge: Problem { Problem(.bodyTooLarge, "The body has more than \(limit) bytes, the limit.") }
}

/// A body in memory.
struct HeldBody: Sendable {
    let data: Data
    let claim: ByteBudget.Claim
}

/// Whether a body comes fast enough to be kept in memory meanwhile.
///
/// A client that sends a byte now and then is never idle, and would keep its part of ``ByteBudget`` for as long as it
/// likes.
struct BodyPace {
    static let slowestBytesPerSecond = 64 << 10

    /// What a client may wait in all, besides the time for its bytes at the slowest rate.
    private let idleTime: Duration
    private var waited = Duration.zero
    private var received = 0

    init(idleTime: Duration) { self.idleTime = idleTime }

    /// Adds bytes that came.
    ///
    /// - Parameter wait: how long the bytes were waited for.
    /// - Throws: ``Problem`` if the body is too slow.
    mutating func add(_ count: Int, after wait: Duration) throws(Problem) {
        (received, waited) = (received + count, waited + wait)
        guard waited <= idleTime + .seconds(Double(received) / Double(Self.slowestBytesPerSecond)) else {
            throw Problem(.slowBody, "The body comes at less than \(Self.slowestBytesPerSecond >> 10) KiB a second.")
        }
    }
}

/// Bytes that clients share, such as the memory that bodies of requests may take together.
///
/// A client has at most half of what the others leave, so that there is always something left; beyond that it may have
/// a small body, for which others have to be many.
@_spi(Service) public final class ByteBudget: Sendable {
    private struct State {
        var used = 0
        /// What each client has; those that have nothing are not there.
        var shares: [WorkClient: Int] = [:]
    }

    private let limit: Int
    /// What a client may have if it fits, however much others have.
    private let least: Int
    private let state = Mutex(State())

    /// - Parameter body: the most that a body has, which always fits where nothing else is.
    @_spi(Service) public init(limit: Int, body: Int) {
        self.limit = limit
        least = body > limit / 2 ? body : min(1 << 20, limit / 32)
    }

    /// A part of the budget, until it is no longer referenced.
    @_spi(Service) public final class Claim: Sendable {
        private let budget: ByteBudget
        private let client: WorkClient
        private let held = Mutex(0)

        fileprivate init(of budget: ByteBudget, for client: WorkClient) {
            (self.budget, self.client) = (budget, client)
        }

        /// Claims more bytes.
        ///
        /// - Throws: ``Problem`` if too little is left.
        @_spi(Service) public func add(_ more: Int) throws {
            try budget.take(more, for: client)
            held.withLock { $0 += more }
        }

        /// Gives back all bytes beyond `rest`.
        @_spi(Service) public func shrink(to rest: Int) {
            let released = held.withLock { held in
                defer { held = min(held, rest) }
                return max(0, held - rest)
            }
            if released > 0 { budget.giveBack(released, of: client) }
        }

        deinit { shrink(to: 0) }
    }

    /// The bytes that are taken.
    var used: Int { state.withLock { $0.used } }

    /// A part of the budget, without any bytes yet.
    @_spi(Service) public func claim(for client: WorkClient) -> Claim { Claim(of: self, for: client) }

    /// Refuses what does not fit now, before it is read.
    ///
    /// - Throws: ``Problem``.
    func check(_ count: Int, for client: WorkClient) throws(Problem) {
        if !state.withLock({ fits(count, for: client, $0) }) { throw Self.full }
    }

    private func take(_ count: Int, for client: WorkClient) throws(Problem) {
        let isTaken = state.withLock { state in
            guard fits(count, for: client, state) else { return false }
            state.used += count
            state.shares[client, default: 0] += count
            return true
        }
        if !isTaken { throw Self.full }
    }

    private func fits(_ count: Int, for client: WorkClient, _ state: State) -> Bool {
        guard count <= limit - state.used else { return false }
        let own = state.shares[client] ?? 0
        return own + count <= max((limit - (state.used - own)) / 2, least)
    }

    private func giveBack(_ count: Int, of client: WorkClient) {
        state.withLock { state in
            state.used -= count
            state.shares[client, default: 0] -= count
            if state.shares[client] == 0 { state.shares[client] = nil }
        }
    }

    private static var full: Problem {
        Problem(
            .overloaded, "Requests in flight take all memory that is set aside for them; try again.",
            headers: [.retryAfter: "1"])
    }
}
#endif
