package import CatalogEntities
package import Foundation

/// The files of a catalog.
package struct CatalogFolder: Sendable {
    package let url: URL

    package init(url: URL) { self.url = url }

    /// The path of another URL would name some other folder.
    package init(checking url: URL) throws(CatalogError) {
        guard url.isFileURL else { throw CatalogError(subject: url.absoluteString, reason: .notAFolder) }
        self.init(url: url)
    }

    package var path: String { url.path }
    /// The source of truth.
    package var database: URL { url.appendingPathComponent("catalog.sqlite") }
    /// A copy of the model, unless it is the default model.
    package var model: URL { url.appendingPathComponent("model.safetensors") }
    /// Locked by the one writer.
    package var lock: URL { url.appendingPathComponent("writer.lock") }
    /// Locked by whoever makes the derived files.
    package var derivedFilesLock: URL { url.appendingPathComponent("derived.lock") }
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
    package func lacksDatabase() throws(CatalogError) -> Bool {
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
    package func synchronize(_ path: String) throws(CatalogError) {
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
    package var unfinishedFiles: [URL] {
        ["", "-journal", "-wal", "-shm"].map { url.appendingPathComponent(unfinishedDatabase.lastPathComponent + $0) }
    }

    func removeUnfinishedDatabase() { for file in unfinishedFiles { unlink(file.path) } }

    /// Gives a complete ``unfinishedDatabase`` its name. A power loss leaves the whole database under it, or none.
    package func publishDatabase() throws(CatalogError) {
        try synchronize(unfinishedDatabase.path)
        guard rename(unfinishedDatabase.path, database.path) == 0 else {
            throw error(.unwritable(String(cString: strerror(errno))))
        }
        try synchronize(path)
    }

    package func error(_ reason: CatalogError.Reason) -> CatalogError { CatalogError(subject: path, reason: reason) }
}
