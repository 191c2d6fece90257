import GRDB

extension Condition {
    /// The condition on a row of the table `entity`, for a scan of the table: the entities come from the index of
    /// fields. O(entities that have the values).
    var sql: SQL {
        sql { name, condition in
            "entity.row IN (SELECT field.row FROM field WHERE field.name = \(name) AND \(condition))"
        }
    }

    /// The condition on a row of the table `entity`, where something else selects few rows: the fields of each are
    /// looked up. O(log entities) for each.
    var sqlForFewRows: SQL {
        sql { name, condition in
            """
            EXISTS (SELECT 1 FROM field INDEXED BY fieldByEntity \
            WHERE field.row = entity.row AND field.name = \(name) AND \(condition))
            """
        }
    }

    /// - Parameter hasField: the condition that the entity has a field of a stored name for which a condition on
    ///   `field` holds.
    private func sql(_ hasField: (_ name: String, _ condition: SQL) -> SQL) -> SQL {
        func having(_ field: EntityField, _ condition: SQL) -> SQL { hasField(field.storedName, condition) }
        return switch self {
        case .isAnyOf(.id, let values): "entity.id IN \(values)"
        case .isAnyOf(let field, let values): having(field, "field.text IN \(values)")
        case .number(.id, _), .date(.id, _): "0"
        case .number(let field, let range):
            [range.lower?.value, range.upper?.value].contains { $0?.isNaN == true }
                ? "0"
                : having(
                    field,
                    Self.joined(
                        ["field.number IS NOT NULL"]
                            + [
                                range.lower.map {
                                    $0.isIncluded ? "field.number >= \($0.value)" : "field.number > \($0.value)"
                                },
                                range.upper.map {
                                    $0.isIncluded ? "field.number <= \($0.value)" : "field.number < \($0.value)"
                                },
                            ].compactMap(\.self), .and))
        case .date(let field, let range): Self.date(range).map { having(field, $0) } ?? "0"
        case .within(_, _, .id, _), .within(_, _, _, .id): "0"
        case .within(let kilometers, let point, let latitude, let longitude):
            kilometers >= 0 && point.isValid
                ? having(latitude, Self.isNear(point, kilometers, longitude: longitude)) : "0"
        case .hasPrefix(.id, let prefix): Self.hasPrefix("entity.id", prefix)
        case .hasPrefix(let field, let prefix): having(field, Self.hasPrefix("field.text", prefix))
        case .exists(.id): "1"
        case .exists(let field): having(field, "1")
        case .hasCode(let codes):
            hasField(
                ProductCode.storedName,
                "field.text IN \(codes.flatMap(ProductCode.readings(of:)).map(\.canonical))")
        case .not(let condition): "NOT (\(condition.sql(hasField)))"
        case .all(let parts): Self.joined(parts.map { $0.sql(hasField) }, .and)
        case .any(let parts): Self.joined(parts.map { $0.sql(hasField) }, .or)
        }
    }

    /// The condition that a row of `field` is a date in a range; nil if an end of the range is none.
    private static func date(_ range: ValueRange<String>) -> SQL? {
        var parts: [SQL] = ["field.instant IS NOT NULL"]
        if let lower = range.lower {
            guard let span = DateSpan(lower.value) else { return nil }
            parts.append(
                lower.isIncluded
                    ? "field.instant >= \(span.start)"
                    : span.start == span.end ? "field.instant > \(span.start)" : "field.instant >= \(span.end)")
        }
        if let upper = range.upper {
            guard let span = DateSpan(upper.value) else { return nil }
            parts.append(
                !upper.isIncluded
                    ? "field.instant < \(span.start)"
                    : span.start == span.end ? "field.instant <= \(span.end)" : "field.instant < \(span.end)")
        }
        return joined(parts, .and)
    }

    /// The range is for the index; it has a text too many only where the next scalar is the largest that there is.
    private static func hasPrefix(_ column: SQL, _ prefix: String) -> SQL {
        "(\(column) >= \(prefix) AND \(column) <= \(prefix) || char(0x10FFFF))"
    }

    /// The condition that a row of `field` is the latitude of a point near another one. The index finds those of the
    /// box, and each is measured.
    private static func isNear(_ point: GeoPoint, _ kilometers: Double, longitude: EntityField) -> SQL {
        let box = point.box(kilometers: kilometers)
        let isInBox = joined(
            box.longitudes.map { "other.number BETWEEN \($0.lowerBound) AND \($0.upperBound)" }, .or)
        return """
            field.number IS NOT NULL \
            AND field.number BETWEEN \(box.latitudes.lowerBound) AND \(box.latitudes.upperBound) \
            AND EXISTS (SELECT 1 FROM field AS other INDEXED BY fieldByEntity \
            WHERE other.row = field.row AND other.name = \(longitude.storedName) AND \(isInBox) \
            AND kilometers(field.number, other.number, \(point.latitude), \(point.longitude)) <= \(kilometers))
            """
    }

