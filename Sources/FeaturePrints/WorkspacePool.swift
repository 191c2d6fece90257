package import Inference
import Synchronization

/// The memory of forward passes, reused by later passes.
package final class WorkspacePool: Sendable {
    private struct State {
        /// The least recently used first.
        var free: [Workspace] = []
        var usedBytes = 0
        /// The most bytes that were in use at the same time.
        var mostUsedBytes = 0

        mutating func use(_ workspace: Workspace) {
            usedBytes += workspace.byteCount
            mostUsedBytes = max(mostUsedBytes, usedBytes)
        }
    }

    private let state = Mutex(State())
    private let mostFreeBytes: Int

    /// - Parameter mostFreeBytes: how much memory to keep while no pass uses it. More is kept up to what passes have
    ///   used at the same time.
    package init(mostFreeBytes: Int = 512 << 20) { self.mostFreeBytes = mostFreeBytes }

    /// The memory that is kept and that no pass uses.
    package var freeByteCount: Int { state.withLock { Self.byteCount($0.free) } }

    /// Calls `body` with a workspace that no other thread uses during the call: the smallest free one that is large
    /// enough.
    package func withWorkspace<Result, Failure: Error>(
        for network: Network, batch: Int, threads: Int, _ body: (Workspace) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let kept = state.withLock { state in
            let free = state.free
            let kept = free.indices.filter { free[$0].batchCapacity >= batch && free[$0].threads >= threads }
                .min { free[$0].byteCount < free[$1].byteCount }
                .map { state.free.remove(at: $0) }
            if let kept { state.use(kept) }
            return kept
        }
        let workspace = kept ?? makeWorkspace(for: network, batch: batch, threads: threads)
        defer { putBack(workspace) }
        return try body(workspace)
    }

    private func makeWorkspace(for network: Network, batch: Int, threads: Int) -> Workspace {
        let workspace = network.makeWorkspace(batchCapacity: batch, threads: threads)
        state.withLock { $0.use(workspace) }
        return workspace
    }

    /// Frees the oldest workspaces: callers ask for many sizes, and each would be kept for ever.
    private func putBack(_ workspace: Workspace) {
        state.withLock { state in
            state.usedBytes -= workspace.byteCount
            state.free.append(workspace)
            var byteCount = Self.byteCount(state.free)
            // Passes on many cores each need one again.
            while byteCount > mostFreeBytes, byteCount + state.usedBytes > state.mostUsedBytes {
                byteCount -= state.free.removeFirst().byteCount
            }
        }
    }

    private static func byteCount(_ workspaces: [Workspace]) -> Int { workspaces.reduce(0) { $0 + $1.byteCount } }
}
