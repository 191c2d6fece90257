import GRDB

extension Catalog {
    /// The entities whose field has one of the values, in the order of the values; ties in the catalog's order. One
    /// query for all values. Case and diacritics matter.
    ///
    /// ```swift
    /// let concerts = try await catalog.entities(
    ///     where: .attribute("artist"), isAnyOf: matches.compactMap(\.entity.subtitle))
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the maximum number of entities.
    ///   - filter: the entities to look among.
    /// - Throws: ``CatalogError``, with the reason `unknownAttribute` if no entity of the catalog has an attribute of
    ///   that name; and `CancellationError`.
    /// - Complexity: O(entities).
    public func entities(
        where field: EntityField, isAnyOf values: [String], limit: Int = 100, filter: CatalogFilter = CatalogFilter()
    ) async throws -> [CatalogEntity] {
        try await reading {
            try records(where: field, isAnyOf: values, limit: limit, filter: filter, withThumbnails: false)
                .map(\.entity)
        }
    }

    /// The entities whose attribute has one of the values; see ``entities(where:isAnyOf:limit:filter:)``.
    public func entities(
        whereAttribute attribute: String, isAnyOf values: [String], limit: Int = 100,
        filter: CatalogFilter = CatalogFilter()
    ) async throws -> [CatalogEntity] {
        try await entities(where: .attribute(attribute), isAnyOf: values, limit: limit, filter: filter)
    }

    package func records(
        whereAttribute attribute: String, isAnyOf values: [String], limit: Int, filter: CatalogFilter,
        withThumbnails: Bool
    ) throws -> [StoredEntity] {
        try records(
            where: .attribute(attribute), isAnyOf: values, limit: limit, filter: filter, withThumbnails: withThumbnails)
    }

    func records(
        where field: EntityField, isAnyOf values: [String], limit: Int, filter: CatalogFilter, withThumbnails: Bool
    ) throws -> [StoredEntity] {
        guard !values.isEmpty, limit > 0 else { return [] }
        let unique = Set(values.map(ExactText.init)).map(\.text)
        let found = try CatalogDatabase.inParts(of: unique) { part in
            let condition: SQL = "\(filter.condition) AND \(field.condition(isAnyOf: part))"
            return try stored(where: condition, withThumbnails: withThumbnails)
        }
        if found.isEmpty, case .attribute(let name) = field { try checkAttributes([name]) }
        let place = Dictionary(values.enumerated().map { (ExactText($1), $0) }, uniquingKeysWith: min)
        func rank(_ found: StoredEntity) -> (Int, Int64) {
            (field.values(of: found.entity).compactMap { place[ExactText($0)] }.min() ?? .max, found.key)
        }
        // A list of values that is read in parts may find an entity with several labels in each.
        let entities = Dictionary(found.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        return Array(entities.values.sorted { rank($0) < rank($1) }.prefix(limit))
    }

    /// Throws for a name that no entity has as an attribute: it was mistyped. A catalog without entities has no names.
    func checkAttributes(_ names: [String]) throws {
        guard !names.isEmpty else { return }
        let names = Set(names.map(ExactText.init)).map(\.text)
        let known = try folder.mappingErrors {
            try database.reader.read { db -> [String]? in
                guard try Int.fetchOne(db, sql: "SELECT 1 FROM entity LIMIT 1") != nil else { return nil }
                // Ends as soon as all are found.
                let request: SQLRequest<String> = """
                    SELECT DISTINCT one.key FROM entity, json_each(entity.attributes) AS one \
                    WHERE one.key IN \(names) LIMIT \(names.count)
                    """
                return try request.fetchAll(db)
            }
        }
        guard let known else { return }
        let exact = Set(known.map(ExactText.init))
        let unknown = names.filter { !exact.contains(ExactText($0)) }
        if let name = unknown.first { throw folder.error(.unknownAttribute(name)) }
    }
}
