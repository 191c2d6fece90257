#if Service
import Compute
import Synchronization

/// Memory that is lent in parts. Who needs more than is left waits, and then comes first.
@_spi(Service) public final class MemoryLane: Sendable {
    private struct State {
        var free: Int
        var waiting: [(count: Int, outcome: FirstOutcome<Void>)] = []
    }

    private let size: Int
    private let state: Mutex<State>

    @_spi(Service) public init(size: Int) {
        self.size = size
        state = Mutex(State(free: size))
    }

    /// The parts that wait.
    @_spi(Service) public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// How many parts of a size there are, up to a number and at least one, and the bytes that they have.
    func parts(of size: Int, atMost most: Int) -> (count: Int, bytes: Int) {
        let count = max(1, min(most, self.size / max(1, size)))
        return (count, min(self.size, count * min(size, self.size)))
    }

    /// Runs `body` with a part of the memory, or all of it if there is less.
    ///
    /// - Throws: `CancellationError`, and what `body` throws.
    @_spi(Service) public func lending<Answer>(_ count: Int, _ body: () async throws -> Answer) async throws -> Answer {
        let count = min(max(0, count), size)
        let outcome = FirstOutcome<Void>()
        let isLent = state.withLock { state in
            guard state.waiting.isEmpty, count <= state.free else {
                state.waiting.append((count, outcome))
                return false
            }
            state.free -= count
            return true
        }
        if !isLent {
            try await withTaskCancellationHandler {
                try await outcome.value
            } onCancel: {
                let isWaiting = state.withLock { state in
                    guard let index = state.waiting.firstIndex(where: { $0.outcome === outcome }) else { return false }
                    state.waiting.remove(at: index)
                    return true
                }
                if isWaiting { outcome.set(.failure(CancellationError())) }
                // Others may have waited for it alone.
                giveBack(0)
            }
        }
        defer { giveBack(count) }
        return try await body()
    }

    private func giveBack(_ count: Int) {
        let next = state.withLock { state in
            state.free += count
            var next: [FirstOutcome<Void>] = []
            while let first = state.waiting.first, first.count <= state.free {
                state.free -= first.count
                next.append(first.outcome)
                state.waiting.removeFirst()
            }
            return next
        }
        for outcome in next { outcome.set(.success(())) }
    }
}
#endif
