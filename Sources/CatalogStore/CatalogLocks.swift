package import CatalogEntities
import Foundation

/// The exclusive right to change a catalog's database. The system releases it when the process ends, however it ends.
package final class WriterLock: Sendable {
    private let lock: FileLock
    /// A writer keeps readers from making derived files that it is about to make anew.
    private let derivedFiles: DerivedFilesLock

    /// - Throws: ``CatalogError`` if another process has the right. If a reader is making a derived file, waits for it.
    package init(_ folder: CatalogFolder) throws(CatalogError) {
        lock = try FileLock(folder.lock, of: folder, waits: false)
        derivedFiles = try DerivedFilesLock(waitingIn: folder)
    }
}

/// The exclusive right to replace a catalog's derived files.
final class DerivedFilesLock: Sendable {
    private let lock: FileLock

    init(waitingIn folder: CatalogFolder) throws(CatalogError) {
        lock = try FileLock(folder.derivedFilesLock, of: folder, waits: true)
    }

    /// Nil if another process is at work, or the lock's file cannot be made.
    init?(ifFreeIn folder: CatalogFolder) {
        guard let lock = try? FileLock(folder.derivedFilesLock, of: folder, waits: false) else { return nil }
        self.lock = lock
    }

    /// Whether somebody is about to make the files anew. It takes no right to write.
    static func isHeld(in folder: CatalogFolder) -> Bool {
        let descriptor = open(folder.derivedFilesLock.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let isFree = flock(descriptor, LOCK_SH | LOCK_NB) == 0
        if isFree { flock(descriptor, LOCK_UN) }
        return !isFree
    }

    /// Ends the right; otherwise it ends with the object.
    func release() { lock.release() }
}

/// A lock on a file, which other processes and other objects of this process respect.
private final class FileLock: Sendable {
    private let descriptor: Int32

    init(_ url: URL, of folder: CatalogFolder, waits: Bool) throws(CatalogError) {
        let descriptor = open(url.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        var failure = errno
        guard descriptor >= 0 else { throw folder.error(.unwritable(String(cString: strerror(failure)))) }
        while flock(descriptor, LOCK_EX | (waits ? 0 : LOCK_NB)) != 0 {
            failure = errno
            if failure == EINTR { continue }
            close(descriptor)
            throw folder.error(failure == EWOULDBLOCK ? .busy : .unwritable(String(cString: strerror(failure))))
        }
        self.descriptor = descriptor
    }

    func release() { flock(descriptor, LOCK_UN) }

    deinit {
        // A process that was forked just now has the file open as well until it runs its program, and so the lock.
        release()
        close(descriptor)
    }
}
