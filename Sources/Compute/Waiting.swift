import Dispatch
import Synchronization

/// Waits for a task on the calling thread, which must be one that no task needs, such as a program's own.
package func waiting<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let (outcome, done) = (Outcome<Value>(), DispatchSemaphore(value: 0))
    Task.detached {
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        outcome.value.withLock { $0 = result }
        done.signal()
    }
    done.wait()
    guard let result = outcome.value.withLock({ $0 }) else { throw CancellationError() }
    return try result.get()
}

private final class Outcome<Value: Sendable>: Sendable {
    let value = Mutex<Result<Value, any Error>?>(nil)
}
