import FeaturePrints
import Foundation
import GRDB
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
    }

    private let source: Source
    /// Of a folder's connection. That of a writer is never replaced.
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
                    // Reads that still use the outdated connection keep it open.
                    state = State(connection: try ReadConnection(opening: folder))
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
