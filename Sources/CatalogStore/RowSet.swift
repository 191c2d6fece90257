import CatalogEntities
import GRDB
import GRDBSQLite

/// Rows of the table `entity`, a bit each.
struct RowSet {
    private var bits: [UInt64] = []
    /// Rows that would need too many bits, since the number of a row is never used again.
    private var others: Set<Int64> = []

    private static let mostBits: Int64 = 1 << 27

    var byteCount: Int { bits.count * 8 + others.count * 16 }

    var count: Int { bits.reduce(others.count) { $0 + $1.nonzeroBitCount } }

    /// The rows in order.
    var sorted: [Int64] { rows(from: .min, limit: .max) }

    /// The first of the rows from one on, in order.
    func rows(from first: Int64, limit: Int) -> [Int64] {
        var rows: [Int64] = []
        let start = Int(max(0, min(first, Self.mostBits)))
        for index in bits.indices.dropFirst(start / 64) {
            var rest = bits[index]
            if index == start / 64 { rest &= .max << UInt64(start % 64) }
            while rest != 0 {
                if rows.count == limit { return rows }
                rows.append(Int64(index * 64 + rest.trailingZeroBitCount))
                rest &= rest - 1
            }
        }
        return rows + others.filter { $0 >= first }.sorted().prefix(limit - rows.count)
    }

    func contains(_ row: Int64) -> Bool {
        guard (0..<Self.mostBits).contains(row) else { return others.contains(row) }
        let index = Int(row >> 6)
        return index < bits.count && bits[index] >> UInt64(row & 63) & 1 == 1
    }

    func count(of rows: ArraySlice<Int64>) -> Int {
        bits.withUnsafeBufferPointer { bits in
            rows.withUnsafeBufferPointer { rows in
                rows.reduce(0) { count, row in
                    let index = Int(row >> 6)
                    // Without a branch, which could not be predicted.
                    if bits.indices.contains(index) { return count + Int(bits[index] >> UInt64(row & 63) & 1) }
                    return count + (others.contains(row) ? 1 : 0)
                }
            }
        }
    }

    /// The places of those that are in the set, in order.
    func places<Row: BinaryInteger>(in rows: ArraySlice<Row>) -> [Int] {
        guard others.isEmpty else { return rows.indices.filter { contains(Int64(rows[$0])) } }
        var places: [Int] = []
        bits.withUnsafeBufferPointer { bits in
            rows.withUnsafeBufferPointer { values in
                for index in values.indices {
                    let row = values[index]
                    let word = Int(truncatingIfNeeded: row >> 6)
                    if bits.indices.contains(word), bits[word] >> UInt64(truncatingIfNeeded: row & 63) & 1 == 1 {
                        places.append(rows.startIndex + index)
                    }
                }
            }
        }
        return places
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

    init() {}

    init(_ rows: some Sequence<UInt32>) { for row in rows { insert(Int64(row)) } }

    /// The rows that a statement selects.
    init(_ sql: SQL, _ db: Database) throws {
        try db.forEachStep(of: sql) { insert(sqlite3_column_int64($0, 0)) }
    }
}

extension Database {
    /// Calls `body` with a statement at each of its rows: to make Swift's values of a million rows takes longer than to
    /// find them.
    func forEachStep(of sql: SQL, _ body: (OpaquePointer) throws -> Void) throws {
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
