#if Service
public import Foundation
import Lookalike
import Synchronization

/// A folder that is removed with the object.
@_spi(Service) public final class WorkFolder: Sendable {
    @_spi(Service) public let url: URL
    private let lock: FolderLock?
    private let isKept = Mutex(false)

    /// - Parameter lock: tells other services that the folder is in use.
    init(_ url: URL, lock: FolderLock? = nil) {
        self.url = url
        self.lock = lock
    }

    /// Leaves the folder where it is when the object is gone.
    func keep() { isKept.withLock { $0 = true } }

    deinit { if !isKept.withLock({ $0 }) { try? FileManager.default.removeItem(at: url) } }
}

/// Tells other processes that a folder is in use, by whatever name. The system ends it with the process, or with the
/// object.
final class FolderLock: Sendable {
    private let descriptor: Int32
    /// Whether another process has the folder in use; false where folders cannot be locked, as on some network disks.
    let isTaken: Bool

    init(_ url: URL) {
        descriptor = open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        isTaken = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    deinit {
        guard descriptor >= 0 else { return }
        // A process that was forked just now has the folder open as well until it runs its program, and so the lock.
        if !isTaken { flock(descriptor, LOCK_UN) }
        close(descriptor)
    }
}

extension CatalogStore {
    private static let workPrefix = ".work-"
    private static let asidePrefix = ".replaced-"

    /// Makes a folder for work on the disk of the catalogs, under a name that no catalog has.
    ///
    /// - Throws: an error of the file system.
    @_spi(Service) public func makeWorkFolder() throws -> WorkFolder {
        for _ in 0..<10 {
            let url = workURL()
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            let lock = FolderLock(url)
            let folder = WorkFolder(url, lock: lock)
            // A service that started just now may have taken the folder for a leftover.
            if !lock.isTaken, FileManager.default.fileExists(atPath: url.path) { return folder }
        }
        throw POSIXError(.EBUSY)
    }

    /// The path of a new folder for work.
    func workURL() -> URL {
        root.appendingPathComponent("\(Self.workPrefix)\(getpid())-\(UUID().uuidString)")
    }

    /// The path of the folder that is set aside while a catalog is replaced.
    func asideURL(of name: CatalogName) -> URL {
        root.appendingPathComponent("\(Self.asidePrefix)\(getpid())-\(name)")
    }

    /// Puts back what processes that were killed had set aside, and removes what else they left.
    @_spi(Service) public func removeLeftovers() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
        where name.hasPrefix(Self.workPrefix) || name.hasPrefix(Self.asidePrefix) {
            let parts = name.split(separator: "-", maxSplits: 2)
            let leftover = root.appendingPathComponent(name)
            // Services in containers may all be process 1, or not see each other.
            guard parts.count == 3, let process = Int32(parts[1]),
                process == getpid() || (kill(process, 0) != 0 && errno == ESRCH),
                case let lock = FolderLock(leftover), !lock.isTaken
            else { continue }
            defer { withExtendedLifetime(lock) {} }
            if name.hasPrefix(Self.asidePrefix), let catalog = CatalogName(String(parts[2])) {
                let url = url(of: catalog)
                switch Catalog.state(of: url) {
                case .catalog: try? FileManager.default.removeItem(at: leftover)
                case .unfinished:
                    try? FileManager.default.removeItem(at: url)
                    try? FileManager.default.moveItem(at: leftover, to: url)
                case .other: try? FileManager.default.moveItem(at: leftover, to: url)
                // The leftover may be the only copy.
                case .unknown: continue
                }
            } else {
                try? FileManager.default.removeItem(at: leftover)
            }
        }
    }
}
#endif
