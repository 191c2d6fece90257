package import CatalogEntities
import GRDB

/// Pages and facets of entities by conditions and texts, in any order.
extension EntityStore {
    /// Entities that a page looks at in the list's order before it selects by the condition first, and sorts what that
    /// finds: the first is fast for a condition that holds for many, the second for few.
    package static let usualWalk = 8192

    /// A page of the entities that satisfy a condition and whose title, subtitle or labels contain all words of a text.
    ///
    /// - Parameters:
    ///   - order: nil for the best matches of the text first, or without one for the catalog's order. To rank more
    ///     entities than `walk` would take long: those with the words in their titles come first.
    ///   - place: starts after it; at the first entity by default.
    ///   - walk: the entities that are looked at in the list's order.
    /// - Returns: each entity with its place, and whether there may be more: a page ends early where its entities have
    ///   megabytes of text. Nil for a place that lists in this order do not have.
    /// - Complexity: O(limit · log entities) where the condition rejects few; otherwise O(what it finds).
    package func page(
        where condition: Condition, text: TextQuery?, order: EntityOrder?, limit: Int, after place: EntityPlace?,
        walk: Int
    ) throws -> (entities: [(entity: CatalogEntity, place: EntityPlace)], hasMore: Bool)? {
        try read { db in
            guard
                let places = try places(
                    where: condition, text: text, order: order, limit: limit, after: place, walk: walk, db)
            else { return nil }
            var entities: [(entity: CatalogEntity, place: EntityPlace)] = []
            var byteCount = 0
            for start in stride(from: 0, to: places.count, by: Self.pagePart) {
                if byteCount > Self.mostPageBytes { return (entities, true) }
                let part = places[start..<min(start + Self.pagePart, places.count)]
                let stored = try Self.entities(forKeys: part.map(\.row), withThumbnails: false, db)
                for place in part {
                    guard let entity = stored[place.row]?.entity else { continue }
                    entities.append((entity, place))
                    byteCount += entity.textByteCount
                }
            }
            return (entities, places.count == limit)
        }
    }

    /// The rows of all entities of such a list, in its order, as they are at one moment.
    ///
    /// - Returns: nil for a place that lists in this order do not have.
    package func rows(
        where condition: Condition, text: TextQuery?, order: EntityOrder?, after place: EntityPlace?
    ) throws -> [Int64]? {
        try read { db in
            try places(
                where: condition, text: text, order: order, limit: .max, after: place, walk: Self.usualWalk, db
            )?.map(\.row)
        }
    }

    func places(
        where condition: Condition, text: TextQuery?, order: EntityOrder?, limit: Int, after place: EntityPlace?,
        walk: Int, _ db: Database
    ) throws -> [EntityPlace]? {
        let condition = try resolved(condition, db)
        var order = order
        if let field = order?.field { order?.field = try resolved(field, db) }
        let hasLists = try order.map { try Self.hasLists($0.field, db) } ?? false
        var list = EntityList(condition: condition, text: text, order: order, hasLists: hasLists)
        guard try list.has(place) else { return nil }
        let start = try place.map { try list.whole($0, db) }
        if let text {
            // Few entities have the words of a text, mostly; they are looked up one by one.
            let known = try knownRows(db, few: walk)
            let found = try known.rows(having: text.expression)
            guard found.count > walk else { return try list.selected(limit: limit, after: start, db) }
            list.rows = condition.isEverything ? found : found.intersection(try known.rows(where: condition))
            guard let rows = list.rows, rows.count > walk else {
                return try list.selected(limit: limit, after: start, db)
            }
            if order == nil {
                return rows.titlesFirst(try known.rows(having: text.inTitle), limit: limit, after: start)
            }
            return try list.walked(limit: limit, after: start, walk: .max, db) ?? []
        }
        let known = try knownRows(db, few: walk)
        if let rows = try known.fewRows(where: condition) {
            list.rows = rows
            if order == nil { return rows.inCatalogOrder(limit: limit, after: start) }
            // Where many are to be sorted, the walk mostly meets a page of them earlier.
            let isWalked = limit < .max && rows.count > walk / 4
            let places = isWalked ? try list.walked(limit: limit, after: start, walk: rows.count * 8, db) : nil
            return try places ?? list.selected(limit: limit, after: start, db)
        }
        // A walk to the end would look at every entity.
        guard limit < .max || condition.isEverything else { return try list.selected(limit: limit, after: start, db) }
        let isKnown = try !condition.isEverything && known.hasRows(where: condition)
        if !isKnown, let places = try list.walked(limit: limit, after: start, walk: walk, db) { return places }
        // To test rows by a set is faster than by the condition, so that more of them are looked at.
        let rows = try known.rows(where: condition)
        if order == nil { return rows.inCatalogOrder(limit: limit, after: start) }
        list.rows = rows
        let places = try list.walked(limit: limit, after: start, walk: max(walk, rows.count / 2) * 8, db)
        return try places ?? list.selected(limit: limit, after: start, db)
    }

