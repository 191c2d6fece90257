import CatalogEntities
package import FeaturePrints
package import Foundation
package import GRDB
import Synchronization

/// Reads a catalog's database.
///
/// A reader without write access may find SQLite's index of the log between two states: it would have to be rebuilt,
/// which takes write access, and a writer is about to do so. SQLite calls that an attempt to write
/// (`SQLITE_READONLY_RECOVERY`; https://www.sqlite.org/rescode.html). Such a read is tried again for a moment.
///
/// A connection that reads the file alone (``ReadConnection``) does not notice changes, and may mix old pages with new
/// ones. So it is replaced before a read if the file has changed, and a read during which the file changed is repeated.
/// A connection that keeps the process from writing is closed when a writer is opened (``OpenReaders``).
///
/// SQLite goes on with a file that was moved or removed. So a read looks whether the file is still the one at its path:
/// another state of the same catalog is opened, as a copy between machines puts it there, and another catalog is an
/// error.
package final class CatalogReader: Sendable {
    private enum Source {
        case writer(any DatabaseReader)
        case folder(CatalogFolder)
    }

    private struct State {
        /// Nil until the next read.
        var connection: ReadConnection?
        /// Reads of the connection that are under way.
        var readCount = 0
        /// What names the catalog in the first connection's database.
        var catalogID: String?
    }

    private let source: Source
    /// The connection to a folder. A writer's own is never replaced, and not kept here.
    private let state = Mutex(State())

    /// Reads through a writer.
    init(writer: any DatabaseReader) { source = .writer(writer) }

    /// Opens a folder's database.
    init(opening folder: CatalogFolder) throws {
        source = .folder(folder)
        OpenReaders.add(self, of: folder)
        try withConnection { _ in }
    }

    /// Opens the database of a catalog's folder.
    package convenience init(opening url: URL) throws { try self.init(opening: CatalogFolder(url: url)) }

    /// Reads one state of the database.
    ///
    /// - Parameters:
    ///   - attempts: the largest number of calls of `value`.
    ///   - value: called again if the file is read alone and changes during the call. Earlier results are dropped.
    /// - Throws: ``CatalogError/Reason/busy`` if the file changes during every call; otherwise what `value` or the
    ///   database throws.
    package func read<Value>(attempts: Int = 3, _ value: (Database) throws -> Value) throws -> Value {
        try withConnection(attempts: attempts) { connection in
            try Self.waitingForRecovery { try connection.read(value) }
        }
    }

    /// - Parameters:
    ///   - attempts: the largest number of calls of `body`.
    ///   - body: receives the connection and must not keep it. Called again like the closure of ``read(attempts:_:)``.
    package func withConnection<Value>(
        attempts: Int = 3, _ body: (any DatabaseReader) throws -> Value
    ) throws -> Value {
        switch source {
        case .writer(let writer): return try body(writer)
        case .folder(let folder):
            for _ in 0..<attempts {
                let connection = try beginRead(of: folder)
                let result = Result { try body(connection.reader) }
                endRead(of: connection)
                if case .failure(let error as CancellationError) = result { throw error }
                if !connection.isOutdated(in: folder) { return try result.get() }
            }
            throw folder.error(.busy)
        }
    }

    /// Closes the connection if no read is under way. The next read opens another one.
    ///
    /// - Returns: whether it is closed.
    func close() -> Bool {
        let isClosed = state.withLockIfAvailable { state in
            guard state.readCount == 0 else { return false }
            try? state.connection?.reader.close()
            state.connection = nil
            return true
        }
        return isClosed ?? false
    }

    private func beginRead(of folder: CatalogFolder) throws -> ReadConnection {
        while true {
            let connection: ReadConnection? = try state.withLock { state in
                // Checked under the lock, so that `close()` sees a read that begins now.
                guard !OpenReaders.areClosing(in: folder) else { return nil }
                if state.connection?.isOutdated(in: folder) ?? true {
                    guard !FileStamp.isMissing(folder.database.path) else { throw folder.error(.missing) }
                    let new = try ReadConnection(opening: folder)
                    guard state.catalogID.map({ $0 == new.catalogID }) ?? true else {
                        throw folder.error(.failed("another catalog is at its path now; open it again"))
                    }
                    // Reads that still use the outdated connection keep it open.
                    state = State(connection: new, catalogID: new.catalogID)
                }
                state.readCount += 1
                return state.connection
            }
            if let connection { return connection }
            Thread.sleep(forTimeInterval: 0.01)
        }
    }

    private func endRead(of connection: ReadConnection) {
        state.withLock { state in
            if state.connection?.reader === connection.reader { state.readCount -= 1 }
        }
    }

    /// Runs what only reads; again, up to `attempts` times in all, as long as it fails because it would have to write.
    ///
    /// - Parameter pause: called between two attempts; by default ten milliseconds pass.
    package static func waitingForRecovery<Value>(
        attempts: Int = 200, pause: () -> Void = { Thread.sleep(forTimeInterval: 0.01) }, _ body: () throws -> Value
    ) throws -> Value {
        for _ in 1..<max(attempts, 1) {
            do {
                return try body()
            } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_READONLY_RECOVERY {
                pause()
            }
        }
        return try body()
    }
}

