import Compute
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
    /// - Complexity: O(entities · dimension + matches · keys). All attributes together take as long as one.
    public func facets(
        of query: CatalogQuery, by keys: [FacetKey], bounds: MatchBounds = .accepted,
        filter: CatalogFilter = CatalogFilter()
    ) async throws -> [Facet] {
        let ranked = try await joinedRanking(of: query, limit: .max, bounds: bounds, filter: filter, after: nil)
        return try await facets(of: ranked.map(\.key), by: keys)
    }

    /// The facets of some entities.
    package func facets(of keys: [Int64], by wanted: [FacetKey]) async throws -> [Facet] {
        try await executor.compute { cancellation in
            let facets = try count(keys, by: wanted, cancellation)
            let empty = facets.filter(\.values.isEmpty).compactMap(\.key.attribute)
            try checkAttributes(empty)
            return facets
        }
    }

    private func count(
        _ keys: [Int64], by wanted: [FacetKey], _ cancellation: Cancellation
    ) throws -> [Facet] {
        let attributes = wanted.compactMap(\.attribute)
        // An attribute may be asked for twice.
        let places = Dictionary(
            wanted.enumerated().compactMap { place, key in key.attribute.map { (ExactText($0), [place]) } },
            uniquingKeysWith: +)
        let counts = try folder.mappingErrors {
            try database.reader.read { db in
                var counts = [[ExactText: Int]](repeating: [:], count: wanted.count)
                _ = try CatalogDatabase.inParts(of: keys) { part -> [Never] in
                    guard !cancellation.isCancelled else { return [] }
                    for (place, key) in wanted.enumerated() where key.attribute == nil {
                        for row in try Self.request(key, of: part).fetchAll(db) {
                            let value = ExactText(try row.decode(atIndex: 0))
                            counts[place][value, default: 0] += try row.decode(atIndex: 1)
                        }
                    }
                    guard !attributes.isEmpty else { return [] }
                    // One pass for all of them: it takes as long as for one.
                    let request: SQLRequest<Row> = """
                        SELECT one.key, one.value, COUNT(*) FROM entity, json_each(entity.attributes) AS one \
                        WHERE entity.row IN \(part) AND one.key IN \(attributes) GROUP BY 1, 2
                        """
                    for row in try request.fetchAll(db) {
                        let value = ExactText(try row.decode(atIndex: 1))
                        let count: Int = try row.decode(atIndex: 2)
                        for place in places[ExactText(try row.decode(atIndex: 0))] ?? [] {
                            counts[place][value, default: 0] += count
                        }
                    }
                    return []
                }
                return counts
            }
        }
        try cancellation.check()
        return zip(wanted, counts).map { key, counts in
            Facet(
                key: key,
                values: counts.map { Facet.Value(value: $0.key.text, count: $0.value) }
                    .sorted { ($1.count, $0.value) < ($0.count, $1.value) })
        }
    }

    /// The types or labels of some entities, counted.
    private static func request(_ key: FacetKey, of part: [Int64]) -> SQLRequest<Row> {
        key == .type
            ? "SELECT type, COUNT(*) FROM entity WHERE row IN \(part) AND type IS NOT NULL GROUP BY 1"
            : """
            SELECT one.value, COUNT(DISTINCT entity.row) FROM entity, json_each(entity.labels) AS one \
            WHERE entity.row IN \(part) GROUP BY 1
            """
    }
}

extension FacetKey {
    /// Nil for other keys.
    fileprivate var attribute: String? {
        if case .attribute(let name) = self { name } else { nil }
    }
}
