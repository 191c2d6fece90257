import Foundation

/// Size and modification time: whether a file changed since it was indexed, without reading it.
package struct FileStamp: Equatable, Sendable {
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
    package init?(path: String) {
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
        modified = Self.nanoseconds(time)
    }

    /// Whether any later change will give the file a different stamp. Linux before 6.13 takes the times of files from a
    /// clock that stands still between two ticks, which are 1 to 10 ms apart.
    package var isOlderThanLaterChanges: Bool {
        #if os(Linux)
            let clock = CLOCK_REALTIME_COARSE
        #else
            let clock = CLOCK_REALTIME
        #endif
        var now = timespec()
        return clock_gettime(clock, &now) == 0 && modified < Self.nanoseconds(now)
    }

    /// Times after 2262 wrap around.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
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