    private static func entityState(_ db: Database) throws -> EntityState {
        EntityState(
            revision: try CatalogRevision.current(db), metadataRevision: try Setting.metadataRevision.count(db))
    }

    /// The rows of the entities that satisfy a condition and contain the words of a text.
    ///
    /// - Parameter few: as many are looked up one by one.
    private func rows(
        where condition: Condition, text: TextQuery?, few: Int, _ known: KnownRows, _ db: Database
    ) throws -> RowSet {
        guard let text else {
            return try known.fewRows(where: condition) ?? known.rows(where: condition)
        }
        let found = try known.rows(having: text.expression)
        if condition.isEverything { return found }
        return found.count <= few
            ? try known.rows(among: found, where: condition) : found.intersection(try known.rows(where: condition))
    }

    /// The text of a page's entities beyond which it has no more of them.
    private static let mostPageBytes = 4 << 20
    private static let pagePart = 64

    /// The state of the entities, and how many of those that satisfy a condition and contain the words of a text have
    /// each value of each field.
    ///
    /// - Parameters:
    ///   - known: the counts are nil if the entities are still in this state.
    ///   - few: the fields of as many entities are looked up one by one; for more, all values of the fields are read.
    ///   - check: called between parts; what it throws ends the count.
    /// - Complexity: O(entities that have the fields), or O(what the condition finds) where that is little.
    package func counts(
        of fields: [EntityField], where condition: Condition, text: TextQuery?, unlessAt known: EntityState?, few: Int,
        check: () throws -> Void
    ) throws -> (state: EntityState, counts: [[(String, Int)]]?) {
        try read { db in
            let state = try Self.entityState(db)
            let condition = try resolved(condition, db)
            let fields = try fields.map { try resolved($0, db) }
            if state == known { return (state, nil) }
            let knownRows = try knownRows(db, few: few)
            let rows =
                text == nil && condition.isEverything
                ? nil : try rows(where: condition, text: text, few: few, knownRows, db)
            let isFew = rows.map { $0.count <= few } ?? false
            return (
                state,
                try fields.map { field in
                    if let rows, isFew, try !knownRows.hasValues(of: field) {
                        return try Self.counts(of: [field], among: rows.sorted, db, check: check)[0]
                    }
                    return try knownRows.values(of: field, check: check).counts(among: rows)
                }
            )
        }
    }

    /// How many of the entities that satisfy a condition and contain the words of a text satisfy each of some others.
    ///
    /// - Complexity: O(entities that have the fields), for each condition.
    package func counts(
        of parts: [Condition], where condition: Condition, text: TextQuery?, check: () throws -> Void
    ) throws -> [Int] {
        try read { db in
            let condition = try resolved(condition, db)
            let known = try knownRows(db)
            let rows = try rows(where: condition, text: text, few: Self.usualFew, known, db)
            return try parts.map { part in
                try check()
                return rows.intersection(try known.rows(where: resolved(part, db))).count
            }
        }
    }

    package static let usualFew = 10_000
}

extension EntityStore {
    /// Whether an attribute of some entity is a list of several values. O(log entities).
    private static func hasLists(_ field: EntityField, _ db: Database) throws -> Bool {
        // Without statistics SQLite would choose the primary key, and read all values.
        let request: SQLRequest<Bool> =
            "SELECT EXISTS (SELECT 1 FROM field INDEXED BY fieldOfList WHERE name = \(field.storedName) AND place > 0)"
        return try request.fetchOne(db) ?? false
    }
}

/// Entities in an order.
private struct EntityList {
    private let condition: Condition
    private let text: TextQuery?
    private let order: EntityOrder?
    /// Whether some entities have lists in the field of the order, which looks at the first of their values then.
    private let hasLists: Bool
    /// The rows of all of them, if they are known.
    var rows: RowSet?

