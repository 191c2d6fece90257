import Synchronization

/// Whether requests should be sent to this process.
final class Readiness: Sendable {
    enum State: String, Sendable { case starting, ready, stopping }

    private let state = Mutex(State.starting)

    var current: State { state.withLock { $0 } }

    func set(_ new: State) { state.withLock { $0 = new } }
}
