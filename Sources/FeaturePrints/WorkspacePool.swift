import Inference
import Synchronization

/// The memory of forward passes, reused by later passes.
final class WorkspacePool: Sendable {
    private let free = Mutex<[Workspace]>([])

    /// Calls `body` with a workspace that no other thread uses during the call.
    func withWorkspace<Result, Failure: Error>(
        for network: Network, batch: Int, threads: Int, _ body: (Workspace) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let kept = free.withLock { free in
            free.firstIndex { $0.batchCapacity == batch && $0.threads == threads }.map { free.remove(at: $0) }
        }
        let workspace = kept ?? network.makeWorkspace(batchCapacity: batch, threads: threads)
        defer { free.withLock { $0.append(workspace) } }
        return try body(workspace)
    }
}
