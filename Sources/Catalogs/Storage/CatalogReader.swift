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
    private struct State {
        /// Nil until the next read.
        var connection: ReadConnection?
        /// Reads of the connection that are under way.
        var readCount = 0
    }

    private let state: Mutex<State>
    /// Nil for a writer's connection, which is not replaced.
    private let folder: CatalogFolder?

    /// Reads through a writer.
    init(writer: any DatabaseReader) {
        state = Mutex(State(connection: ReadConnection(of: writer)))
        folder = nil
    }

    /// Opens a folder's database.
    init(opening folder: CatalogFolder) throws {
        state = Mutex(State())
        self.folder = folder
        OpenReaders.add(self, of: folder)
        try withConnection { _ in }
    }

    /// Opens the database of a catalog's folder.
    package convenience init(opening url: URL) throws { try self.init(opening: CatalogFolder(url: url)) }

    /// Reads one state of the database.
    ///
    /// - Parameter value: called once more if the database changed meanwhile where that is not safe; what the earlier
    ///   call made is dropped.
    /// - Throws: ``CatalogError`` if the database changes again and again, and what `value` and the database throw.
    package func read<Value>(_ value: (Database) throws -> Value) throws -> Value {
        try withConnection { try Self.read(value, from: $0) }
    }

    /// Reads one state of the database, with a single call.
    ///
    /// - Throws: ``CatalogError`` if the database changed meanwhile where that is not safe, and what `value` and the
    ///   database throw.
    package func readOnce<Value>(_ value: (Database) throws -> Value) throws -> Value {
        try withConnection(attempts: 1) { try Self.read(value, from: $0) }
    }

    /// - Parameters:
    ///   - attempts: the largest number of calls.
    ///   - body: gets the connection, and does not keep it. Called once more as that of ``read(_:)``.
    package func withConnection<Value>(
        attempts: Int = 3, _ body: (any DatabaseReader) throws -> Value
    ) throws -> Value {
        for _ in 0..<attempts {
            let connection = try beginRead()
            let result = Result { try body(connection.reader) }
            endRead(of: connection)
            guard let folder, connection.isOutdated(in: folder) else { return try result.get() }
        }
        guard let folder else { preconditionFailure("a writer's connection is never outdated") }
        throw folder.error(.busy)
    }

    /// Closes the connection if no read is under way. The next read opens another one.
    ///
    /// - Returns: whether it is closed.
    func close() -> Bool {
        state.withLock { state in
            guard state.readCount == 0 else { return false }
            try? state.connection?.reader.close()
            state.connection = nil
            return true
        }
    }

    private static func read<Value>(
        _ value: (Database) throws -> Value, from connection: any DatabaseReader
    ) throws -> Value {
        try waitingForRecovery { try connection.read(value) }
    }

    private func beginRead() throws -> ReadConnection {
        while true {
            let connection: ReadConnection? = try state.withLock { state in
                guard let folder else {
                    state.readCount += 1
                    return state.connection
                }
                // Asked while the lock is held: a read that begins now is seen by `close()`.
                guard !OpenReaders.areClosing(in: folder) else { return nil }
                if state.connection?.isOutdated(in: folder) ?? true {
                    // The reads of an outdated one keep it.
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
