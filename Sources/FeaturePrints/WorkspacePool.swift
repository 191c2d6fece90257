import Inference
import Synchronization

/// The memory of forward passes, reused by later passes.
package final class WorkspacePool: Sendable {
    /// The least recently used first.
    private let free = Mutex<[Workspace]>([])
    private let mostFreeBytes: Int

    /// - Parameter mostFreeBytes: how much memory to keep while no pass uses it; a single workspace may be larger.
    package init(mostFreeBytes: Int = 512 << 20) { self.mostFreeBytes = mostFreeBytes }

    /// The memory that is kept and that no pass uses.
    package var freeByteCount: Int { free.withLock { Self.byteCount($0) } }

    /// Calls `body` with a workspace that no other thread uses during the call: the smallest free one that is large
    /// enough.
    package func withWorkspace<Result, Failure: Error>(
        for network: Network, batch: Int, threads: Int, _ body: (Workspace) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let kept = free.withLock { free in
            free.indices.filter { free[$0].batchCapacity >= batch && free[$0].threads >= threads }
                .min { free[$0].byteCount < free[$1].byteCount }
                .map { free.remove(at: $0) }
        }
        let workspace = kept ?? network.makeWorkspace(batchCapacity: batch, threads: threads)
        defer { putBack(workspace) }
        return try body(workspace)
    }

    /// Callers ask for many sizes, of which each would be kept for ever.
    private func putBack(_ workspace: Workspace) {
        free.withLock { free in
            free.append(workspace)
            var count = Self.byteCount(free)
            while count > mostFreeBytes, free.count > 1 { count -= free.removeFirst().byteCount }
        }
    }

    private static func byteCount(_ workspaces: [Workspace]) -> Int { workspaces.reduce(0) { $0 + $1.byteCount } }
}
