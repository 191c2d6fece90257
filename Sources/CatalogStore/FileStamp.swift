import Foundation

/// Size and modification time: whether a file changed since it was indexed, without reading it.
package struct FileStamp: Hashable, Sendable {
    package let size: Int64
    /// Nanoseconds since 1970.
    package let modified: Int64

    package init(size: Int64, modified: Int64) { (self.size, self.modified) = (size, modified) }
}

/// Whether an image file changed since it was indexed, without reading it: its stamp, and what no program can set, the
/// inode and the time of its last change of any kind. Programs that turn an image or write its tags may keep its size
/// and its modification time.
package struct ImageStamp: Hashable, Sendable {
    package let file: FileStamp
    /// Nanoseconds since 1970.
    package let changed: Int64
    package let inode: Int64

    package init(file: FileStamp, changed: Int64, inode: Int64) {
        (self.file, self.changed, self.inode) = (file, changed, inode)
    }

    /// The stamp of an image that was indexed from memory: there is no file to compare it with.
    package static let inMemory = ImageStamp(file: FileStamp(size: -1, modified: 0), changed: 0, inode: 0)
}

extension ImageStamp {
    /// Nil if there is no such file.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Darwin)
        let time = status.st_ctimespec
        #else
        let time = status.st_ctim
        #endif
        self.init(
            file: FileStamp(status), changed: FileStamp.nanoseconds(time),
            inode: Int64(truncatingIfNeeded: status.st_ino))
    }
}

extension FileStamp {
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
        #if canImport(Darwin)
        var now = stat().st_mtimespec
        #else
        var now = stat().st_mtim
        #endif
        return clock_gettime(clock, &now) == 0 && modified < Self.nanoseconds(now)
    }

    /// Times after 2262 wrap around.
    ///
    /// The members of `timespec` have no names here: which module they belong to depends on what the compiler read
    /// before. Both are words of 64 bits.
    fileprivate static func nanoseconds(_ time: timespec) -> Int64 {
        withUnsafeBytes(of: time) { bytes in
            let (seconds, nanoseconds) = (bytes.load(as: Int64.self), bytes.load(fromByteOffset: 8, as: Int64.self))
            return seconds &* 1_000_000_000 &+ nanoseconds
        }
    }

    /// Whether there is certainly no file at the path, in contrast to one that cannot be reached now.
    package static func isMissing(_ path: String) -> Bool {
        var status = stat()
        let result = stat(path, &status)
        // Read at once: any other call may change it.
        let reason = errno
        return result != 0 && (reason == ENOENT || reason == ENOTDIR)
    }
}
