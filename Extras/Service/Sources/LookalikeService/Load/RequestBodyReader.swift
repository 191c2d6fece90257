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
    func read(_ request: Request) async throws -> HeldBody {
        let announced = request.headers[.contentLength].flatMap { Int($0) }
        if let announced, announced > limit { throw tooLarge }
        try budget.check(announced ?? 0)
        // Claim bytes as they come: what a stalled client announced takes no memory, and must not keep others out.
        let claim = try budget.claim(0)
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

/// The memory that bodies of requests may take together.
final class ByteBudget: Sendable {
    private let limit: Int
    private let used = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// A part of the budget, until it is no longer referenced.
    final class Claim: Sendable {
        private let budget: ByteBudget
        private let held: Mutex<Int>

        fileprivate init(_ count: Int, of budget: ByteBudget) {
            held = Mutex(count)
            self.budget = budget
        }

        /// Claims more bytes.
        ///
        /// - Throws: ``Problem`` if too little is left.
        func add(_ more: Int) throws(Problem) {
            try budget.take(more)
            held.withLock { $0 += more }
        }

        /// Gives back all bytes beyond `rest`.
        func shrink(to rest: Int) {
            let released = held.withLock { held in
                defer { held = min(held, rest) }
                return max(0, held - rest)
            }
            budget.used.withLock { $0 -= released }
        }

        deinit { shrink(to: 0) }
    }

    /// Claims a part of the budget.
    ///
    /// - Throws: ``Problem`` if too little is left.
    func claim(_ count: Int) throws(Problem) -> Claim {
        try take(count)
        return Claim(count, of: self)
    }

    /// Refuses what does not fit now, before it is read.
    ///
    /// - Throws: ``Problem``.
    func check(_ count: Int) throws(Problem) {
        if used.withLock({ count > limit - $0 }) { throw Self.full }
    }

    private func take(_ count: Int) throws(Problem) {
        let fits = used.withLock { used in
            guard count <= limit - used else { return false }
            used += count
            return true
        }
        if !fits { throw Self.full }
    }

    private static var full: Problem {
        Problem(
            .overloaded, "Requests in flight take all memory that is set aside for them; try again.",
            headers: [.retryAfter: "1"])
    }
}
#endif
