import Foundation
import GRDB
import Synchronization

/// Reads a catalog's database.
///
/// A reader without write access may find SQLite's index of the log between two states: it would have to be rebuilt,
/// which takes write access, and a writer is about to do so. SQLite calls that an attempt to write
/// (`SQLITE_READONLY_RECOVERY`; https://www.sqlite.org/rescode.html). Such a read is tried again for a moment.
///
/// A connection that was opened while the log could not be written, as on a full disk, is replaced when that matters:
/// when it does not show all there is, and when it keeps the process from writing (``OpenReaders``).
package final class CatalogReader: Sendable {
    private struct State {
        /// Nil until the next read.
        var connection: ReadConnection?
        /// Reads that are under way.
        var readCount = 0
        /// Whether the connection is replaced as soon as nothing uses it.
        var isRetired = false
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
        state = Mutex(State(connection: try ReadConnection(opening: folder)))
        self.folder = folder
        OpenReaders.add(self, of: folder)
    }

    func read<Value>(_ value: (Database) throws -> Value) throws -> Value {
        try withConnection { connection in try Self.waitingForRecovery { try connection.read(value) } }
    }

    /// - Parameter body: gets the connection, and does not keep it.
    func withConnection<Value>(_ body: (any DatabaseReader) throws -> Value) throws -> Value {
        let reader = try state.withLock { state in
            let connection = try current(&state)
            state.readCount += 1
            return connection.reader
        }
        defer { state.withLock { $0.readCount -= 1 } }
        return try body(reader)
    }

    /// Closes the connection, or has the next read do so that finds no other under way. Reads open another one.
    ///
    /// - Returns: whether it is closed.
    func close() -> Bool {
        state.withLock { state in
            state.isRetired = true
            if state.readCount == 0 { Self.close(&state) }
            return state.connection == nil
        }
    }

    private func current(_ state: inout State) throws -> ReadConnection {
        if let connection = state.connection, let folder, state.readCount == 0,
            state.isRetired || connection.isOutdated(in: folder)
        {
            Self.close(&state)
        }
        if let connection = state.connection { return connection }
        guard let folder else { preconditionFailure("a writer's connection has been closed") }
        let connection = try ReadConnection(opening: folder)
        state.connection = connection
        return connection
    }

    private static func close(_ state: inout State) {
        try? state.connection?.reader.close()
        state.connection = nil
        state.isRetired = false
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