    /// The distance of two points by their degrees, for SQL.
    static let distanceFunction = DatabaseFunction("kilometers", argumentCount: 4, pure: true) { values in
        let degrees = values.compactMap(Double.fromDatabaseValue)
        guard degrees.count == 4 else { return nil }
        return GeoPoint(latitude: degrees[0], longitude: degrees[1]).kilometers(
            to: GeoPoint(latitude: degrees[2], longitude: degrees[3]))
    }

    private enum Conjunction { case and, or }

    /// A balanced tree: SQLite refuses expressions deeper than 1,000.
    private static func joined(_ parts: [SQL], _ conjunction: Conjunction) -> SQL {
        func joined(_ parts: ArraySlice<SQL>) -> SQL {
            guard parts.count > 1 else { return parts[parts.startIndex] }
            let middle = parts.startIndex + parts.count / 2
            let (a, b) = (joined(parts[..<middle]), joined(parts[middle...]))
            return conjunction == .and ? "(\(a) AND \(b))" : "(\(a) OR \(b))"
        }
        if parts.isEmpty { return conjunction == .and ? "1" : "0" }
        return joined(parts[...])
    }
}

/// Entities by their fields and their text.
extension EntityStore {
    /// The first entities that satisfy a condition, in the catalog's order, after the one of a row.
    func entities(where condition: Condition, limit: Int, after key: Int64?) throws -> [StoredEntity] {
        try read { db in
            let request: SQLRequest<EntityRecord> = """
                SELECT * FROM entity WHERE row > \(key ?? .min) AND \(condition.sql) ORDER BY row LIMIT \(limit)
                """
            return try request.fetchAll(db).map { StoredEntity(entity: $0.entity, key: $0.row ?? 0, thumbnail: nil) }
        }
    }

    /// The rows of the entities that satisfy a condition, ascending, and the state of the metadata that this holds for.
    ///
    /// - Parameter known: rows are nil if the metadata is still in this state.
    func keys(
        where condition: Condition, unlessAt known: Int64?
    ) throws -> (metadataRevision: Int64, keys: [Int64]?) {
        try read { db in
            let revision = try Setting.metadataRevision.count(db)
            if revision == known { return (revision, nil) }
            let request: SQLRequest<Int64> = "SELECT row FROM entity WHERE \(condition.sql) ORDER BY row"
            return (revision, try request.fetchAll(db))
        }
    }

    /// The first entities whose field has one of the values, in the order of the values, then of the catalog.
    /// O(limit + values · log entities) where the condition rejects few.
    ///
    /// - Parameter check: called between values; what it throws ends the search.
    func entities(
        where field: EntityField, isAnyOf values: [String], limit: Int, condition: Condition, withThumbnails: Bool,
        check: () throws -> Void
    ) throws -> [StoredEntity] {
        var seen = Set<ExactText>()
        let values = values.filter { seen.insert(ExactText($0)).inserted }
        return try read { db in
            var keys: [Int64] = []
            var known: Set<Int64> = []
            for value in values where keys.count < limit {
                try check()
                let isValue: SQL =
                    field == .id
                    ? "SELECT entity.row FROM entity WHERE entity.id = \(value)"
                    : """
                    SELECT found.row FROM field AS found CROSS JOIN entity ON entity.row = found.row \
                    WHERE found.name = \(field.storedName) AND found.text = \(value)
                    """
                // An entity may have several of the labels.
                let request: SQLRequest<Int64> = """
                    \(isValue) AND \(condition.sqlForFewRows) ORDER BY 1 LIMIT \(limit)
                    """
                let found = try request.fetchCursor(db)
                while keys.count < limit, let key = try found.next() {
                    if known.insert(key).inserted { keys.append(key) }
                }
            }
            let stored = try Self.entities(forKeys: keys, withThumbnails: withThumbnails, db)
            return keys.compactMap { stored[$0] }
        }
    }

    /// The first of the attributes that no entity has; nil also for a catalog without entities.
    func unknownAttribute(among names: [String]) throws -> String? {
        guard !names.isEmpty else { return nil }
        return try read { db in
            guard try Int.fetchOne(db, sql: "SELECT 1 FROM entity LIMIT 1") != nil else { return nil }
            let statement = try db.cachedStatement(sql: "SELECT 1 FROM field WHERE name = ? LIMIT 1")
            return try names.first { name in
                try Int.fetchOne(statement, arguments: [EntityField.attribute(name).storedName]) == nil
            }
        }
    }

