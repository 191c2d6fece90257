import Dispatch
import Synchronization

/// Waits for a task on the calling thread, which must be one that no task needs, such as a program's own.
///
/// - Parameter isInterrupted: asked on the calling thread now and then. The task is cancelled if it is true.
package func waiting<Value: Sendable>(
    unless isInterrupted: () -> Bool = { false }, _ body: @escaping @Sendable () async throws -> Value
) throws -> Value {
    let (outcome, done) = (Outcome<Value>(), DispatchSemaphore(value: 0))
    let task = Task.detached {
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        outcome.value.withLock { $0 = result }
        done.signal()
    }
    while done.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
        if isInterrupted() {
            task.cancel()
            done.wait()
            break
        }
    }
    guard let result = outcome.value.withLock({ $0 }) else { throw CancellationError() }
    return try result.get()
}

private final class Outcome<Value: Sendable>: Sendable {
    let value = Mutex<Result<Value, any Error>?>(nil)
}
