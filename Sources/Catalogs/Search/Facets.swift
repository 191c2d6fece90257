/// The values of a field, with the number of results that have each.
public struct Facet: Sendable, Hashable, Codable {
    /// A value, and how many results have it.
    public struct Value: Sendable, Hashable, Codable {
        /// The value of the field.
        public let value: String
        /// The number of results with this value.
        public let count: Int
    }

    /// The field.
    public let field: EntityField
    /// The most frequent first; ties by name.
    public let values: [Value]
}

extension Catalog {
    /// The values of some fields of all matches of a query, with counts.
    ///
    /// ```swift
    /// let query = try await catalog.query(for: photo)
    /// let years = try await catalog.facets(of: query, by: [.attribute("year")], options: SearchOptions(bounds: .none))
    /// ```
    ///
    /// - Parameter options: the bounds and the condition count.
    /// - Throws: `FeaturePrintError` if the query was embedded with another model; ``CatalogError``, with the reason
    ///   `unknownAttribute` if no entity has an attribute that is asked for; and `CancellationError`.
    /// - Complexity: O(entities · dimension + matches · fields).
    public func facets(
        of query: CatalogQuery, by fields: [EntityField], options: SearchOptions = SearchOptions()
    ) async throws -> [Facet] {
        let ranked = try await ranking(
            of: query, limit: .max, bounds: options.bounds, condition: options.condition, after: nil)
        return try await facets(of: ranked.map(\.key), by: fields)
    }

    /// The facets of some entities.
    package func facets(of keys: [Int64], by fields: [EntityField]) async throws -> [Facet] {
        try await executor.compute { cancellation in
            let counts = try store.counts(of: fields, among: keys) { try cancellation.check() }
            let facets = zip(fields, counts).map { field, counts in
                Facet(
                    field: field,
                    values: counts.map { Facet.Value(value: $0, count: $1) }
                        .sorted { ($1.count, $0.value) < ($0.count, $1.value) })
            }
            try checkAttributes(facets.filter(\.values.isEmpty).compactMap(\.field.attributeName))
            return facets
        }
    }

    /// Throws for a name that no entity has as an attribute: it was mistyped. A catalog without entities has no names.
    func checkAttributes(_ names: [String]) throws {
        if let name = try store.unknownAttribute(among: names) { throw folder.error(.unknownAttribute(name)) }
    }
}