    /// The types that no entity has; none for a catalog without entities.
    func unknownTypes(among types: [String]) throws -> [String] {
        guard !types.isEmpty else { return [] }
        return try read { db in
            guard try Int.fetchOne(db, sql: "SELECT 1 FROM entity LIMIT 1") != nil else { return [] }
            let statement = try db.cachedStatement(sql: "SELECT 1 FROM field WHERE name = ? AND text = ? LIMIT 1")
            return try types.filter {
                try Int.fetchOne(statement, arguments: [EntityField.type.storedName, $0]) == nil
            }
        }
    }

    /// How many of the entities have each value of each field.
    ///
    /// - Parameter check: called between parts of the entities; what it throws ends the count.
    func counts(of fields: [EntityField], among keys: [Int64], check: () throws -> Void) throws -> [[(String, Int)]] {
        let names = fields.map(\.storedName)
        let counts = try read { db in
            var counts: [ExactText: [ExactText: Int]] = [:]
            _ = try Self.inParts(of: keys) { part -> [Never] in
                try check()
                let request: SQLRequest<Row> = """
                    SELECT name, text, COUNT(*) FROM field WHERE row IN \(part) AND name IN \(names) GROUP BY 1, 2
                    """
                for row in try request.fetchAll(db) {
                    let (name, text): (String, String) = try (row.decode(atIndex: 0), row.decode(atIndex: 1))
                    counts[ExactText(name), default: [:]][ExactText(text), default: 0] += try row.decode(atIndex: 2)
                }
                if names.contains(EntityField.id.storedName) {
                    let ids: SQLRequest<String> = "SELECT id FROM entity WHERE row IN \(part)"
                    for id in try ids.fetchAll(db) {
                        counts[ExactText(EntityField.id.storedName), default: [:]][ExactText(id)] = 1
                    }
                }
                return []
            }
            return counts
        }
        return names.map { counts[ExactText($0), default: [:]].map { ($0.key.text, $0.value) } }
    }

    /// The entities whose title, subtitle or labels contain all words, best first.
    func entities(matching text: TextQuery, limit: Int, condition: Condition) throws -> [CatalogEntity] {
        try read { db in
            let request: SQLRequest<EntityRecord> = """
                SELECT entity.* \(Self.ranking(of: text, condition)) LIMIT \(limit)
                """
            return try request.fetchAll(db).map(\.entity)
        }
    }

    /// The first distinct titles of the entities that contain all words, best first.
    func titles(matching text: TextQuery, limit: Int, condition: Condition) throws -> [String] {
        try read { db in
            let request: SQLRequest<Row> = "SELECT entity.title \(Self.ranking(of: text, condition))"
            let rows = try request.fetchCursor(db)
            var titles: [String] = []
            var seen: Set<String> = []
            // Many entities may have the same title.
            while titles.count < limit, let row = try rows.next() {
                if let title = try row.decode(String?.self, atIndex: 0), seen.insert(title).inserted {
                    titles.append(title)
                }
            }
            return titles
        }
    }

    /// What follows SELECT in a search for words, best first.
    private static func ranking(of text: TextQuery, _ condition: Condition) -> SQL {
        """
        FROM entityText JOIN entity ON entity.row = entityText.rowid \
        WHERE entityText MATCH \(text.expression) AND \(condition.sqlForFewRows) \
        ORDER BY bm25(entityText, 10, 5, 2, 5), entity.row
        """
    }

