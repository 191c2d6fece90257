import CatalogEntities
import GRDB
import GRDBSQLite

/// Rows of the table `entity`, a bit each.
struct RowSet {
    private var bits: [UInt64] = []
    /// Rows that would need too many bits, since the number of a row is never used again.
    private var others: Set<Int64> = []

    private static let mostBits: Int64 = 1 << 27

    var count: Int { bits.reduce(others.count) { $0 + $1.nonzeroBitCount } }

    /// The rows in order.
    var sorted: [Int64] {
        var rows: [Int64] = []
        for (index, word) in bits.enumerated() {
            var rest = word
            while rest != 0 {
                rows.append(Int64(index * 64 + rest.trailingZeroBitCount))
                rest &= rest - 1
            }
        }
        return rows + others.sorted()
    }

    func contains(_ row: Int64) -> Bool {
        guard (0..<Self.mostBits).contains(row) else { return others.contains(row) }
        let index = Int(row >> 6)
        return index < bits.count && bits[index] >> UInt64(row & 63) & 1 == 1
    }

    private mutating func insert(_ row: Int64) {
        guard (0..<Self.mostBits).contains(row) else {
            others.insert(row)
            return
        }
        let index = Int(row >> 6)
        if index >= bits.count { bits += repeatElement(0, count: max(index + 1 - bits.count, bits.count)) }
        bits[index] |= 1 << UInt64(row & 63)
    }

    private func combined(
        with other: RowSet, _ word: (UInt64, UInt64) -> UInt64, _ rest: (Set<Int64>, Set<Int64>) -> Set<Int64>
    ) -> RowSet {
        var result = RowSet()
        result.bits = (0..<max(bits.count, other.bits.count)).map { index in
            word(index < bits.count ? bits[index] : 0, index < other.bits.count ? other.bits[index] : 0)
        }
        result.others = rest(others, other.others)
        return result
    }

    func intersection(_ other: RowSet) -> RowSet { combined(with: other, &) { $0.intersection($1) } }
    func union(_ other: RowSet) -> RowSet { combined(with: other, |) { $0.union($1) } }
    func subtracting(_ other: RowSet) -> RowSet {
        combined(with: other) {
            $0 & ~$1
        } _: {
            $0.subtracting($1)
        }
    }

    private init() {}

    /// The rows that a statement selects.
    init(_ sql: SQL, _ db: Database) throws {
        try db.forEachStep(of: sql) { insert(sqlite3_column_int64($0, 0)) }
    }

    /// The rows that satisfy a condition. O(entities that have the values), for each of its parts.
    init(_ condition: Condition, _ db: Database) throws {
        func all() throws -> RowSet { try RowSet("SELECT row FROM entity", db) }
        switch condition.form {
        case .not(let part): self = try all().subtracting(RowSet(part, db))
        case .all(let parts):
            let sets = try parts.map { try RowSet($0, db) }
            self = try sets.dropFirst().reduce(sets.first ?? all()) { $0.intersection($1) }
        case .any(let parts): self = try parts.reduce(RowSet()) { $0.union(try RowSet($1, db)) }
        default: self = try RowSet(condition.rowsOfOneField, db)
        }
    }

    /// How many of the rows have each value of a field: texts that are the same folded are one, and the least of them
    /// is its name. O(entities that have the field).
    ///
    /// - Parameter check: called now and then; what it throws ends the count.
    func counts(
        of field: EntityField, _ db: Database, check: () throws -> Void
    ) throws -> [(String, Int)] {
        var counts: [(String, Int)] = []
        var (folded, text): ([UInt8], [UInt8]) = ([], [])
        var (count, last, seen) = (0, Int64.min, 0)
        func end() {
            if count > 0 { counts.append((String(decoding: text, as: UTF8.self), count)) }
            count = 0
        }
        // In the order of the primary key.
        let sql: SQL = """
            SELECT row, folded, text FROM field WHERE name = \(field.storedName) ORDER BY folded, row, text
            """
        try db.forEachStep(of: sql) { statement in
            seen += 1
            if seen % (1 << 16) == 0 { try check() }
            let row = sqlite3_column_int64(statement, 0)
            guard contains(row) else { return }
            let (value, name) = (Self.bytes(statement, 1), Self.bytes(statement, 2))
            if count == 0 || !value.elementsEqual(folded) {
                end()
                (folded, text, count, last) = (Array(value), Array(name), 1, row)
                return
            }
            if row != last { count += 1 }
            last = row
            if name.lexicographicallyPrecedes(text) { text = Array(name) }
        }
        end()
        return counts
    }

    private static func bytes(_ statement: OpaquePointer, _ column: Int32) -> UnsafeBufferPointer<UInt8> {
        let start = sqlite3_column_text(statement, column)
        return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}

extension Database {
    /// Calls `body` with a statement at each of its rows: to make Swift's values of a million rows takes longer than to
    /// find them.
    fileprivate func forEachStep(of sql: SQL, _ body: (OpaquePointer) throws -> Void) throws {
        let statement = try makeStatement(literal: sql)
        let pointer = statement.sqliteStatement
        defer { sqlite3_reset(pointer) }
        while true {
            switch sqlite3_step(pointer) {
            case SQLITE_ROW: try body(pointer)
            case SQLITE_DONE: return
            case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
            }
        }
    }
}
