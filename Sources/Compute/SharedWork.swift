import Dispatch
import Synchronization

/// Work that one thread began and others help with.
///
/// Unchecked: `slots` is guarded by the lock of the threads, and `body` is only read while helpers are counted.
final class SharedWork: @unchecked Sendable {
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
