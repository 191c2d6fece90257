import Compute
import Synchronization
import Testing

struct ComputeExecutorTests {
    /// A thread that could not be started was counted all the same, and jobs waited for it forever.
    @Test func jobsWaitUntilAThreadCanBeStarted() async throws {
        let attempts = Mutex(0)
        let executor = ComputeExecutor(threads: 2) { name, body in
            let number = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return number > 3 && DetachedThread.start(named: name, body)
        }
        let results = await withTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask(executorPreference: executor) { number }
            }
            return await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(results == Set(0..<8))
        #expect(attempts.withLock { $0 } >= 4)
    }
}
