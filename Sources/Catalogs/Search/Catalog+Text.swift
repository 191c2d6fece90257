import GRDB

extension Catalog {
    /// The entities whose title, subtitle or labels contain all words of the text, best first (BM25; title over
    /// subtitle over labels). The last word may be a prefix. Case and diacritics are ignored; no character is an
    /// operator.
    ///
    /// - Returns: an empty array for a text without words.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    public func search(
        text: String, limit: Int = 10, filter: CatalogFilter = CatalogFilter()
    ) async throws -> [CatalogEntity] {
        guard let expression = TextQuery(text, lastIsPrefix: true).expression, limit > 0 else { return [] }
        return try await reading {
            try folder.mappingErrors {
                try database.reader.read { db in
                    let request: SQLRequest<EntityRecord> = """
                        SELECT entity.* \(Self.ranking(of: expression, filter)) LIMIT \(limit)
                        """
                    return try request.fetchAll(db).map(\.entity)
                }
            }
        }
    }

    /// Distinct titles that complete the typed text, best first. O(entities that contain the text).
    ///
    /// - Parameter limit: the maximum number of titles.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    public func suggestions(
        for text: String, limit: Int = 10, filter: CatalogFilter = CatalogFilter()
    ) async throws -> [String] {
        guard let expression = TextQuery(text, lastIsPrefix: true).expression, limit > 0 else { return [] }
        return try await reading {
            try folder.mappingErrors {
                try database.reader.read { db in
                    let request: SQLRequest<Row> = """
                        SELECT entity.title \(Self.ranking(of: expression, filter))
                        """
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
        }
    }

    /// What follows SELECT in a search for words, best first.
    private static func ranking(of expression: String, _ filter: CatalogFilter) -> SQL {
        """
        FROM entityText JOIN entity ON entity.row = entityText.rowid \
        WHERE entityText MATCH \(expression) AND \(filter.condition) \
        ORDER BY bm25(entityText, 10, 5, 2), entity.row
        """
    }

    /// An entity with the number of phrases that its text contains.
    package struct PhraseMatch: Sendable {
        package let key: Int64
        package let count: Int

        package init(key: Int64, count: Int) {
            self.key = key
            self.count = count
        }
    }

    /// The entities that contain any of the phrases, by how many they contain; ties in the catalog's order.
    /// O(matches of all phrases).
    ///
    /// - Parameters:
    ///   - keys: only these entities; all of them by default.
    ///   - last: only what follows this one in the ranking.
    package func entities(
        havingAnyOf phrases: [String], among keys: [Int64]? = nil, after last: PhraseMatch? = nil, limit: Int,
        filter: CatalogFilter
    ) throws -> [PhraseMatch] {
        let expressions = phrases.compactMap { TextQuery($0, lastIsPrefix: false).expression }
        guard !expressions.isEmpty, limit > 0 else { return [] }
        // SQLite joins 500 queries at most.
        let each = stride(from: 0, to: expressions.count, by: 100).map { start -> SQL in
            let part = expressions[start..<min(start + 100, expressions.count)].map { expression -> SQL in
                "SELECT rowid AS row FROM entityText WHERE entityText MATCH \(expression)"
            }.joined(separator: " UNION ALL ")
            return "SELECT row FROM (\(part))"
        }.joined(separator: " UNION ALL ")
        let among: SQL = keys.map { " AND entity.row IN \($0)" } ?? ""
        let after: SQL =
            last.map { " HAVING COUNT(*) < \($0.count) OR (COUNT(*) = \($0.count) AND entity.row > \($0.key))" } ?? ""
        return try folder.mappingErrors {
            try database.reader.read { db in
                let request: SQLRequest<Row> = """
                    SELECT entity.row, COUNT(*) FROM (\(each)) AS found JOIN entity ON entity.row = found.row \
                    WHERE \(filter.condition)\(among) GROUP BY entity.row\(after) ORDER BY 2 DESC, 1 LIMIT \(limit)
                    """
                return try request.fetchAll(db).map { row in
                    PhraseMatch(key: try row.decode(atIndex: 0), count: try row.decode(atIndex: 1))
                }
            }
        }
    }
}
