package import CatalogEntities
import GRDB

/// Entities by their fields and their text.
extension EntityStore {
    /// The first entities that satisfy a condition, in the catalog's order, after the one of a row.
    package func entities(where condition: Condition, limit: Int, after key: Int64?) throws -> [StoredEntity] {
        try read { db in
            let condition = try resolved(condition, db)
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
            let condition = try resolved(condition, db)
            let request: SQLRequest<Int64> = "SELECT row FROM entity WHERE \(condition.sql) ORDER BY row"
            return (revision, try request.fetchAll(db))
        }
    }

    /// The first entities whose field has one of the values, in the order of the values, then of the catalog.
    /// O(limit + values · log entities) where the condition rejects few.
    ///
    /// - Parameter check: called between values; what it throws ends the search.
    package func entities(
        where field: EntityField, isAnyOf values: [String], limit: Int, condition: Condition, withThumbnails: Bool,
        check: () throws -> Void
    ) throws -> [StoredEntity] {
        var seen = Set<ExactText>()
        let values = values.filter { seen.insert(ExactText($0)).inserted }
        return try read { db in
            let condition = try resolved(condition, db)
            var keys: [Int64] = []
            var known: Set<Int64> = []
            for value in values where keys.count < limit {
                try check()
                let isValue: SQL =
                    field == .id
                    ? "SELECT entity.row FROM entity WHERE entity.id = \(value)"
                    : """
                    SELECT found.row FROM field AS found CROSS JOIN entity ON entity.row = found.row \
                    WHERE found.name = \(field.storedName) AND found.folded = \(TextFolding.folded(value))
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

    /// How many of the entities have each value of each field. Texts that are the same folded are one value, as
    /// conditions take them, with the text of the catalog's first entity that has it.
    ///
    /// - Parameter check: called between parts of the entities; what it throws ends the count.
    package func counts(of fields: [EntityField], among keys: [Int64], check: () throws -> Void) throws -> [[(
        String, Int
    )]] { try read { try Self.counts(of: fields, among: keys, $0, check: check) } }

    static func counts(
        of fields: [EntityField], among keys: [Int64], _ db: Database, check: () throws -> Void
    ) throws -> [[(String, Int)]] {
        let names = fields.map(\.storedName)
        var counts: [ExactText: [ExactText: Int]] = [:]
        _ = try inParts(of: keys) { part -> [Never] in
            try check()
            let request: SQLRequest<Row> = """
                SELECT name, folded, COUNT(DISTINCT row) FROM field INDEXED BY fieldByEntity \
                WHERE row IN \(part) AND name IN \(names) GROUP BY 1, 2
                """
            for row in try request.fetchAll(db) {
                let (name, folded): (String, String) = try (row.decode(atIndex: 0), row.decode(atIndex: 1))
                counts[ExactText(name), default: [:]][ExactText(folded), default: 0] += try row.decode(atIndex: 2)
            }
            if names.contains(EntityField.id.storedName) {
                let ids: SQLRequest<String> = "SELECT id FROM entity WHERE row IN \(part)"
                for id in try ids.fetchAll(db) {
                    counts[ExactText(EntityField.id.storedName), default: [:]][ExactText(id)] = 1
                }
            }
            return []
        }
        let naming = try db.cachedStatement(
            sql: "SELECT text FROM field WHERE name = ? AND folded = ? ORDER BY row, text LIMIT 1")
        return try names.map { name in
            try counts[ExactText(name), default: [:]].map { folded, count in
                (try String.fetchOne(naming, arguments: [name, folded.text]) ?? folded.text, count)
            }
        }
    }

    /// The entities whose title, subtitle or labels contain all words, best first.
    package func entities(matching text: TextQuery, limit: Int, condition: Condition) throws -> [CatalogEntity] {
        try read { db in
            let keys = try places(matching: text, limit: limit, condition: condition, db).map(\.row)
            let stored = try Self.entities(forKeys: keys, withThumbnails: false, db)
            return keys.compactMap { stored[$0]?.entity }
        }
    }

    /// The first distinct titles of the entities that contain all words, best first.
    package func titles(matching text: TextQuery, limit: Int, condition: Condition) throws -> [String] {
        try read { db in
            let statement = try db.cachedStatement(sql: "SELECT title FROM entity WHERE row = ?")
            var titles: [String] = []
            var seen: Set<String> = []
            var last: EntityPlace?
            // Many entities may have the same title.
            repeat {
                let page = try places(matching: text, limit: 1000, after: last, condition: condition, db)
                for place in page where titles.count < limit {
                    if let title = try String.fetchOne(statement, arguments: [place.row]), seen.insert(title).inserted {
                        titles.append(title)
                    }
                }
                last = page.count == 1000 ? page.last : nil
            } while last != nil && titles.count < limit
            return titles
        }
    }

    private func places(
        matching text: TextQuery, limit: Int, after last: EntityPlace? = nil, condition: Condition, _ db: Database
    ) throws -> [EntityPlace] {
        try places(where: condition, text: text, order: nil, limit: limit, after: last, walk: Self.usualWalk, db) ?? []
    }

    /// Entities whose titles, attributes or other fields have words of a text, and the probability that it names each.
    ///
    /// O(words · log entities + the entities that have the rarest words).
    package func entities(
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
                SELECT row FROM field WHERE name = \(ProductCode.storedName) AND \(Condition.isCode([code])) \
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
                SELECT text, row FROM field WHERE name = \(attribute) \
                AND folded IN \(values.map(TextFolding.folded)) AND text IN \(values) LIMIT \(mostNamed)
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
    package func entities(
        havingAnyOf phrases: [TextQuery], among keys: [Int64]?, after last: PhraseMatch?, limit: Int,
        condition: Condition
    ) throws -> [PhraseMatch] {
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
            let condition = try resolved(condition, db)
            let request: SQLRequest<Row> = """
                SELECT entity.row, COUNT(*) FROM (\(each)) AS found JOIN entity ON entity.row = found.row \
                WHERE \(condition.sqlForFewRows)\(among) GROUP BY entity.row\(after) ORDER BY 2 DESC, 1 LIMIT \(limit)
                """
            return try request.fetchAll(db).map { row in
                PhraseMatch(key: try row.decode(atIndex: 0), count: try row.decode(atIndex: 1))
            }
        }
    }
}
