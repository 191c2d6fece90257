import Foundation

/// Tells other processes that a folder is in use, by whatever name. The system ends it with the process, or with the
/// object.
final class FolderLock: Sendable {
    private let descriptor: Int32
    /// Whether somebody else has the folder in use. No, where folders cannot be locked, as on some network disks.
    let isTaken: Bool

    init(_ url: URL) {
        descriptor = open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        isTaken = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
