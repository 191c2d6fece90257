import CKernels
import Foundation

/// The number of processors that this process may run on, at least 1. Unlike Foundation's count it respects CPU
/// affinity (`taskset`, a container's CPU set).
package var availableProcessorCount: Int {
    let allowed = Int(lk_available_processors())
    return allowed > 0 ? allowed : max(1, ProcessInfo.processInfo.activeProcessorCount)
}