extension CatalogReader {
    /// Writes one state of the database to the unfinished database of a folder.
    ///
    /// - Parameter progress: called after each step. What it throws ends the copy.
    /// - Returns: the model of the prints in the copy.
    @discardableResult
    package func copyDatabase(
        to url: URL, pagesPerStep: CInt = 1024, progress: @escaping () throws -> Void
    ) throws -> ModelIdentity? {
        let copy = CatalogFolder(url: url)
        return try withConnection { connection in
            // A second backup to the same file would go through a log.
            copy.removeUnfinishedDatabase()
            let queue = try DatabaseQueue(path: copy.unfinishedDatabase.path)
            try connection.backup(to: queue, pagesPerStep: pagesPerStep) { _ in try progress() }
            let identity = try queue.read(EntityStore.model)
            try queue.close()
            return identity
        }
    }
}

/// A connection for reading, which changes nothing: the last one to close leaves SQLite's log as it is.
///
/// Readers see the database together with its log. Where the log's shared index cannot be written, SQLite reads it, or
/// makes its own in memory (https://www.sqlite.org/wal.html, section 5). Without a log the file is read alone.
struct ReadConnection: Sendable {
    let reader: any DatabaseReader
    /// What names the catalog in its database; nil without its tables.
    let catalogID: String?
    /// The file that was opened.
    private let file: FileIdentity?
    /// The file's stamp if it is read alone, because SQLite then misses changes.
    private let stamp: FileStamp?

    /// Opens a folder's database. If a writer has to recover its log first, waits for that.
    init(opening folder: CatalogFolder) throws {
        self = try CatalogReader.waitingForRecovery { try Self.opened(folder) }
    }

    private init(reader: any DatabaseReader, catalogID: String?, file: FileIdentity?, stamp: FileStamp?) {
        (self.reader, self.catalogID, self.file, self.stamp) = (reader, catalogID, file, stamp)
    }

    /// Whether another file is at the path, or the file is read alone and there is more to read by now.
    func isOutdated(in folder: CatalogFolder) -> Bool {
        guard file == FileIdentity(folder.database) else { return true }
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
        // Before the file is opened: another one may take its place meanwhile.
        let file = FileIdentity(folder.database)
        func probed(_ reader: any DatabaseReader, stamp: FileStamp? = nil) throws -> ReadConnection {
            let id = try reader.read { db in
                // What is damaged is said by those who read it.
                try db.tableExists("setting") ? try? Setting.catalogID.read(db) : nil
            }
            return ReadConnection(reader: reader, catalogID: id, file: file, stamp: stamp)
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

/// The readers of this process, by catalog.
///
/// SQLite opens the index of a log once for all connections of a process, and read-only if it cannot write to it at
/// that moment. Until all these connections are closed, nothing in the process can write to the database.
enum OpenReaders {
    private struct Entry {
        let path: String
        weak var reader: CatalogReader?
    }

    private struct State {
        var entries: [Entry] = []
        /// Paths of the folders whose readers are kept closed.
        var closing: Set<String> = []
    }

    private static let state = Mutex(State())

    static func add(_ reader: CatalogReader, of folder: CatalogFolder) {
        let entry = Entry(path: path(of: folder), reader: reader)
        state.withLock { state in
            state.entries.removeAll { $0.reader == nil }
            state.entries.append(entry)
        }
    }

    /// Whether reads of a folder have to wait before they open or use a connection.
    static func areClosing(in folder: CatalogFolder) -> Bool {
        state.withLock { !$0.closing.isEmpty && $0.closing.contains(path(of: folder)) }
    }

    /// Runs `body` while all connections of a folder's readers are closed, so that it can open the index for writing.
    /// Reads that begin meanwhile wait. Those that are under way have two seconds to end.
    ///
    /// - Precondition: the caller holds the folder's ``WriterLock``.
    /// - Returns: what `body` returns, or nil if reads are still under way after that.
    static func whileClosed<Value>(in folder: CatalogFolder, _ body: () throws -> Value) rethrows -> Value? {
        let path = path(of: folder)
        let readers = state.withLock { state in
            state.closing.insert(path)
            return state.entries.filter { $0.path == path }.compactMap(\.reader)
        }
        defer { state.withLock { _ = $0.closing.remove(path) } }
        for attempt in 0..<200 {
            if attempt > 0 { Thread.sleep(forTimeInterval: 0.01) }
            if readers.allSatisfy({ $0.close() }) { return try body() }
        }
        return nil
    }

    private static func path(of folder: CatalogFolder) -> String { folder.url.resolvingSymlinksInPath().path }
}
