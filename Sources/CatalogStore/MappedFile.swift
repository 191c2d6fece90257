import CMappedFiles
import Digests
package import Foundation

/// The bytes of a derived file: mapped into memory, or private to this process where no file can be written.
///
/// Unchecked: the bytes are never written once the object exists. The package replaces files by renaming and never
/// changes or truncates one in place. Where another program does, ``isUnchanged`` is false.
package final class MappedFile: @unchecked Sendable {
    package let bytes: UnsafeRawBufferPointer
    /// Open as long as the file is mapped; nil for private memory.
    private let descriptor: Int32?
    /// The mapping's number in the handler of ``Catalog/handleTruncatedFiles()``; -1 for private memory.
    private let mapping: Int32
    private let stamp: FileStamp
    /// Which file it is; nil for private memory.
    let identity: FileIdentity?

    /// Nil if the file is missing, empty or not a regular file, or cannot be mapped at all. O(1): pages are read on
    /// demand.
    ///
    /// - Throws: `POSIXError` if it cannot be opened or mapped now, for example where address space is short.
    package convenience init?(_ url: URL) throws(POSIXError) {
        // A named pipe in its place must not keep the caller waiting.
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            try Self.checkIsPermanent(errno)
            return nil
        }
        try self.init(descriptor: descriptor)
    }

    /// Maps an open file, and closes it in the end. Nil if it is empty or not a regular file.
    init?(descriptor: Int32) throws(POSIXError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0,
            let count = Int(exactly: status.st_size)
        else {
            close(descriptor)
            return nil
        }
        guard let base = mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0), base != MAP_FAILED else {
            let failure = errno
            close(descriptor)
            try Self.checkIsPermanent(failure)
            return nil
        }
        bytes = UnsafeRawBufferPointer(start: base, count: count)
        identity = FileIdentity(status)
        stamp = FileStamp(status)
        self.descriptor = descriptor
        mapping = lk_add_mapping(base, count)
    }

    /// - Throws: the error if it says nothing about the file: another file would have it, too.
    private static func checkIsPermanent(_ failure: CInt) throws(POSIXError) {
        if [ENOMEM, EAGAIN, EMFILE, ENFILE, EIO].contains(failure) {
            throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO)
        }
    }

    init(_ memory: PrivateMemory) {
        bytes = memory.release()
        (descriptor, identity, mapping, stamp) = (nil, nil, -1, FileStamp(size: -1, modified: 0))
    }

    deinit {
        guard let descriptor else { return free(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }
        lk_remove_mapping(mapping)
        munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
        close(descriptor)
    }

    /// Whether the file is as it was when it was mapped, and no page was missing when it was read. Beyond the end of a
    /// file that another program truncated there are zeros, or SIGBUS (``Catalog/handleTruncatedFiles()``).
    package var isUnchanged: Bool {
        guard let descriptor else { return true }
        var status = stat()
        return !lk_has_missing_pages(mapping) && fstat(descriptor, &status) == 0 && FileStamp(status) == stamp
    }

    /// The elements in a range of bytes.
    ///
    /// - Precondition: the range is aligned and lies inside the file.
    func section<Element>(_ range: Range<Int>, of _: Element.Type) -> UnsafeBufferPointer<Element> {
        UnsafeRawBufferPointer(rebasing: bytes[range]).assumingMemoryBound(to: Element.self)
    }

    /// SHA-256 of everything from an offset on. O(file).
    func digest(from offset: Int) -> Data {
        var hash = SHA256()
        hash.update(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
        return hash.finalize()
    }
}

/// Which file is at a path: a replaced one has another identity.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    package init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// Nil if there is no such file.
    package init?(_ url: URL) {
        var status = stat()
        guard stat(url.path, &status) == 0 else { return nil }
        self.init(status)
    }
}