    /// Entities whose titles, attributes or other fields have words of a text, and the probability that it names each.
    ///
    /// O(words · log entities + the entities that have the rarest words).
    func entities(
        namedBy texts: ReadTexts, among entityCount: Int, check: () throws -> Void
    ) throws -> [Int64: Double] {
        try read { db in
            let matching = try db.cachedStatement(
                sql: "SELECT rowid FROM entityText WHERE entityText MATCH ? LIMIT \(Self.mostNamed + 1)")
            let counting = try db.cachedStatement(
                sql: "SELECT COUNT(*) FROM (SELECT 1 FROM entityText WHERE entityText MATCH ? LIMIT 100000)")
            var counts: [String: Int] = [:]
            func expression(_ word: String) -> String { SearchedWord(word).terms(lastIsPrefix: false) }
            func count(_ word: String) throws -> Int {
                if let known = counts[word] { return known }
                try check()
                let count = try Int.fetchOne(counting, arguments: [expression(word)]) ?? 0
                counts[word] = count
                return count
            }
            var information: [Int64: Double] = [:]
            for word in texts.words {
                try check()
                let rows = try Int64.fetchAll(matching, arguments: [expression(word)])
                guard rows.count <= Self.mostNamed else { continue }
                counts[word] = rows.count
                let each = TextWords.information(
                    length: TextWords.length(of: word), count: rows.count, entityCount: entityCount)
                for row in rows { information[row, default: 0] += each }
            }
            let likely = information.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.mostJudged)
            let valued = try Self.values(of: texts, check: check, db)
            let keys =
                likely.map(\.key)
                + valued.keys.filter { information[$0] == nil }.sorted()
                .prefix(Self.mostJudged)
            let stored = try Self.entities(forKeys: keys, withThumbnails: false, db)
            let candidates = keys.compactMap { key in
                stored[key].map {
                    ReadTexts.Candidate(
                        row: key, title: $0.entity.title, subtitle: $0.entity.subtitle, attributes: valued[key] ?? [])
                }
            }
            return try texts.probabilities(of: candidates, among: entityCount, count: count)
        }
    }

    /// A word that more entities have finds none of them.
    private static let mostNamed = 2_000
    /// The entities with the most information that are judged.
    private static let mostJudged = 100

    /// The attributes that have a value of a text, and the number of entities with each.
    private static func values(
        of texts: ReadTexts, check: () throws -> Void, _ db: Database
    ) throws -> [Int64: [(value: String, count: Int)]] {
        // The next name each time: SQLite would read all fields for the distinct ones.
        let prefix = EntityField.attribute("").storedName
        let next = try db.cachedStatement(sql: "SELECT MIN(name) FROM field WHERE name > ?")
        var found: [Int64: [(value: String, count: Int)]] = [:]
        for (text, code) in texts.codes {
            try check()
            let request: SQLRequest<Int64> = """
                SELECT row FROM field WHERE name = \(ProductCode.storedName) AND text = \(code.canonical) \
                LIMIT \(mostNamed)
                """
            let keys = try request.fetchAll(db)
            for key in keys { found[key, default: []].append((text, keys.count)) }
        }
        var name = prefix
        while let attribute = try String.fetchOne(next, arguments: [name]), attribute.hasPrefix(prefix) {
            try check()
            name = attribute
            // Numbers of codes are found above.
            let kind = ProductCode.kind(ofAttribute: String(attribute.dropFirst(prefix.count)))
            let values = texts.values.filter { kind == nil || ProductCode.numbers(in: $0).isEmpty }
            guard !values.isEmpty else { continue }
            let request: SQLRequest<Row> = """
                SELECT text, row FROM field WHERE name = \(attribute) AND text IN \(values) LIMIT \(mostNamed)
                """
            var rows: [String: [Int64]] = [:]
            for row in try request.fetchAll(db) {
                rows[try row.decode(atIndex: 0), default: []].append(try row.decode(atIndex: 1))
            }
            for (value, keys) in rows { for key in keys { found[key, default: []].append((value, keys.count)) } }
        }
        return found
    }

    /// The entities that contain any of the phrases, by how many they contain; ties in the catalog's order.
    func entities(
        havingAnyOf phrases: [TextQuery], among keys: [Int64]?, after last: Catalog.PhraseMatch?, limit: Int,
        condition: Condition
    ) throws -> [Catalog.PhraseMatch] {
        // SQLite joins 500 queries at most.
        let each = stride(from: 0, to: phrases.count, by: 100).map { start -> SQL in
            let part = phrases[start..<min(start + 100, phrases.count)].map { phrase -> SQL in
                "SELECT rowid AS row FROM entityText WHERE entityText MATCH \(phrase.expression)"
            }.joined(separator: " UNION ALL ")
            return "SELECT row FROM (\(part))"
        }.joined(separator: " UNION ALL ")
        let among: SQL = keys.map { " AND entity.row IN \($0)" } ?? ""
        let after: SQL =
            last.map { " HAVING COUNT(*) < \($0.count) OR (COUNT(*) = \($0.count) AND entity.row > \($0.key))" } ?? ""
        return try read { db in
            let request: SQLRequest<Row> = """
                SELECT entity.row, COUNT(*) FROM (\(each)) AS found JOIN entity ON entity.row = found.row \
                WHERE \(condition.sqlForFewRows)\(among) GROUP BY entity.row\(after) ORDER BY 2 DESC, 1 LIMIT \(limit)
                """
            return try request.fetchAll(db).map { row in
                Catalog.PhraseMatch(key: try row.decode(atIndex: 0), count: try row.decode(atIndex: 1))
            }
        }
    }
}
