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
    /// The values, folded, in the order of their bytes.
    private var values: [String] = []
    /// Where the rows of each value end.
    private var ends: [Int] = []
    private var rows: [Int64] = []

    /// A seek for each of few values is faster than to compare the values of all rows.
    private static let mostSeeks = 64

    var byteCount: Int { rows.count * 8 + names.reduce(0) { $0 + 64 + 2 * $1.utf8.count } }

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
            begin(folded, try first.decode(atIndex: 1))
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
                begin(
                    String(decoding: value, as: UTF8.self), String(decoding: Self.bytes(statement, 2), as: UTF8.self))
            }
            add(sqlite3_column_int64(statement, 0))
        }
    }

    private mutating func begin(_ value: String, _ name: String) {
        values.append(value)
        names.append(name)
        ends.append(rows.count)
    }

    /// Adds a row of the last value. An entity may have it in several spellings.
    private mutating func add(_ row: Int64) {
        let start = ends.count > 1 ? ends[ends.count - 2] : 0
        if rows.count == start || rows[rows.count - 1] != row { rows.append(row) }
        ends[ends.count - 1] = rows.count
    }

    /// Reads the values of some entities anew. O(entities that have the field), but by far less than to read all.
    mutating func update(_ changed: RowSet, of field: EntityField, _ db: Database) throws {
        let removed = changed.places(in: rows[...])
        let name = field.storedName
        let request: SQLRequest<Row> = """
            SELECT DISTINCT folded, row FROM json_each(\(changed.json)) AS changed \
            CROSS JOIN field INDEXED BY fieldByEntity ON field.row = changed.value \
            WHERE name = \(name) ORDER BY folded, row
            """
        var added: [(value: String, rows: [Int64])] = []
        for row in try request.fetchAll(db) {
            let value: String = try row.decode(atIndex: 0)
            if added.last.map({ !$0.value.utf8.elementsEqual(value.utf8) }) ?? true { added.append((value, [])) }
            added[added.count - 1].rows.append(try row.decode(atIndex: 1))
        }
        if try has(added, at: removed, field, db) { return }
        let old = self
        (names, values, ends, rows) = ([], [], [], [])
        rows.reserveCapacity(old.rows.count + changed.count)
        var nextRemoved = 0
        var next = 0
        /// The rows of a value that was there, and whether some of them have changed.
        func known(_ index: Int) -> (rows: ArraySlice<Int64>, isChanged: Bool) {
            let (start, end) = (index == 0 ? 0 : old.ends[index - 1], old.ends[index])
            let first = nextRemoved
            while nextRemoved < removed.count, removed[nextRemoved] < end { nextRemoved += 1 }
            return (old.rows[start..<end], nextRemoved > first)
        }
        /// Adds values that were there, up to a place.
        func keep(to end: Int, _ result: inout ValueRows) throws {
            for index in next..<end {
                let (rows, isChanged) = known(index)
                if isChanged {
                    try result.append(old.values[index], rows.filter { !changed.contains($0) }, field, db)
                } else {
                    result.begin(old.values[index], old.names[index])
                    result.rows += rows
                    result.ends[result.ends.count - 1] = result.rows.count
                }
            }
            next = end
        }
        for (value, new) in added {
            let place = old.place(of: value)
            try keep(to: place, &self)
            var rows = new
            if place < old.values.count, old.values[place].utf8.elementsEqual(value.utf8) {
                rows = (known(place).rows.filter { !changed.contains($0) } + new).sorted()
                next += 1
            }
            try append(value, rows, field, db)
        }
        try keep(to: old.values.count, &self)
    }

    /// Whether some rows have the values that they had, as after most changes: the copy of a million rows takes longer.
    ///
    /// - Parameter places: where the rows are.
    private func has(
        _ added: [(value: String, rows: [Int64])], at places: [Int], _ field: EntityField, _ db: Database
    ) throws -> Bool {
        var places = places[...]
        for (value, new) in added {
            let index = place(of: value)
            guard index < values.count, values[index].utf8.elementsEqual(value.utf8) else { return false }
            let start = index == 0 ? 0 : ends[index - 1]
            let own = places.prefix { $0 < ends[index] }
            guard own.count == new.count, zip(own, new).allSatisfy({ $0 >= start && rows[$0] == $1 }) else {
                return false
            }
            if own.first == start, try firstText(of: value, field, db)?.utf8.elementsEqual(names[index].utf8) != true {
                return false
            }
            places = places.dropFirst(own.count)
        }
        return places.isEmpty
    }

    /// The text of a value's first entity.
    private func firstText(of value: String, _ field: EntityField, _ db: Database) throws -> String? {
        let request: SQLRequest<String> = """
            SELECT text FROM field WHERE name = \(field.storedName) AND folded = \(value) ORDER BY row, text LIMIT 1
            """
        return try request.fetchOne(db)
    }

    /// Adds a value after the last, unless no row has it. Its first entity may be another one, with another spelling.
    private mutating func append(_ value: String, _ rows: [Int64], _ field: EntityField, _ db: Database) throws {
        guard !rows.isEmpty, let name = try firstText(of: value, field, db) else { return }
        begin(value, name)
        self.rows += rows
        ends[ends.count - 1] = self.rows.count
    }

    /// The first place whose value is not less.
    private func place(of value: String) -> Int {
        var (low, high) = (0, values.count)
        while low < high {
            let middle = (low + high) / 2
            if values[middle].utf8.lexicographicallyPrecedes(value.utf8) { low = middle + 1 } else { high = middle }
        }
        return low
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

/// A change of an entity, which names the state of all entities after it. The database has the last of them.
struct EntityChange: Hashable, Sendable {
    private let number: Int64
    /// Another database, or another attempt at the change, has another one.
    private let token: Int64

    /// As many are in the database.
    private static let mostKept = 4096

    /// The last one; nil before the first.
    static func last(_ db: Database) throws -> EntityChange? {
        let sql = "SELECT number, token FROM change ORDER BY number DESC LIMIT 1"
        return try Row.fetchOne(db, sql: sql).map {
            EntityChange(number: try $0.decode(atIndex: 0), token: try $0.decode(atIndex: 1))
        }
    }

    /// The rows of the entities that were changed after this change; nil if the database does not have it.
    func laterRows(_ db: Database) throws -> RowSet? {
        let isKnown: SQLRequest<Bool> =
            "SELECT EXISTS (SELECT 1 FROM change WHERE number = \(number) AND token = \(token))"
        guard try isKnown.fetchOne(db) == true else { return nil }
        return try RowSet("SELECT row FROM change WHERE number > \(number)", db)
    }

    static func forgetEarliest(_ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM change WHERE number <= (SELECT MAX(number) FROM change) - ?")
            .execute(arguments: [mostKept])
    }
}

/// What was read of catalogs lately, such as the rows that satisfy a condition. The least recently used part gives way
/// to a new one.
package final class RowCache: Sendable {
    private struct Key: Hashable {
        let store: UUID
        let name: ExactText
    }

    private struct Entry {
        /// The last change that the value has; nil before the first.
        let change: EntityChange?
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

    var limit: Int { state.withLock(\.limit) }

    /// The bytes that it has at most.
    package func setLimit(_ limit: Int) { state.withLock { $0.limit = limit } }

    func known<Value: Sendable>(_ name: String, of store: UUID) -> (value: Value, change: EntityChange?)? {
        state.withLock { state in
            let key = Key(store: store, name: ExactText(name))
            guard let entry = state.entries[key] else { return nil }
            state.uses += 1
            state.entries[key]?.use = state.uses
            return (entry.value as? Value).map { ($0, entry.change) }
        }
    }

    func keep(_ value: some Sendable, _ byteCount: Int, as name: String, of store: UUID, at change: EntityChange?) {
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
            state.entries[key] = Entry(change: change, value: value, byteCount: byteCount, use: state.uses)
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
    private let last: EntityChange?
    private let db: Database
    private let few: Int

    init(_ store: UUID, _ db: Database, few: Int) throws {
        (self.store, last, self.db, self.few) = (store, try EntityChange.last(db), db, few)
    }

    /// Whether the values of a field are known without reading all of them.
    func hasValues(of field: EntityField) throws -> Bool { try updated(valueRows(of: field) {}) != nil }

    func values(of field: EntityField, check: () throws -> Void) throws -> ValueRows {
        try withoutActuallyEscaping(check) { try cached(valueRows(of: field, check: $0)) }
    }

    /// The rows that satisfy a condition. O(entities that have the values), for each of its parts.
    func rows(where condition: Condition) throws -> RowSet {
        func all() throws -> RowSet { try cached(rows("all", "SELECT row FROM entity", of: .everything)) }
        switch condition.form {
        case .not(let part): return try all().subtracting(rows(where: part))
        case .all(let parts):
            guard let first = parts.first else { return try all() }
            return try parts.dropFirst().reduce(rows(where: first)) { $0.intersection(try rows(where: $1)) }
        case .any(let parts): return try parts.reduce(RowSet()) { $0.union(try rows(where: $1)) }
        default: return try cached(rows(of: condition))
        }
    }

    /// Whether the rows of each part of a condition are known, or found at once.
    func hasRows(where condition: Condition) throws -> Bool {
        switch condition.form {
        case .not(let part): return try hasRows(where: part)
        case .all(let parts), .any(let parts): return try parts.allSatisfy { try hasRows(where: $0) }
        default:
            if try updated(rows(of: condition)) != nil { return true }
            return try condition.numbers.map { try updated(numberRows(of: $0.field, $0.column))?.isExact == true }
                ?? false
        }
    }

    /// The rows that satisfy a condition, if a part of it holds for few entities, as the index of fields shows at
    /// once; nil for others.
    func fewRows(where condition: Condition) throws -> RowSet? {
        let parts = condition.conjuncts
        guard let part = try parts.first(where: { try isFew($0) }) else { return nil }
        if parts.count == 1 { return try rows(where: part) }
        return try cached(
            Part(name: "few\0" + condition.description, byteCount: \.byteCount) {
                try rows(among: rows(where: part), where: condition)
            } update: { rows, changed in
                rows.subtracting(changed).union(try looked(among: changed, where: condition))
            })
    }

    private func isFew(_ part: Condition) throws -> Bool {
        let holds: SQL
        switch part.form {
        case .isAnyOf(let field, let values) where field != .id:
            holds = "name = \(field.storedName) AND folded IN \(values.map(TextFolding.folded))"
        case .number(let field, let range) where field != .id:
            holds = "name = \(field.storedName) AND number IS NOT NULL\(Condition.isIn(range, "number"))"
        default: return false
        }
        let request: SQLRequest<Int> = "SELECT COUNT(*) FROM (SELECT 1 FROM field WHERE \(holds) LIMIT \(few + 1))"
        return try request.fetchOne(db) ?? 0 <= few
    }

    /// The rows among a few that satisfy a condition: what is not known of it is looked up for each.
    func rows(among rows: RowSet, where condition: Condition) throws -> RowSet {
        var (rows, unknown) = (rows, [Condition]())
        for part in condition.conjuncts {
            if try hasRows(where: part) {
                rows = rows.intersection(try self.rows(where: part))
            } else {
                unknown.append(part)
            }
        }
        return unknown.isEmpty ? rows : try looked(among: rows, where: .all(unknown))
    }

    private func looked(among rows: RowSet, where condition: Condition) throws -> RowSet {
        try RowSet(
            """
            SELECT entity.row FROM json_each(\(rows.json)) AS known CROSS JOIN entity ON entity.row = known.value \
            WHERE \(condition.sqlForFewRows)
            """, db)
    }

    /// The rows of the entities that have the words of a text. O(these entities).
    func rows(having expression: String) throws -> RowSet {
        try cached(
            Part(name: "text\0" + expression, byteCount: \.byteCount) {
                try RowSet("SELECT rowid FROM entityText WHERE entityText MATCH \(expression)", db)
            } update: { rows, changed in
                rows.subtracting(changed).union(try self.rows(of: changed, having: expression))
            })
    }

    /// The entities of some rows that have the words of a text, from an index of their own: in that of all entities,
    /// FTS5 would look up the words again for each row. O(text of the rows).
    private func rows(of changed: RowSet, having expression: String) throws -> RowSet {
        let texts: SQLRequest<Row> = """
            SELECT entity.row, title, subtitle, labels, words FROM json_each(\(changed.json)) AS changed \
            CROSS JOIN entity ON entity.row = changed.value
            """
        return try DatabaseQueue().write { own in
            try own.execute(
                sql: """
                    CREATE VIRTUAL TABLE entityText USING fts5(
                        title, subtitle, labels, words, \(CatalogSchema.textIndexOptions))
                    """)
            let insertion = try own.makeStatement(
                sql: "INSERT INTO entityText (rowid, title, subtitle, labels, words) VALUES (?, ?, ?, ?, ?)")
            for row in try texts.fetchAll(db) {
                try insertion.execute(arguments: StatementArguments(row.databaseValues))
            }
            return try RowSet("SELECT rowid FROM entityText WHERE entityText MATCH \(expression)", own)
        }
    }

    /// The rows that satisfy a condition on one field.
    private func rows(of condition: Condition) -> Part<RowSet> {
        rows("condition\0" + condition.description, condition.rowsOfOneField, of: condition)
    }

    private func rows(_ name: String, _ sql: SQL, of condition: Condition) -> Part<RowSet> {
        Part(name: name, byteCount: \.byteCount) {
            if let (field, column, range) = condition.numbers, let numbers = try numbers(of: field, column, in: range) {
                return numbers.rows(in: range)
            }
            return try RowSet(sql, db)
        } update: { rows, changed in
            rows.subtracting(changed).union(try looked(among: changed, where: condition))
        }
    }

    /// The numbers of a field, for a range of them; nil where the index finds those of the range as fast.
    private func numbers(
        of field: EntityField, _ column: NumberRows.Column, in range: ValueRange<Double>
    ) throws -> NumberRows? {
        let part = numberRows(of: field, column)
        if let known = try updated(part) { return known.isExact ? known : nil }
        let name = SQL(sql: column.rawValue)
        let request: SQLRequest<Bool> = """
            SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM field WHERE name = \(field.storedName) \
            AND \(name) IS NOT NULL\(Condition.isIn(range, name)) LIMIT \(few + 1))) \
            > \(few) \
            AND (SELECT MAX(row) FROM entity) <= \(RowCache.shared.limit / 2 / NumberRows.mostBytesPerValue)
            """
        guard try request.fetchOne(db) == true else { return nil }
        let read = try cached(part)
        return read.isExact ? read : nil
    }

    private func numberRows(of field: EntityField, _ column: NumberRows.Column) -> Part<NumberRows> {
        Part(name: "\(column)\0" + field.storedName, byteCount: \.byteCount) {
            try NumberRows(of: field, column, db)
        } update: { numbers, changed in
            try numbers.updated(changed, of: field, column, db)
        }
    }

    /// Something that is cached.
    private struct Part<Value: Sendable> {
        let name: String
        let byteCount: (Value) -> Int
        let read: () throws -> Value
        /// The value after changes of some rows; nil if it has to be read anew.
        let update: (Value, _ changed: RowSet) throws -> Value?
    }

    private func valueRows(of field: EntityField, check: @escaping () throws -> Void) -> Part<ValueRows> {
        Part(name: "field\0" + field.storedName, byteCount: \.byteCount) {
            try ValueRows(of: field, db, check: check)
        } update: { values, changed in
            var values = values
            try values.update(changed, of: field, db)
            return values
        }
    }

    private func cached<Value>(_ part: Part<Value>) throws -> Value {
        if let known = try updated(part) { return known }
        let made = try part.read()
        RowCache.shared.keep(made, part.byteCount(made), as: part.name, of: store, at: last)
        return made
    }

    /// What is cached, with the changes since it was; nil if there is nothing, or nobody knows what has changed.
    private func updated<Value>(_ part: Part<Value>) throws -> Value? {
        guard let (known, change): (Value, EntityChange?) = RowCache.shared.known(part.name, of: store) else {
            return nil
        }
        if change == last { return known }
        guard let changed = try change?.laterRows(db), let value = try part.update(known, changed) else { return nil }
        RowCache.shared.keep(value, part.byteCount(value), as: part.name, of: store, at: last)
        return value
    }
}

extension Condition {
    /// The field and the numbers of a condition that asks for a range of them.
    fileprivate var numbers: (field: EntityField, column: NumberRows.Column, range: ValueRange<Double>)? {
        let found: (EntityField, NumberRows.Column, ValueRange<Double>)? =
            switch form {
            case .number(let field, let range): (field, .number, range)
            case .date(let field, let range): Self.instants(range).map { (field, .instant, $0) }
            default: nil
            }
        guard let (field, column, range) = found, field != .id,
            [range.lower?.value, range.upper?.value].allSatisfy({ $0?.isNaN != true })
        else { return nil }
        return (field, column, range)
    }
}
