import Foundation

/// Size and modification time: whether a file changed since it was indexed, without reading it.
struct FileStamp: Equatable, Sendable {
    let size: Int64
    /// Nanoseconds since 1970.
    let modified: Int64

    /// Of an image that was indexed from memory: there is no file to compare it with.
    static let inMemory = FileStamp(size: -1, modified: 0)

    init(size: Int64, modified: Int64) {
        self.size = size
        self.modified = modified
    }

    /// Nil if there is no such file.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init(_ status: stat) {
        size = Int64(status.st_size)
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        // Times after 2262 wrap around: they are only compared for equality.
        modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// Whether there is certainly no file at the path, in contrast to one that cannot be reached now.
    static func isMissing(_ path: String) -> Bool {
        var status = stat()
        let result = stat(path, &status)
        // Read at once: any other call may change it.
        let reason = errno
        return result != 0 && (reason == ENOENT || reason == ENOTDIR)
    }
}
