import Compute
import Foundation
import Synchronization

/// The steps of a pass in order, each cut into parts that threads take as they come.
///
/// All threads stay for the whole pass: waking them for each of some twenty-five layers would take longer
/// than a layer does. A thread that comes late, or never, is waited for nowhere; what is waited for is only
/// that the parts of a step are done before the next begins, by spinning, since that is a matter of
/// microseconds.
final class ForwardPass: Sendable {
    /// A counter on a cache line of its own.
    private struct Counter: ~Copyable {
        let value = Atomic<Int>(0)
        private let padding: (Int64, Int64, Int64, Int64, Int64, Int64, Int64) = (0, 0, 0, 0, 0, 0, 0)
    }

    private nonisolated(unsafe) let taken: UnsafeMutablePointer<Counter>
    private nonisolated(unsafe) let done: UnsafeMutablePointer<Counter>
    private let parts: [Int]

    /// - Parameter parts: how many parts each step has.
    init(parts: [Int]) {
        self.parts = parts
        taken = .allocate(capacity: parts.count)
        done = .allocate(capacity: parts.count)
        for step in parts.indices {
            (taken + step).initialize(to: Counter())
            (done + step).initialize(to: Counter())
        }
    }

    deinit {
        taken.deinitialize(count: parts.count)
        done.deinitialize(count: parts.count)
        taken.deallocate()
        done.deallocate()
    }

    /// Calls `body` with every step and part, from up to `threads` threads, whose numbers it is told too.
    /// Not to be called twice at once.
    func run(threads: Int, _ body: @Sendable (_ step: Int, _ part: Int, _ thread: Int) -> Void) {
        for step in parts.indices {
            taken[step].value.store(0, ordering: .relaxed)
            done[step].value.store(0, ordering: .relaxed)
        }
        _ = concurrentMap(threads, threads: threads) { thread in
            for (step, count) in parts.enumerated() {
                while true {
                    let part = taken[step].value.wrappingAdd(1, ordering: .relaxed).oldValue
                    guard part < count else { break }
                    body(step, part, thread)
                    done[step].value.wrappingAdd(1, ordering: .releasing)
                }
                var spins = 0
                while done[step].value.load(ordering: .acquiring) < count {
                    spins += 1
                    // A thread that was suspended with a part in its hands needs the core that is spun on.
                    if spins % 2048 == 0 { sched_yield() }
                }
            }
        }
    }
}
