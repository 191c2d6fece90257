import Foundation
import Synchronization

/// The readers of this process, by catalog.
///
/// SQLite opens the index of a log once for all connections of a process, and read-only if it could not be opened
/// otherwise at that moment. Nothing in the process can write to the database then before all of them are closed.
enum OpenReaders {
    private struct Entry {
        let path: String
        weak var reader: CatalogReader?
    }

    private static let entries = Mutex<[Entry]>([])

    static func add(_ reader: CatalogReader, of folder: CatalogFolder) {
        entries.withLock { entries in
            entries.removeAll { $0.reader == nil }
            entries.append(Entry(path: path(of: folder), reader: reader))
        }
    }

    /// Closes the connections of a folder's readers, so that the next ones open the index again. Waits two seconds at
    /// most for reads that are under way.
    ///
    /// - Returns: whether all are closed.
    static func close(in folder: CatalogFolder) -> Bool {
        let path = path(of: folder)
        var readers = entries.withLock { entries in entries.filter { $0.path == path }.compactMap(\.reader) }
        for attempt in 0..<200 {
            if attempt > 0 { Thread.sleep(forTimeInterval: 0.01) }
            readers.removeAll { $0.close() }
            if readers.isEmpty { return true }
        }
        return false
    }

    private static func path(of folder: CatalogFolder) -> String { folder.url.resolvingSymlinksInPath().path }
}
