import Foundation
import GRDB

/// A connection for reading, which changes nothing: the last one to close leaves SQLite's log as it is.
///
/// Readers see the database together with its log. Where the log's shared index cannot be written, SQLite reads it, or
/// makes its own in memory (https://www.sqlite.org/wal.html, section 5). Without a log the file is read alone.
struct ReadConnection: Sendable {
    let reader: any DatabaseReader
    /// The file's stamp if it is read alone, because SQLite then misses changes.
    private let stamp: FileStamp?

    /// Opens a folder's database. If a writer has to recover its log first, waits for that.
    init(opening folder: CatalogFolder) throws {
        self = try CatalogReader.waitingForRecovery { try Self.opened(folder) }
    }

    private init(reader: any DatabaseReader, stamp: FileStamp?) { (self.reader, self.stamp) = (reader, stamp) }

    /// Whether the file is read alone, and there is more to read by now.
    func isOutdated(in folder: CatalogFolder) -> Bool {
        guard let stamp else { return false }
        return !folder.isLogEmpty || FileStamp(path: folder.database.path) != stamp
    }

    /// The file's stamp. Waits briefly until any later change would alter it.
    private static func stamp(of folder: CatalogFolder) -> FileStamp? {
        for _ in 0..<10 {
            let stamp = FileStamp(path: folder.database.path)
            if stamp?.isOlderThanLaterChanges ?? true { return stamp }
            Thread.sleep(forTimeInterval: 0.01)
        }
        return FileStamp(path: folder.database.path)
    }

    private static func opened(_ folder: CatalogFolder) throws -> ReadConnection {
        var configuration = EntityStore.configuration
        configuration.readonly = true
        func probed(_ reader: any DatabaseReader, stamp: FileStamp? = nil) throws -> ReadConnection {
            _ = try reader.read { try $0.tableExists("setting") }
            return ReadConnection(reader: reader, stamp: stamp)
        }
        func address(_ query: String) -> String {
            var url = URLComponents()
            // Two slashes at the start would be followed by a host.
            let path = "/" + folder.database.path.drop { $0 == "/" }
            (url.scheme, url.path, url.query) = ("file", path, query)
            return url.string ?? folder.database.path
        }
        func shared() throws -> ReadConnection {
            try probed(DatabasePool(path: folder.database.path, configuration: configuration))
        }
        do {
            return try shared()
        } catch let error as DatabaseError where error.isOfUnwritableLog {}
        // Retry once: a connection that opens the log's index read-only keeps the whole process from writing, so a
        // failure that has already passed must not lead to that.
        do {
            return try shared()
        } catch let error as DatabaseError where error.isOfUnwritableLog {
            let path = address("readonly_shm=1")
            if let connection = try? probed(DatabasePool(path: path, configuration: configuration)) {
                return connection
            }
            guard let stamp = stamp(of: folder), folder.isLogEmpty else { throw error }
            return try probed(DatabaseQueue(path: address("immutable=1"), configuration: configuration), stamp: stamp)
        }
    }
}

extension DatabaseError {
    /// Whether SQLite wants to write to the log or its index, and cannot.
    fileprivate var isOfUnwritableLog: Bool {
        switch resultCode {
        case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_IOERR, .SQLITE_FULL, .SQLITE_PERM: true
        default: false
        }
    }
}
