import CKernels
import Foundation

/// The number of processors that this process may run on, at least 1. Unlike Foundation's count it respects CPU
/// affinity (`taskset`, a container's CPU set).
package var availableProcessorCount: Int {
    let allowed = Int(lk_available_processors())
    return allowed > 0 ? allowed : max(1, ProcessInfo.processInfo.activeProcessorCount)
}

/// A number of threads that a process can have: each takes memory of its own, such as a network's activations.
package func threadCount(_ wanted: Int) -> Int { min(max(1, wanted), mostThreads) }

package let mostThreads = 1024
