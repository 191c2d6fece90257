import CatalogEntities
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The rows of the entities that have each value of a field: its posting lists.
///
/// Texts that are the same folded are one value, whose name is the text of the first entity that has it.
struct ValueRows: Sendable {
    private var names: [String] = []
    /// Where the rows of each value end.
    private var ends: [Int] = []
    private var rows: [Int64] = []

    /// A seek for each of few values is faster than to compare the values of all rows.
    private static let mostSeeks = 64

    var byteCount: Int { rows.count * 8 + names.reduce(0) { $0 + 32 + $1.utf8.count } }

    /// Reads all values of a field. O(entities that have the field).
    ///
    /// - Parameter check: called now and then; what it throws ends the reading.
    init(of field: EntityField, _ db: Database, check: () throws -> Void) throws {
        let values: SQL = "FROM field WHERE name = \(field.storedName) AND folded"
        var last: String?
        while names.count < Self.mostSeeks {
            try check()
            let after: SQL = last.map { "> \($0)" } ?? ">= ''"
            let request: SQLRequest<Row> = "SELECT folded, text \(values) \(after) ORDER BY folded, row, text LIMIT 1"
            guard let first = try request.fetchOne(db) else { return }
            let folded: String = try first.decode(atIndex: 0)
            begin(try first.decode(atIndex: 1))
            try db.forEachStep(of: "SELECT row \(values) = \(folded) ORDER BY row") { add(sqlite3_column_int64($0, 0)) }
            last = folded
        }
        var (folded, seen): ([UInt8], Int) = ([], 0)
        let sql: SQL = "SELECT row, folded, text \(values) > \(last ?? "") ORDER BY folded, row, text"
        let start = names.count
        try db.forEachStep(of: sql) { statement in
            seen += 1
            if seen % (1 << 16) == 0 { try check() }
            let value = Self.bytes(statement, 1)
            if names.count == start || !value.elementsEqual(folded) {
                folded = Array(value)
                begin(String(decoding: Self.bytes(statement, 2), as: UTF8.self))
            }
            add(sqlite3_column_int64(statement, 0))
        }
    }

    private mutating func begin(_ name: String) {
        names.append(name)
        ends.append(rows.count)
    }

    /// Adds a row of the last value. An entity may have it in several spellings.
    private mutating func add(_ row: Int64) {
        let start = ends.count > 1 ? ends[ends.count - 2] : 0
        if rows.count == start || rows[rows.count - 1] != row { rows.append(row) }
        ends[ends.count - 1] = rows.count
    }

    /// How many of some entities have each value, without values that none has.
    ///
    /// - Parameter set: the rows of the entities; nil for all.
    func counts(among set: RowSet?) -> [(String, Int)] {
        var start = 0
        return zip(names, ends).compactMap { name, end in
            let range = start..<end
            start = end
            let count = set.map { $0.count(of: rows[range]) } ?? range.count
            return count == 0 ? nil : (name, count)
        }
    }

    private static func bytes(_ statement: OpaquePointer, _ column: Int32) -> UnsafeBufferPointer<UInt8> {
        let start = sqlite3_column_text(statement, column)
        return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}

/// What was read of catalogs lately and holds until they change, such as the rows that satisfy a condition. The least
/// recently used part gives way to a new one.
package final class RowCache: Sendable {
    private struct Key: Hashable {
        let store: UUID
        let name: ExactText
    }

    private struct Entry {
        let state: EntityState
        let value: any Sendable
        let byteCount: Int
        var use: Int
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var byteCount = 0
        var uses = 0
        var limit = 64 << 20
    }

    /// That of all catalogs of the process.
    package static let shared = RowCache()

    private let state = Mutex(State())

    /// The bytes that it has at most.
    package func setLimit(_ limit: Int) { state.withLock { $0.limit = limit } }

    func known<Value: Sendable>(_ name: String, of store: UUID, at entities: EntityState) -> Value? {
        state.withLock { state in
            let key = Key(store: store, name: ExactText(name))
            guard let entry = state.entries[key], entry.state == entities else { return nil }
            state.uses += 1
            state.entries[key]?.use = state.uses
            return entry.value as? Value
        }
    }

    func keep(_ value: some Sendable, _ byteCount: Int, as name: String, of store: UUID, at entities: EntityState) {
        state.withLock { state in
            let key = Key(store: store, name: ExactText(name))
            state.byteCount -= state.entries.removeValue(forKey: key)?.byteCount ?? 0
            guard byteCount <= state.limit else { return }
            while state.byteCount + byteCount > state.limit,
                let oldest = state.entries.min(by: { $0.value.use < $1.value.use })
            {
                state.entries[oldest.key] = nil
                state.byteCount -= oldest.value.byteCount
            }
            state.uses += 1
            state.byteCount += byteCount
            state.entries[key] = Entry(state: entities, value: value, byteCount: byteCount, use: state.uses)
        }
    }

    /// Drops what was read of a catalog that is closed.
    func forget(_ store: UUID) {
        state.withLock { state in
            for (key, entry) in state.entries where key.store == store {
                state.entries[key] = nil
                state.byteCount -= entry.byteCount
            }
        }
    }
}

/// What the cache knows of a store at one moment.
struct KnownRows {
    private let store: UUID
    private let state: EntityState
    private let db: Database

    init(_ store: UUID, _ state: EntityState, _ db: Database) { (self.store, self.state, self.db) = (store, state, db) }

    func hasValues(of field: EntityField) -> Bool {
        let known: ValueRows? = RowCache.shared.known(Self.name(field), of: store, at: state)
        return known != nil
    }

    func values(of field: EntityField, check: () throws -> Void) throws -> ValueRows {
        try cached(Self.name(field), \.byteCount) { try ValueRows(of: field, db, check: check) }
    }

    private static func name(_ field: EntityField) -> String { "field\0" + field.storedName }

    /// The rows that satisfy a condition. O(entities that have the values), for each of its parts.
    func rows(where condition: Condition) throws -> RowSet {
        func all() throws -> RowSet { try rows("SELECT row FROM entity", "all") }
        switch condition.form {
        case .not(let part): return try all().subtracting(rows(where: part))
        case .all(let parts):
            guard let first = parts.first else { return try all() }
            return try parts.dropFirst().reduce(rows(where: first)) { $0.intersection(try rows(where: $1)) }
        case .any(let parts): return try parts.reduce(RowSet()) { $0.union(try rows(where: $1)) }
        default: return try rows(condition.rowsOfOneField, "condition\0" + condition.description)
        }
    }

    /// The rows of the entities that have the words of a text. O(these entities).
    func rows(having expression: String) throws -> RowSet {
        try rows("SELECT rowid FROM entityText WHERE entityText MATCH \(expression)", "text\0" + expression)
    }

    private func rows(_ sql: SQL, _ name: String) throws -> RowSet {
        try cached(name, \.byteCount) { try RowSet(sql, db) }
    }

    private func cached<Value: Sendable>(
        _ name: String, _ byteCount: (Value) -> Int, _ make: () throws -> Value
    ) throws -> Value {
        if let known: Value = RowCache.shared.known(name, of: store, at: state) { return known }
        let made = try make()
        RowCache.shared.keep(made, byteCount(made), as: name, of: store, at: state)
        return made
    }
}
