import Compute
import Foundation
import Synchronization

/// Runs the steps of a pass in order; threads take the parts of a step dynamically.
///
/// The threads stay for the whole pass: waking them for each of about twenty-five layers would take longer than a
/// layer. Each step ends in a spin barrier over finished parts; late workers delay nobody.
final class ForwardPass: Sendable {
    /// A counter on a cache line of its own.
    private struct Counter: ~Copyable {
        let value = Atomic<Int>(0)
        private let padding: (Int64, Int64, Int64, Int64, Int64, Int64, Int64) = (0, 0, 0, 0, 0, 0, 0)
    }

    private nonisolated(unsafe) let taken: UnsafeMutablePointer<Counter>
    private nonisolated(unsafe) let done: UnsafeMutablePointer<Counter>
    private let parts: [Int]

    /// - Parameter parts: the number of parts of each step.
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

    /// Calls `body` with every step and part, on up to `threads` threads, and with the index of the thread.
    ///
    /// - Precondition: no other call is in progress.
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
                    // A thread that was suspended in the middle of a part needs this core.
                    if spins % 2048 == 0 { sched_yield() }
                }
            }
        }
    }
}