    init(condition: Condition, text: TextQuery?, order: EntityOrder?, hasLists: Bool = false) {
        (self.condition, self.text, self.order, self.hasLists) = (condition, text, order, hasLists)
    }

    /// Leaves the values of lists out but for the first.
    private func isFirst(in fields: SQL) -> SQL { hasLists ? "\(fields).place = 0" : "1" }

    /// Selects the rows of all of them.
    private var selection: SQL {
        if let rows { return "SELECT value AS row FROM json_each(\(rows.json))" }
        guard let text else { return "SELECT entity.row AS row FROM entity WHERE \(condition.sql)" }
        return """
            SELECT entity.row AS row FROM entityText JOIN entity ON entity.row = entityText.rowid \
            WHERE entityText MATCH \(text.expression) AND \(condition.sqlForFewRows)
            """
    }

    /// Whether the list may have a place.
    func has(_ place: EntityPlace?) throws -> Bool {
        switch place?.part {
        case nil: true
        case .relevance: order == nil && text != nil
        case .rest: order != nil || text == nil
        case .number: order.map { $0.field != .id } ?? false
        case .text: order != nil
        }
    }

    /// A place whose text was cut with all of it, if the entity is still there.
    func whole(_ place: EntityPlace, _ db: Database) throws -> EntityPlace {
        guard place.isCut, case .text(let start) = place.part, let order else { return place }
        let request: SQLRequest<String> =
            order.field == .id
            ? "SELECT id FROM entity WHERE row = \(place.row)"
            : "SELECT folded FROM field WHERE row = \(place.row) AND name = \(order.field.storedName) AND place = 0"
        let text = try request.fetchOne(db).flatMap { $0.utf8.starts(with: start.utf8) ? $0 : nil }
        // Without it some entities are repeated, and none is skipped.
        return EntityPlace(.text(text ?? (order.isDescending ? start + "\u{10FFFF}" : start)), row: place.row)
    }

    enum Segment: Int { case number, text, rest }

    /// The column of `field` whose values come first.
    private var column: SQL { order?.comparesDates == true ? "instant" : "number" }
    private var direction: SQL { order?.isDescending == true ? "DESC" : "ASC" }
    private var follows: SQL { order?.isDescending == true ? "<" : ">" }
    private var name: String { order?.field.storedName ?? "" }

    // MARK: By the index of the order

    /// The places of a page, from entities in the list's order; nil if too few of as many satisfy the condition.
    func walked(limit: Int, after start: EntityPlace?, walk: Int, _ db: Database) throws -> [EntityPlace]? {
        let walk = condition.isEverything ? .max : max(walk, limit)
        let range = range
        let segments: [Segment] =
            switch order?.field {
            case nil: [.rest]
            case .id: [.text]
            case _ where range != nil: [.number]
            default: [.number, .text, .rest]
            }
        var places: [EntityPlace] = []
        for segment in segments where segment.rawValue >= start?.segment?.rawValue ?? 0 {
            let start = start?.segment == segment ? start : nil
            if segment == .rest, order != nil, start == nil, try allHaveTheField(db) { continue }
            var seen = 0
            let rows = try Row.fetchCursor(
                db, SQLRequest<Row>(literal: request(segment, range: range, after: start, limit: walk)))
            while places.count < limit, let row = try rows.next() {
                seen += 1
                let holds = try self.rows?.contains(row.decode(atIndex: 0)) ?? row.decode(Bool.self, atIndex: 3)
                if holds { places.append(try place(row, segment)) }
            }
            if places.count == limit { return places }
            if seen >= walk { return nil }
        }
        return places
    }

    /// A range of numbers that the condition asks of the field of the order: what the walk need not look at. The
    /// condition may hold for any value of a list, not for the first alone.
    private var range: ValueRange<Double>? {
        guard let order, !order.comparesDates, !hasLists else { return nil }
        for case .number(order.field, let range) in condition.conjuncts.map(\.form)
        where [range.lower?.value, range.upper?.value].allSatisfy({ $0?.isNaN != true }) { return range }
        return nil
    }

