/// The memory of one forward pass at a time.
///
/// Unchecked: whoever runs a pass has the workspace alone: the models take idle ones from a locked list. The threads of
/// the pass share it as ``AlignedFloats`` describes.
package final class Workspace: @unchecked Sendable {
    let memory: AlignedFloats
    package let batchCapacity: Int
    package let threads: Int
    private let scratchMemory: AlignedFloats
    private let scratchCount: Int
    /// Nil for one thread.
    let pass: ForwardPass?

    init(plan: MemoryPlan, batchCapacity: Int, threads: Int, parts: [Int]) {
        memory = AlignedFloats(count: plan.count * batchCapacity)
        self.batchCapacity = batchCapacity
        self.threads = threads
        scratchCount = (plan.scratchCount + 15) / 16 * 16
        scratchMemory = AlignedFloats(count: scratchCount * threads)
        pass = threads > 1 ? ForwardPass(parts: parts) : nil
    }

    package var byteCount: Int { (memory.count + scratchMemory.count) * MemoryLayout<Float>.stride }

    func scratch(_ thread: Int) -> UnsafeMutablePointer<Float> { scratchMemory.pointer + thread * scratchCount }
}
