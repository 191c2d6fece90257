/// int8 values that start on a cache line, initially zero.
///
/// Unchecked: a layer fills them in its initializer, before it is shared, and only reads them afterwards.
final class AlignedBytes: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<Int8>

    init(count: Int) {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1), alignment: 64)
        pointer = bytes.bindMemory(to: Int8.self, capacity: max(count, 1))
        pointer.initialize(repeating: 0, count: max(count, 1))
    }

    deinit { UnsafeMutableRawPointer(pointer).deallocate() }
}
