import CKernels
import Foundation

/// The processors that this process may run on, at least 1. Fewer than the machine has where it was bound to
/// some of them (`taskset`, a container's set of processors); Foundation counts those of the machine.
package var availableProcessorCount: Int {
    let allowed = Int(lk_available_processors())
    return allowed > 0 ? allowed : max(1, ProcessInfo.processInfo.activeProcessorCount)
}
