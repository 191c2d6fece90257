import Foundation

/// A folder that is removed with the object.
package final class TemporaryFolder: Sendable {
    package let url: URL
    private let lock: FolderLock?

    /// - Parameter lock: tells other services that the folder is in use.
    init(_ url: URL, lock: FolderLock? = nil) {
        self.url = url
        self.lock = lock
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}
