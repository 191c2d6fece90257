import CatalogEntities
import GRDB
import GRDBSQLite

/// The rows of the entities that have each number or date of a field, in order: the rows of a range are found without
/// a look at the index, which takes some 80 ms for a million of them.
struct NumberRows: Sendable {
    /// The columns of the table of fields.
    enum Column: String, Sendable { case number, instant }

    private var numbers: [Double] = []
    /// Where the rows of each number end.
    private var ends: [Int] = []
    private var rows: [UInt32] = []
    /// Whether all numbers are those of the index. Whole numbers of 64 bits may be between two of `Double`.
    private(set) var isExact = true

    static let mostBytesPerValue = 20

    var byteCount: Int { numbers.count * 16 + rows.count * 4 }

    /// Reads all numbers of a field. O(entities that have the field).
    init(of field: EntityField, _ column: Column, _ db: Database) throws {
        let column = SQL(sql: column.rawValue)
        try add(
            """
            SELECT \(column), row FROM field WHERE name = \(field.storedName) AND \(column) IS NOT NULL ORDER BY 1
            """, db)
    }

    private init() {}

    /// Adds the rows that a statement selects, in the order of their numbers.
    private mutating func add(_ sql: SQL, _ db: Database) throws {
        try db.forEachStep(of: sql) { statement in
            let number = sqlite3_column_double(statement, 0)
            if sqlite3_column_type(statement, 0) == SQLITE_INTEGER,
                Int64(exactly: number) != sqlite3_column_int64(statement, 0)
            {
                isExact = false
            }
            guard let row = UInt32(exactly: sqlite3_column_int64(statement, 1)) else {
                isExact = false
                return
            }
            rows.append(row)
            endRows(of: number)
        }
    }

    private mutating func add(_ number: Double, _ new: ArraySlice<UInt32>) {
        rows += new
        endRows(of: number)
    }

    /// The rows that were added last are those of a number.
    private mutating func endRows(of number: Double) {
        if numbers.last == number {
            ends[ends.count - 1] = rows.count
        } else if rows.count > ends.last ?? 0 {
            numbers.append(number)
            ends.append(rows.count)
        }
    }

    /// Reads the numbers of some entities anew. O(entities that have the field), but by far less than to read all.
    func updated(_ changed: RowSet, of field: EntityField, _ column: Column, _ db: Database) throws -> NumberRows {
        let column = SQL(sql: column.rawValue)
        var new = NumberRows()
        try new.add(
            """
            SELECT \(column), row FROM json_each(\(changed.json)) AS changed \
            CROSS JOIN field INDEXED BY fieldByEntity ON field.row = changed.value \
            WHERE name = \(field.storedName) AND \(column) IS NOT NULL ORDER BY 1
            """, db)
        let removed = changed.places(in: rows[...])
        if new.isExact, has(new, at: removed) { return self }
        var result = NumberRows()
        result.isExact = isExact && new.isExact
        result.rows.reserveCapacity(rows.count + new.rows.count)
        var (next, nextRemoved) = (0, 0)
        for index in numbers.indices {
            while next < new.numbers.count, new.numbers[next] < numbers[index] {
                result.add(new.numbers[next], new.rows(at: next))
                next += 1
            }
            let first = nextRemoved
            while nextRemoved < removed.count, removed[nextRemoved] < ends[index] { nextRemoved += 1 }
            let own = rows(at: index)
            result.add(numbers[index], nextRemoved == first ? own : own.filter { !changed.contains(Int64($0)) }[...])
        }
        for index in next..<new.numbers.count { result.add(new.numbers[index], new.rows(at: index)) }
        return result
    }

    /// Whether some rows have the numbers that they had.
    ///
    /// - Parameter places: where the rows are.
    private func has(_ new: NumberRows, at places: [Int]) -> Bool {
        var places = places[...]
        for index in new.numbers.indices {
            let known = place { $0 < new.numbers[index] }
            guard known < numbers.count, numbers[known] == new.numbers[index] else { return false }
            let own = places.prefix { $0 < ends[known] }
            guard own.allSatisfy({ $0 >= start(known) }),
                own.map({ rows[$0] }).sorted() == new.rows(at: index).sorted()
            else { return false }
            places = places.dropFirst(own.count)
        }
        return places.isEmpty
    }

    private func rows(at index: Int) -> ArraySlice<UInt32> { rows[start(index)..<ends[index]] }
    private func start(_ index: Int) -> Int { index == 0 ? 0 : ends[index - 1] }

    /// The rows of the numbers in a range. O(log entities + the rows).
    func rows(in range: ValueRange<Double>) -> RowSet {
        let first = range.lower.map { end in place { end.isIncluded ? $0 < end.value : $0 <= end.value } } ?? 0
        let last =
            range.upper.map { end in place { end.isIncluded ? $0 <= end.value : $0 < end.value } } ?? numbers.count
        return first < last ? RowSet(rows[start(first)..<start(last)]) : RowSet()
    }

    /// The first place whose number is not before the range.
    private func place(_ isBefore: (Double) -> Bool) -> Int {
        var (low, high) = (0, numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(numbers[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
