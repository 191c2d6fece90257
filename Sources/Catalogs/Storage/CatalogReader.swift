import Foundation
import GRDB

/// Reads a catalog's database.
///
/// A reader without write access may find SQLite's index of the log between two states: it would have to be rebuilt,
/// which takes write access, and a writer is about to do so. SQLite calls that an attempt to write
/// (`SQLITE_READONLY_RECOVERY`; https://www.sqlite.org/rescode.html). Such a read is tried again for a moment.
package struct CatalogReader: Sendable {
    let connection: any DatabaseReader

    func read<Value>(_ value: (Database) throws -> Value) throws -> Value {
        try Self.waitingForRecovery { try connection.read(value) }
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
