import Foundation
import GRDB

/// A new value in the database: a byte for the column, one for the row, one for the kind of value, and its bytes.
public struct RowEdit {
    private static let columns: [(table: String, column: String)] = [
        ("print", "vector"), ("localFeatures", "data"), ("thumbnail", "data"), ("thumbnail", "side"),
        ("setting", "value"), ("setting", "key"), ("revision", "number"), ("revision", "token"),
        ("entity", "id"), ("entity", "type"), ("entity", "title"), ("entity", "subtitle"), ("entity", "labels"),
        ("entity", "attributes"), ("entity", "images"), ("image", "size"), ("image", "modified"),
        ("image", "contentHash"), ("entity", "row"), ("print", "row"), ("localFeatures", "row"), ("thumbnail", "row"),
        ("image", "row"), ("image", "revision"), ("image", "print"), ("image", "localFeatures"), ("image", "thumbnail"),
    ]

    private let table: String
    private let column: String
    private let row: Int
    private let kind: Int
    private let value: ArraySlice<UInt8>

    /// - Parameter input: nil if it has no column, row and kind.
    public init?(_ input: [UInt8]) {
        guard input.count >= 3 else { return nil }
        (table, column) = Self.columns[Int(input[0]) % Self.columns.count]
        (row, kind, value) = (Int(input[1]) % 8, Int(input[2]) % 6, input[3...])
    }

    /// Makes the change. A value that a constraint of the table refuses is left out.
    public func apply(to database: URL) {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        guard let queue = try? DatabaseQueue(path: database.path, configuration: configuration) else { return }
        try? queue.write { db in
            let rowID = "(SELECT rowid FROM \(table) ORDER BY rowid LIMIT 1 OFFSET \(row))"
            let stored = try DatabaseValue.fetchOne(db, sql: "SELECT \(column) FROM \(table) WHERE rowid = \(rowID)")
            guard let stored else { return }
            try db.execute(
                sql: "UPDATE \(table) SET \(column) = ? WHERE rowid = \(rowID)", arguments: [changed(stored)])
        }
        try? queue.close()
    }

    private func changed(_ stored: DatabaseValue) -> DatabaseValue {
        let bits = value.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch kind {
        case 0: return Data(value).databaseValue
        case 1: return String(decoding: value, as: UTF8.self).databaseValue
        case 2: return Int64(bitPattern: bits).databaseValue
        case 3: return Double(bitPattern: bits).databaseValue
        case 4: return .null
        default:
            var bytes = [UInt8](Data.fromDatabaseValue(stored) ?? Data())
            ByteEdits(value).apply(to: &bytes)
            if case .string = stored.storage { return String(decoding: bytes, as: UTF8.self).databaseValue }
            return Data(bytes).databaseValue
        }
    }
}
