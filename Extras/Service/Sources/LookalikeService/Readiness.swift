import Synchronization

/// Whether requests should be sent to this process.
package final class Readiness: Sendable {
    package enum State: String, Sendable { case starting, ready, stopping }

    private let state = Mutex(State.starting)

    package init() {}

    package var current: State { state.withLock { $0 } }

    /// A service that was told to stop while it started does not get ready.
    package func set(_ new: State) { state.withLock { if new != .ready || $0 == .starting { $0 = new } } }
}
