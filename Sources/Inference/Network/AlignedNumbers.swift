import Foundation
import Synchronization

/// float32 values that start on a cache line.
typealias AlignedFloats = AlignedNumbers<Float>

/// Numbers that start on a cache line, initially zero.
///
/// Unchecked: the memory has no lock. Weights are filled before their layer is shared, and only read afterwards. The
/// memory of a ``Workspace`` is written on every forward pass, which one caller at a time may run; the threads of a
/// pass write to disjoint parts, and the barrier after each step publishes them to the others.
final class AlignedNumbers<Number: Numeric & BitwiseCopyable>: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<Number>
    let count: Int
    private let pages: ZeroedPages

    init(count: Int) {
        self.count = count
        let start: UnsafeMutableRawPointer
        (pages, start) = ZeroedPages.part(byteCount: max(count, 1) * MemoryLayout<Number>.stride)
        pointer = start.bindMemory(to: Number.self, capacity: max(count, 1))
    }

    convenience init(padding values: [Number], to count: Int) {
        self.init(count: count)
        _ = UnsafeMutableBufferPointer(start: pointer, count: count).update(fromContentsOf: values)
    }
}

/// Zeroed memory in pages of 2 MiB where the kernel has them. It is shared by small tensors: with pages of 4 KiB, most
/// of the time in which a model is loaded goes into page faults.
///
/// Unchecked: every part is given to one owner.
private final class ZeroedPages: @unchecked Sendable {
    private let mapping: UnsafeMutableRawPointer
    private let start: UnsafeMutableRawPointer
    private let byteCount: Int

    private static let hugePage = 2 << 20
    /// Memory that is mapped at once for small tensors. What is not used of it is not backed.
    private static let shared = 4 * hugePage
    private static let cacheLine = 64
    /// The newest pages that have room, and where it begins.
    private static let open = Mutex<(pages: ZeroedPages, used: Int)?>(nil)

    private init(byteCount: Int) {
        self.byteCount = byteCount + Self.hugePage
        let mapped = mmap(nil, self.byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapped, mapped != MAP_FAILED else { fatalError("no memory for \(byteCount) bytes") }
        mapping = mapped
        start = mapped.alignedUp(toMultipleOf: Self.hugePage)
        #if os(Linux)
        // Failing to get them is harmless.
        madvise(start, byteCount, Int32(MADV_HUGEPAGE))
        #endif
    }

    /// Memory that is valid as long as its pages.
    static func part(byteCount: Int) -> (pages: ZeroedPages, start: UnsafeMutableRawPointer) {
        guard byteCount < hugePage else {
            let pages = ZeroedPages(byteCount: byteCount)
            return (pages, pages.start)
        }
        let size = (byteCount + cacheLine - 1) / cacheLine * cacheLine
        return open.withLock { open in
            let (pages, used) =
                if let open, open.used + size <= shared { open } else { (ZeroedPages(byteCount: shared), 0) }
            open = (pages, used + size)
            return (pages, pages.start + used)
        }
    }

    deinit { munmap(mapping, byteCount) }
}
