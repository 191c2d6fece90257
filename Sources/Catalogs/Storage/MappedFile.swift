import Compute
import Foundation

/// A whole file, mapped into memory to be read.
///
/// Unchecked: the memory is never written, and a writer replaces the file instead of changing it.
final class MappedFile: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer
    /// The inode: whether the file at the path is still this one.
    private let fileNumber: UInt64

    /// Nil if the file is missing or empty. O(1): pages are read on demand.
    init?(_ url: URL) {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return nil }
        let count = Int(status.st_size)
        guard let base = mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0), base != MAP_FAILED else { return nil }
        bytes = UnsafeRawBufferPointer(start: base, count: count)
        fileNumber = UInt64(status.st_ino)
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// `count` elements from a byte offset on.
    ///
    /// - Precondition: they lie inside the file, aligned.
    func section<Element>(_ offset: Int, count: Int, of _: Element.Type) -> UnsafeBufferPointer<Element> {
        UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count * MemoryLayout<Element>.stride)])
            .assumingMemoryBound(to: Element.self)
    }

    /// SHA-256 of everything from an offset on. O(file).
    func digest(from offset: Int) -> Data {
        var hash = SHA256()
        hash.update(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
        return hash.finalize()
    }

    /// Whether another file is at the path now.
    func isReplaced(at url: URL) -> Bool {
        var status = stat()
        return stat(url.path, &status) == 0 && UInt64(status.st_ino) != fileNumber
    }
}
