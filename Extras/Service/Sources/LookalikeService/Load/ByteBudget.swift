import HTTPTypes
import Synchronization

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

        /// - Throws: ``Problem`` if too little is left.
        func add(_ more: Int) throws(Problem) {
            try budget.take(more)
            held.withLock { $0 += more }
        }

        /// Gives back all that is more than `rest`.
        func shrink(to rest: Int) {
            let released = held.withLock { held in
                defer { held = min(held, rest) }
                return max(0, held - rest)
            }
            budget.used.withLock { $0 -= released }
        }

        deinit { shrink(to: 0) }
    }

    /// - Throws: ``Problem`` if too little is left.
    func claim(_ count: Int) throws(Problem) -> Claim {
        try take(count)
        return Claim(count, of: self)
    }

    private func take(_ count: Int) throws(Problem) {
        let fits = used.withLock { used in
            guard count <= limit - used else { return false }
            used += count
            return true
        }
        guard fits else {
            throw Problem(
                .overloaded, "Requests in flight take all memory that is set aside for them; try again.",
                headers: [.retryAfter: "1"])
        }
    }
}