    /// Selects rows with their values, and whether the condition holds.
    private func request(
        _ segment: Segment, range: ValueRange<Double>?, after start: EntityPlace?, limit: Int
    ) -> SQL {
        let holds: SQL = rows == nil ? "(\(condition.sqlForFewRows))" : "1"
        // A condition on ids reads the entities; others need no more than the rows, and take them from the index.
        let readsEntities = rows == nil && condition.tests.contains { $0.field == .id }
        let walked: SQL = readsEntities ? "walked" : "entity"
        let join: SQL = readsEntities ? "CROSS JOIN entity ON entity.row = walked.row" : ""
        var among: SQL
        switch (segment, order?.field) {
        case (.rest, _):
            among = "entity.row > \(start?.row ?? .min)"
            if order != nil {
                among = """
                    \(among) AND NOT EXISTS (SELECT 1 FROM field AS other INDEXED BY fieldByEntity \
                    WHERE other.row = entity.row AND other.name = \(name))
                    """
            }
            return """
                SELECT entity.row, NULL, NULL, \(holds) FROM entity WHERE \(among) ORDER BY entity.row LIMIT \(limit)
                """
        case (.text, .id):
            if case .text(let id) = start?.part { among = "entity.id \(follows) \(id)" } else { among = "1" }
            return """
                SELECT entity.row, NULL, entity.id, \(holds) FROM entity WHERE \(among) \
                ORDER BY entity.id \(direction) LIMIT \(limit)
                """
        case (.text, _):
            among = "\(walked).\(column) IS NULL AND \(isFirst(in: walked))"
            if case .text(let text) = start?.part {
                among = "\(among) AND (\(walked).folded, \(walked).row) \(follows) (\(text), \(start?.row))"
            }
            return """
                SELECT \(walked).row, NULL, \(walked).folded, \(holds) FROM field AS \(walked) \(join) \
                WHERE \(walked).name = \(name) AND \(among) \
                ORDER BY \(walked).folded \(direction), \(walked).row \(direction) LIMIT \(limit)
                """
        case (.number, _):
            among = "\(walked).\(column) IS NOT NULL AND \(isFirst(in: walked))"
            if let range { among = "\(among)\(Condition.isIn(range, "\(walked).number"))" }
            if case .number(let number, let folded) = start?.part {
                among = """
                    \(among) AND (\(walked).\(column), \(walked).folded, \(walked).row) \
                    \(follows) (\(number), \(folded), \(start?.row))
                    """
            }
            return """
                SELECT \(walked).row, \(walked).\(column), \(walked).folded, \(holds) FROM field AS \(walked) \
                INDEXED BY \(sql: order?.comparesDates == true ? "fieldByInstant" : "fieldByNumber") \(join) \
                WHERE \(walked).name = \(name) AND \(among) \
                ORDER BY \(walked).\(column) \(direction), \(walked).folded \(direction), \
                \(walked).row \(direction) LIMIT \(limit)
                """
        }
    }

    private func place(_ row: Row, _ segment: Segment) throws -> EntityPlace {
        let key: Int64 = try row.decode(atIndex: 0)
        switch segment {
        case .rest: return EntityPlace(.rest, row: key)
        case .text: return EntityPlace(.text(try row.decode(atIndex: 2)), row: key)
        case .number:
            return EntityPlace(.number(try row.decode(atIndex: 1), folded: try row.decode(atIndex: 2)), row: key)
        }
    }

    /// O(entities), but by far less than to look for those that have not.
    private func allHaveTheField(_ db: Database) throws -> Bool {
        let request: SQLRequest<Bool> = """
            SELECT (SELECT COUNT(*) FROM field WHERE name = \(name) AND \(isFirst(in: "field"))) \
            = (SELECT COUNT(*) FROM entity)
            """
        return try request.fetchOne(db) ?? false
    }

    // MARK: By the condition

