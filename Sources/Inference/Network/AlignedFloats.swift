/// float32 values that start on a cache line, initially zero.
///
/// Unchecked: the memory has no lock. Weights are filled before their layer is shared, and only read afterwards. The
/// memory of a ``Workspace`` is written on every forward pass, which one caller at a time may run; the threads of a
/// pass write to disjoint parts, and the barrier after each step publishes them to the others.
final class AlignedFloats: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<Float>
    let count: Int

    init(count: Int) {
        self.count = count
        let bytes = UnsafeMutableRawPointer.allocate(
            byteCount: max(count, 1) * MemoryLayout<Float>.stride, alignment: 64)
        pointer = bytes.bindMemory(to: Float.self, capacity: max(count, 1))
        pointer.initialize(repeating: 0, count: max(count, 1))
    }

    convenience init(padding values: [Float], to count: Int) {
        self.init(count: count)
        for (index, value) in values.enumerated() { pointer[index] = value }
    }

    deinit { UnsafeMutableRawPointer(pointer).deallocate() }
}
