import Synchronization

/// Whether a computation is no longer wanted. Any thread that takes part in it may ask; asking costs a read of memory.
package final class Cancellation: Sendable {
    /// Never set.
    package static let none = Cancellation()

    private let flag = Atomic<Bool>(false)

    package init() {}

    package var isCancelled: Bool { flag.load(ordering: .relaxed) }

    package func cancel() { flag.store(true, ordering: .relaxed) }

    package func check() throws(CancellationError) {
        if isCancelled { throw CancellationError() }
    }
}
