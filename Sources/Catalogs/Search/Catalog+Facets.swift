import GRDB

/// What results are grouped by.
public enum FacetKey: Sendable, Hashable, Codable {
    /// The type of the entity.
    case type
    /// Each label of the entity.
    case label
    /// The attribute of this name.
    case attribute(String)
}

/// The values of a facet key, with the number of results that have each.
public struct Facet: Sendable, Hashable, Codable {
    /// A value, and how many results have it.
    public struct Value: Sendable, Hashable, Codable {
        /// A type, a label, or the value of an attribute.
        public let value: String
        /// The number of results with this value.
        public let count: Int
    }

    /// What the results are grouped by.
    public let key: FacetKey
    /// The most frequent first; ties by name.
    public let values: [Value]
}

extension Catalog {
    /// The types, labels or attributes of all matches of a query, with counts.
    ///
    /// ```swift
    /// let query = try await catalog.query(for: photo)
    /// let years = try await catalog.facets(of: query, by: [.attribute("year")], bounds: .none)
    /// ```
    ///
    /// - Parameters:
    ///   - bounds: which entities count as matches.
    ///   - filter: the entities to search.
    /// - Throws: `FeaturePrintError` if the query was embedded with another model; ``CatalogError``, with the reason
    ///   `unknownAttribute` if no entity has an attribute that is asked for; and `CancellationError`.
    /// - Complexity: O(entities · dimension + matches).
    public func facets(
        of query: CatalogQuery, by keys: [FacetKey], bounds: MatchBounds = .accepted,
        filter: CatalogFilter = CatalogFilter()
    ) async throws -> [Facet] {
        let ranked = try await joinedRanking(of: query, limit: .max, bounds: bounds, filter: filter, after: nil)
        return try await reading { try facets(of: ranked.map(\.key), by: keys) }
    }

    /// The facets of some entities.
    package func facets(of keys: [Int64], by wanted: [FacetKey]) throws -> [Facet] {
        let facets = try count(keys, by: wanted)
        let empty = facets.filter(\.values.isEmpty).compactMap { facet -> String? in
            if case .attribute(let name) = facet.key { name } else { nil }
        }
        try checkAttributes(empty)
        return facets
    }

    private func count(_ keys: [Int64], by wanted: [FacetKey]) throws -> [Facet] {
        try folder.mappingErrors {
            try database.reader.read { db in
                try wanted.map { key in
                    let counted = try CatalogDatabase.inParts(of: keys) { part -> [(String, Int)] in
                        let request: SQLRequest<Row> =
                            switch key {
                            case .type:
                                "SELECT type, COUNT(*) FROM entity WHERE row IN \(part) AND type IS NOT NULL GROUP BY 1"
                            case .label:
                                """
                                SELECT one.value, COUNT(DISTINCT entity.row) \
                                FROM entity, json_each(entity.labels) AS one \
                                WHERE entity.row IN \(part) GROUP BY 1
                                """
                            case .attribute(let name):
                                """
                                SELECT one.value, COUNT(*) FROM entity, json_each(entity.attributes) AS one \
                                WHERE entity.row IN \(part) AND one.key = \(name) GROUP BY 1
                                """
                            }
                        return try request.fetchAll(db).map { try ($0.decode(atIndex: 0), $0.decode(atIndex: 1)) }
                    }
                    let sums = Dictionary(counted, uniquingKeysWith: +)
                    return Facet(
                        key: key,
                        values: sums.map { Facet.Value(value: $0.key, count: $0.value) }
                            .sorted { ($1.count, $0.value) < ($0.count, $1.value) })
                }
            }
        }
    }
}
