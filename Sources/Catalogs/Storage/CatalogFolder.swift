import Foundation

/// The files of a catalog.
struct CatalogFolder: Sendable {
    let url: URL

    init(url: URL) { self.url = url }

    /// The path of another URL would name some other folder.
    init(checking url: URL) throws(CatalogError) {
        guard url.isFileURL else { throw CatalogError(subject: url.absoluteString, reason: .notAFolder) }
        self.init(url: url)
    }

    var path: String { url.path }
    /// The source of truth.
    var database: URL { url.appendingPathComponent("catalog.sqlite") }
    /// Derived from the database: the prints as a matrix.
    var matrix: URL { url.appendingPathComponent(MappedPrintMatrix.format.name) }
    /// Derived from the database: the inverted lists of the local features.
    var invertedLists: URL { url.appendingPathComponent(MappedInvertedLists.format.name) }
    /// Derived from the matrix: the prints by their nearest centroids.
    var invertedFile: URL { url.appendingPathComponent(MappedInvertedFile.format.name) }
    /// A copy of the model, unless it is the default model.
    var model: URL { url.appendingPathComponent("model.safetensors") }
    /// Locked by the one writer.
    var lock: URL { url.appendingPathComponent("writer.lock") }
    /// Locked by whoever makes the derived files.
    var derivedFilesLock: URL { url.appendingPathComponent("derived.lock") }
    /// A database that is being made; renamed when it is complete.
    var unfinishedDatabase: URL { url.appendingPathComponent("catalog.sqlite.new") }

    /// A name for a file that is being made, which ``DerivedFileStore`` removes if its maker was killed.
    func temporaryFile(beside file: URL) -> URL {
        file.appendingPathExtension("\(getpid())-\(UInt32.random(in: 0 ... .max)).part")
    }

    var isWritable: Bool { access(path, W_OK) == 0 }

    /// Whether the database file alone is the whole database.
    var isLogEmpty: Bool {
        let log = database.path + "-wal"
        return FileStamp.isMissing(log) || FileStamp(path: log)?.size == 0
    }

    /// Whether there is no database, or an empty file in its place.
    ///
    /// - Throws: ``CatalogError`` if that is not known, as on a disk that fails: what is there must not be replaced.
    func lacksDatabase() throws(CatalogError) -> Bool {
        let path = database.path
        var status = stat()
        let result = stat(path, &status)
        // Read at once: any other call may change it.
        let reason = errno
        if result == 0 { return status.st_mode & S_IFMT == S_IFREG && status.st_size == 0 }
        guard reason == ENOENT || reason == ENOTDIR else {
            throw error(.unwritable("catalog.sqlite: \(String(cString: strerror(reason)))"))
        }
        return true
    }

    /// Checks that the database's files are no pipes: SQLite would wait for one forever.
    func checkDatabaseFiles() throws(CatalogError) {
        for suffix in ["", "-wal", "-shm"] {
            var status = stat()
            if stat(database.path + suffix, &status) == 0, status.st_mode & S_IFMT == S_IFIFO {
                throw error(.damaged("catalog.sqlite\(suffix) is a pipe"))
            }
        }
    }

    /// Waits until a file is on the disk, or a folder's renamed files have their names there.
    func synchronize(_ path: String) throws(CatalogError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = errno
            // There may be no such file, and a folder that one may write to may be one that one may not read.
            if reason == ENOENT || reason == EACCES { return }
            throw error(.unwritable(String(cString: strerror(reason))))
        }
        defer { close(descriptor) }
        // Some file systems cannot do this for folders, and say EINVAL.
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw error(.unwritable(String(cString: strerror(errno))))
        }
    }

    /// ``unfinishedDatabase`` and what SQLite keeps beside it.
    var unfinishedFiles: [URL] {
        ["", "-journal", "-wal", "-shm"].map { url.appendingPathComponent(unfinishedDatabase.lastPathComponent + $0) }
    }

    func removeUnfinishedDatabase() { for file in unfinishedFiles { unlink(file.path) } }

    /// Gives a complete ``unfinishedDatabase`` its name. A power loss leaves the whole database under it, or none.
    func publishDatabase() throws(CatalogError) {
        try synchronize(unfinishedDatabase.path)
        guard rename(unfinishedDatabase.path, database.path) == 0 else {
            throw error(.unwritable(String(cString: strerror(errno))))
        }
        try synchronize(path)
    }

    func error(_ reason: CatalogError.Reason) -> CatalogError { CatalogError(subject: path, reason: reason) }
}

/// The exclusive right to change a catalog's database. The system releases it when the process ends, however it ends.
final class WriterLock: Sendable {
    private let lock: FileLock
    /// A writer keeps readers from making derived files that it is about to make anew.
    private let derivedFiles: DerivedFilesLock

    /// - Throws: ``CatalogError`` if another process has the right. If a reader is making a derived file, waits for it.
    init(_ folder: CatalogFolder) throws(CatalogError) {
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

/// Size and modification time: whether a file changed since it was indexed, without reading it.
package struct FileStamp: Equatable, Sendable {
    let size: Int64
    /// Nanoseconds since 1970.
    let modified: Int64
}

/// Whether an image file changed since it was indexed, without reading it: its stamp, and what no program can set, the
/// inode and the time of its last change of any kind. Programs that turn an image or write its tags may keep its size
/// and its modification time.
struct ImageStamp: Equatable, Sendable {
    let file: FileStamp
    /// Nanoseconds since 1970.
    let changed: Int64
    let inode: Int64

    /// The stamp of an image that was indexed from memory: there is no file to compare it with.
    static let inMemory = ImageStamp(file: FileStamp(size: -1, modified: 0), changed: 0, inode: 0)
}

extension ImageStamp {
    /// Nil if there is no such file.
    init?(path: String) {
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
    static func isMissing(_ path: String) -> Bool {
        var status = stat()
        let result = stat(path, &status)
        // Read at once: any other call may change it.
        let reason = errno
        return result != 0 && (reason == ENOENT || reason == ENOTDIR)
    }
}
