import Foundation

/// The exclusive right to write to a catalog. The system releases it when the process ends, however it ends.
final class WriterLock: Sendable {
    private let descriptor: Int32

    init(_ folder: CatalogFolder) throws(CatalogError) {
        let descriptor = open(folder.lock.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw folder.error(.unwritable(String(cString: strerror(errno)))) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason: CatalogError.Reason =
                errno == EWOULDBLOCK ? .busy : .unwritable(String(cString: strerror(errno)))
            close(descriptor)
            throw folder.error(reason)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