    /// The places of a page, from all entities that satisfy the condition.
    func selected(limit: Int, after start: EntityPlace?, _ db: Database) throws -> [EntityPlace] {
        if order == nil, let text { return try relevant(text, limit: limit, after: start, db) }
        var value: SQL = "NULL"
        var (folded, join): (SQL, SQL) = ("NULL", "")
        switch order?.field {
        case nil: break
        case .id: (folded, join) = ("entity.id", "JOIN entity ON entity.row = found.row")
        default:
            (value, folded) = ("valued.\(column)", "valued.folded")
            join = """
                LEFT JOIN field AS valued INDEXED BY fieldByEntity \
                ON valued.row = found.row AND valued.name = \(name) AND \(isFirst(in: "valued"))
                """
        }
        let after: SQL =
            switch start?.part {
            case nil, .relevance: "1"
            case .number(let number, let text):
                "(part > 0 OR (part = 0 AND (value, folded, row) \(follows) (\(number), \(text), \(start?.row))))"
            case .text(let text): "(part > 1 OR (part = 1 AND (folded, row) \(follows) (\(text), \(start?.row))))"
            case .rest: "(part = 2 AND row > \(start?.row))"
            }
        let last: SQL = order?.isDescending == true ? "IIF(part = 2, row, -row)" : "row"
        let request: SQLRequest<Row> = """
            WITH found AS MATERIALIZED (\(selection)), \
            ranked AS (SELECT found.row AS row, \(value) AS value, \(folded) AS folded, \
            IIF(\(value) IS NOT NULL, 0, IIF(\(folded) IS NOT NULL, 1, 2)) AS part FROM found \(join)) \
            SELECT row, value, folded, part FROM ranked WHERE \(after) \
            ORDER BY part, value \(direction), folded \(direction), \(last) LIMIT \(limit)
            """
        return try request.fetchCursor(db).reduce(into: []) { places, row in
            places.append(try place(row, Segment(rawValue: row.decode(atIndex: 3)) ?? .rest))
        }
    }

    private func relevant(
        _ text: TextQuery, limit: Int, after start: EntityPlace?, _ db: Database
    ) throws -> [EntityPlace] {
        var after: SQL = "1"
        if let start, case .relevance(let rank) = start.part {
            // The relevance of an entity depends on all others: what the last one of the page has now is the place.
            after = "(rank, row) > (coalesce((SELECT rank FROM found WHERE row = \(start.row)), \(rank)), \(start.row))"
        }
        // With “+” the rows are looked up for each match of the text; to look up the text for each row takes longer.
        let isFound: SQL =
            rows.map { "+entityText.rowid IN (SELECT value FROM json_each(\($0.json)))" }
            ?? condition.sqlForFewRows
        let request: SQLRequest<Row> = """
            WITH found AS MATERIALIZED (SELECT entity.row AS row, bm25(entityText, 10, 5, 2, 5) AS rank \
            FROM entityText JOIN entity ON entity.row = entityText.rowid \
            WHERE entityText MATCH \(text.expression) AND \(isFound)) \
            SELECT row, rank FROM found WHERE \(after) ORDER BY rank, row LIMIT \(limit)
            """
        return try request.fetchCursor(db).reduce(into: []) { places, row in
            places.append(EntityPlace(.relevance(try row.decode(atIndex: 1)), row: try row.decode(atIndex: 0)))
        }
    }
}

extension RowSet {
    /// The numbers as an array of JSON.
    var json: String { "[" + sorted.map(String.init).joined(separator: ",") + "]" }

    fileprivate func inCatalogOrder(limit: Int, after start: EntityPlace?) -> [EntityPlace] {
        rows(from: start.map { $0.row + 1 } ?? .min, limit: limit).map { EntityPlace(.rest, row: $0) }
    }

    /// The places of a page of so many entities that to rank them would take long: those of some rows first, then the
    /// others, each in the catalog's order.
    fileprivate func titlesFirst(_ titles: RowSet, limit: Int, after start: EntityPlace?) -> [EntityPlace] {
        var places: [EntityPlace] = []
        for (rank, rows) in [intersection(titles), subtracting(titles)].enumerated() {
            var first = Int64.min
            if let start, case .relevance(let startRank) = start.part {
                // The last of the page before may have another title now.
                let startsIn = contains(start.row) ? (titles.contains(start.row) ? 0 : 1) : startRank < 1 ? 0 : 1
                if rank < startsIn { continue }
                if rank == startsIn { first = start.row + 1 }
            }
            places += rows.rows(from: first, limit: limit - places.count).map {
                .init(.relevance(Double(rank)), row: $0)
            }
            if places.count == limit { break }
        }
        return places
    }
}

extension EntityPlace {
    /// Nil for a place by relevance.
    fileprivate var segment: EntityList.Segment? {
        switch part {
        case .number: .number
        case .text: .text
        case .rest: .rest
        case .relevance: nil
        }
    }
}

extension CatalogEntity {
    fileprivate var textByteCount: Int {
        let texts =
            [id, type, title, subtitle].compactMap(\.self) + labels + attributes.flatMap { [$0.key, $0.value] }
        return texts.reduce(0) { $0 + $1.utf8.count }
    }
}
