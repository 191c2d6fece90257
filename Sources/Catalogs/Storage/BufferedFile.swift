import Compute
import Foundation

/// Sequential writes with a running digest. Every failure throws, such as that of a full disk.
struct BufferedFile: ~Copyable {
    private let descriptor: Int32
    private let folder: CatalogFolder
    private var buffer = Data()
    private var hash = SHA256()
    private var count = 0

    init(_ url: URL, folder: CatalogFolder) throws {
        self.folder = folder
        descriptor = open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw folder.error(.unwritable(String(cString: strerror(errno)))) }
        buffer.reserveCapacity(1 << 20)
    }

    deinit { close(descriptor) }

    mutating func append(_ data: Data, hashed: Bool = true) throws {
        if hashed { hash.update(data) }
        buffer.append(data)
        count += data.count
        if buffer.count >= 1 << 20 { try flush() }
    }

    mutating func pad(to offset: Int) throws { try append(Data(count: offset - count)) }

    /// The SHA-256 of what was appended and hashed. Nothing can be appended afterwards.
    mutating func digest() -> Data { hash.finalize() }

    mutating func finish(header: Data) throws {
        try flush()
        let written = header.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard written == header.count, fsync(descriptor) == 0 else {
            throw folder.error(.unwritable(String(cString: strerror(errno))))
        }
    }

    private mutating func flush() throws {
        let failure: Int32? = buffer.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let written = Foundation.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                if written > 0 { done += written } else if errno != EINTR { return errno }
            }
            return nil
        }
        if let failure { throw folder.error(.unwritable(String(cString: strerror(failure)))) }
        buffer.removeAll(keepingCapacity: true)
    }
}
