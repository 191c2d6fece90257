import Compute
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
        try await executor.compute { cancellation in
            try records(
                where: field, isAnyOf: values, limit: limit, filter: filter, withThumbnails: false, cancellation
            ).map(\.entity)
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
    ) async throws -> [StoredEntity] {
        try await executor.compute { cancellation in
            try records(
                where: .attribute(attribute), isAnyOf: values, limit: limit, filter: filter,
                withThumbnails: withThumbnails, cancellation)
        }
    }

    private func records(
        where field: EntityField, isAnyOf values: [String], limit: Int, filter: CatalogFilter, withThumbnails: Bool,
        _ cancellation: Cancellation
    ) throws -> [StoredEntity] {
        guard !values.isEmpty, limit > 0 else { return [] }
        let place = Dictionary(values.enumerated().map { (ExactText($1), $0) }, uniquingKeysWith: min)
        // In the order of the values, so that the best places come with the first part.
        let unique = place.sorted { $0.value < $1.value }.map(\.key.text)
        let found = try folder.mappingErrors {
            try database.reader.read { db in
                // Not all entities that match: they may be the whole catalog.
                let ranked = try CatalogDatabase.inParts(of: unique) { part in
                    var first = FirstEntities(limit: limit)
                    let rows = try field.rows(of: part, where: filter.condition).fetchCursor(db)
                    while !cancellation.isCancelled, let row = try rows.next() {
                        first.add(
                            try row.decode(atIndex: 0), place: place[ExactText(try row.decode(atIndex: 1))] ?? .max)
                    }
                    return first.ranked
                }
                // A list of values that is read in parts may find an entity with several labels in each.
                let places = Dictionary(ranked.map { ($0.key, $0.place) }, uniquingKeysWith: min)
                let keys = places.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.prefix(limit).map(\.key)
                let stored = try CatalogDatabase.inParts(of: keys) {
                    try Self.stored(where: "entity.row IN \($0)", withThumbnails: withThumbnails, db)
                }
                let byKey = Dictionary(stored.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
                return keys.compactMap { byKey[$0] }
            }
        }
        try cancellation.check()
        if found.isEmpty, case .attribute(let name) = field { try checkAttributes([name]) }
        return found
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

/// The first of the entities that are added: by their place, and those of the same place by their keys.
private struct FirstEntities {
    let limit: Int
    private var entities: [(place: Int, key: Int64)] = []
    /// May come again, with a better place.
    private var last: (place: Int, key: Int64)?

    init(limit: Int) { self.limit = limit }

    /// - Parameter key: one that is added several times is added in a row.
    mutating func add(_ key: Int64, place: Int) {
        if let last, last.key == key {
            self.last = (min(last.place, place), key)
            return
        }
        // Room for as many again, so that sorting costs O(log limit) per entity.
        if let last { entities.append(last) }
        last = (place, key)
        if entities.count / 2 >= limit { entities = Array(entities.sorted { $0 < $1 }.prefix(limit)) }
    }

    /// The first entities in their order, at most as many as the limit.
    var ranked: [(place: Int, key: Int64)] {
        Array((entities + (last.map { [$0] } ?? [])).sorted { $0 < $1 }.prefix(limit))
    }
}
