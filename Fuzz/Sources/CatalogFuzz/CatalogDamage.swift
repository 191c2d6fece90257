import COpenSSL
import Foundation
import GRDB

/// What is done to the files of a catalog.
enum CatalogDamage: Sendable {
    /// Bytes of a file are changed.
    case file(String)
    /// Bytes of a derived file are changed, and then its digests are made right again, so that its header is believed.
    case derivedFile(String)
    /// A value in the database is changed.
    case row

    /// The order is part of the format of inputs.
    static let allKinds: [CatalogDamage] = [
        .file("catalog.sqlite"), .file("prints.matrix"), .file("features.lists"),
        .derivedFile("prints.matrix"), .derivedFile("features.lists"), .row,
    ]

    func apply(_ input: [UInt8], to template: CatalogTemplate, in folder: URL) {
        switch self {
        case .file(let name): template.write(to: folder, changing: name) { ByteEdits(input[...]).apply(to: &$0) }
        case .derivedFile(let name):
            template.write(to: folder, changing: name) { contents in
                ByteEdits(input[...]).apply(to: &contents)
                Self.restoreDigests(&contents)
            }
        case .row:
            template.write(to: folder)
            RowEdit(input)?.apply(to: folder.appendingPathComponent("catalog.sqlite"))
        }
    }

    /// As in the header of a derived file: that of the contents, and then that of the header.
    private static func restoreDigests(_ contents: inout [UInt8]) {
        guard contents.count >= 192 else { return }
        contents.replaceSubrange(104..<136, with: digest(contents[192...]))
        contents.replaceSubrange(176..<192, with: digest(contents[..<176]).prefix(16))
    }

    private static func digest(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let isDone = bytes.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &digest, nil, EVP_sha256(), nil) }
        precondition(isDone == 1, "OpenSSL hashes any number of bytes")
        return digest
    }
}

/// Changes to bytes: two bytes of a position, one with the number of bytes that follow, and those.
///
/// Positions below 4,096 are exact; the others are in 1/65,536 of the contents. The last one cuts the contents there.
struct ByteEdits {
    private static let exactPositions = 4096
    private let input: ArraySlice<UInt8>

    init(_ input: ArraySlice<UInt8>) { self.input = input }

    func apply(to contents: inout [UInt8]) {
        var rest = input
        while rest.count > 3, !contents.isEmpty {
            let position = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            let length = Int(rest[rest.startIndex + 2])
            rest = rest.dropFirst(3)
            if position == 65_535 {
                contents.removeLast(min(contents.count, length * 61))
                continue
            }
            let start = position < Self.exactPositions ? position : contents.count * position / 65_536
            for (offset, byte) in rest.prefix(length).enumerated() where start + offset < contents.count {
                contents[start + offset] = byte
            }
            rest = rest.dropFirst(length)
        }
    }
}

/// A new value in the database: a byte for the column, one for the row, one for the kind of value, and its bytes.
struct RowEdit {
    private static let columns: [(table: String, column: String)] = [
        ("print", "vector"), ("localFeatures", "data"), ("thumbnail", "data"), ("thumbnail", "side"),
        ("setting", "value"), ("setting", "key"), ("revision", "number"), ("revision", "token"),
        ("entity", "id"), ("entity", "type"), ("entity", "title"), ("entity", "subtitle"), ("entity", "labels"),
        ("entity", "attributes"), ("entity", "image"), ("entity", "size"), ("entity", "modified"),
        ("entity", "contentHash"), ("entity", "row"), ("print", "row"), ("localFeatures", "row"), ("thumbnail", "row"),
        ("checksum", "row"), ("checksum", "revision"), ("checksum", "print"), ("checksum", "localFeatures"),
        ("checksum", "thumbnail"), ("grdb_migrations", "identifier"),
    ]

    private let table: String
    private let column: String
    private let row: Int
    private let kind: Int
    private let value: ArraySlice<UInt8>

    init?(_ input: [UInt8]) {
        guard input.count >= 3 else { return nil }
        (table, column) = Self.columns[Int(input[0]) % Self.columns.count]
        (row, kind, value) = (Int(input[1]) % 8, Int(input[2]) % 6, input[3...])
    }

    /// A value that a constraint of the table refuses is left out.
    func apply(to database: URL) {
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
