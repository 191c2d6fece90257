import Foundation
import Synchronization

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
