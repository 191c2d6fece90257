import CatalogEntities
import Digests
import Foundation

/// Where a derived file is written to: a file, memory, or nowhere when only the digest is wanted. Sequential, with a
/// running digest. Every failure throws, such as that of a full disk.
struct DerivedOutput: ~Copyable {
    private enum Target {
        case file(Int32)
        case memory
        case nowhere
    }

    private let target: Target
    private let folder: CatalogFolder
    private var buffer = Data()
    private var memory = PrivateMemory()
    /// Nil where no digest is wanted.
    private var hash: SHA256? = SHA256()
    private var count = 0

    private static let bufferSize = 1 << 20

    private init(_ target: Target, folder: CatalogFolder) throws {
        self.target = target
        self.folder = folder
        buffer.reserveCapacity(Self.bufferSize + 4096)
        if case .nowhere = target {} else { try store(Data(count: DerivedFileHeader.byteCount)) }
        count = DerivedFileHeader.byteCount
    }

    static func file(_ url: URL, folder: CatalogFolder) throws -> DerivedOutput {
        let descriptor = open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        let failure = errno
        guard descriptor >= 0 else { throw folder.error(.unwritable(String(cString: strerror(failure)))) }
        return try DerivedOutput(.file(descriptor), folder: folder)
    }

    /// A file without a name, of which nothing is left when it is closed, or memory. It has no digest.
    ///
    /// - Parameter url: the name for a moment; nil for memory.
    static func temporary(_ url: URL?, folder: CatalogFolder) throws -> DerivedOutput {
        var output = if let url { try file(url, folder: folder) } else { try memory(folder: folder) }
        if let url { unlink(url.path) }
        output.hash = nil
        return output
    }

    static func memory(folder: CatalogFolder) throws -> DerivedOutput { try DerivedOutput(.memory, folder: folder) }

    static func digestOnly(folder: CatalogFolder) throws -> DerivedOutput {
        try DerivedOutput(.nowhere, folder: folder)
    }

    /// Whether it goes to private memory, since no file can be written.
    var isMemory: Bool { if case .memory = target { true } else { false } }

    deinit { if case .file(let descriptor) = target { close(descriptor) } }

    mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
        if bytes.isEmpty { return }
        buffer.append(contentsOf: bytes)
        count += bytes.count
        if buffer.count >= Self.bufferSize { try flush() }
    }

    mutating func append(_ data: Data) throws { try data.withUnsafeBytes { try append($0) } }

    mutating func append<Element: BitwiseCopyable>(_ elements: [Element]) throws {
        try elements.withUnsafeBytes { try append($0) }
    }

    /// Begins the next section.
    mutating func beginSection() throws { try append(Data(count: DerivedFileFormat.aligned(count) - count)) }

    /// SHA-256 of everything after the header. Nothing can be appended afterwards.
    mutating func digest() throws -> Data {
        try flush()
        guard var hash = hash.take() else { fatalError("there is no digest, or it was taken") }
        return hash.finalize()
    }

    /// Writes the header, and waits until a file is on the disk.
    mutating func finish(header: Data) throws {
        switch target {
        case .nowhere: break
        case .memory: memory.replace(at: 0, by: header)
        case .file(let descriptor):
            var failure: Int32?
            let written = header.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
            if written < 0 { failure = errno } else if written < header.count { failure = ENOSPC }
            if failure == nil, fsync(descriptor) != 0 { failure = errno }
            if let failure { throw folder.error(.unwritable(String(cString: strerror(failure)))) }
        }
    }

    /// What was written to a file or to memory.
    ///
    /// - Throws: ``CatalogError`` if the file cannot be mapped.
    consuming func contents() throws -> MappedFile {
        try flush()
        guard case .file(let descriptor) = target else { return MappedFile(memory) }
        let file = try? MappedFile(descriptor: fcntl(descriptor, F_DUPFD_CLOEXEC, 0))
        guard let file else { throw folder.error(.failed("a temporary file in its folder cannot be read")) }
        return file
    }

    private mutating func flush() throws {
        hash?.update(buffer)
        try store(buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private func store(_ data: Data) throws {
        switch target {
        case .nowhere: break
        case .memory:
            guard memory.append(data) else {
                throw folder.error(.failed("cannot allocate \(memory.count + data.count) bytes for a derived file"))
            }
        case .file(let descriptor):
            let failure: Int32? = data.withUnsafeBytes { bytes in
                var done = 0
                while done < bytes.count {
                    let written = Foundation.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                    let failure = errno
                    if written > 0 { done += written } else if written == 0 || failure != EINTR { return failure }
                }
                return nil
            }
            if let failure { throw folder.error(.unwritable(String(cString: strerror(failure)))) }
        }
    }
}

/// Growing memory with an owner. Not shared while it grows.
final class PrivateMemory {
    private var base: UnsafeMutableRawPointer?
    private(set) var count = 0
    private var capacity = 0

    /// False if there is no memory.
    func append(_ data: Data) -> Bool {
        if count + data.count > capacity {
            let wanted = max(count + data.count, capacity * 2)
            guard let larger = realloc(base, wanted) else { return false }
            (base, capacity) = (larger, wanted)
        }
        replace(at: count, by: data)
        count += data.count
        return true
    }

    func replace(at offset: Int, by data: Data) {
        guard let base else { return }
        data.withUnsafeBytes { bytes in
            if let source = bytes.baseAddress { memcpy(base + offset, source, bytes.count) }
        }
    }

    /// The memory, which the caller frees.
    func release() -> UnsafeRawBufferPointer {
        defer { (base, count, capacity) = (nil, 0, 0) }
        return UnsafeRawBufferPointer(start: base, count: count)
    }

    deinit { free(base) }
}
