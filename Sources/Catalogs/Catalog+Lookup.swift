public import CatalogEntities
public import CatalogSearch
import CatalogStore
import Compute
package import Foundation

/// Entities by their ids, fields and text.
extension Catalog {
    /// The entities with these ids, in the order of the ids, without unknown ones. One query for all ids.
    ///
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    public func entities(for ids: [String]) async throws -> [CatalogEntity] {
        try await reading { try store.entities(forIDs: ids).map(\.entity) }
    }

    /// The entities whose field has one of the values, in the order of the values; ties in the catalog's order. Case
    /// and diacritics matter.
    ///
    /// ```swift
    /// let concerts = try await catalog.entities(
    ///     where: .attribute("artist"), isAnyOf: matches.compactMap(\.entity.subtitle))
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the maximum number of entities.
    ///   - condition: the entities to look among.
    /// - Throws: ``CatalogError``, with the reason `unknownAttribute` if no entity of the catalog has an attribute of
    ///   that name; and `CancellationError`.
    /// - Complexity: O(limit + values · log entities), unless the condition rejects many.
    public func entities(
        where field: EntityField, isAnyOf values: [String], limit: Int = 100, condition: Condition = .everything
    ) async throws -> [CatalogEntity] {
        try await storedEntities(where: field, isAnyOf: values, limit: limit, condition: condition).map(\.entity)
    }

    package func storedEntities(
        where field: EntityField, isAnyOf values: [String], limit: Int, condition: Condition = .everything,
        withThumbnails: Bool = false
    ) async throws -> [StoredEntity] {
        guard !values.isEmpty, limit > 0 else { return [] }
        return try await executor.compute { cancellation in
            try store.entities(
                where: store.resolved(field), isAnyOf: values, limit: limit, condition: condition,
                withThumbnails: withThumbnails
            ) { try cancellation.check() }
        }
    }

    /// The stored entities of these rows, without those that were removed.
    package func storedEntities(
        forKeys keys: [Int64], withThumbnails: Bool = false
    ) async throws -> [Int64: StoredEntity] {
        try await reading { try store.entities(forKeys: keys, withThumbnails: withThumbnails) }
    }

    /// The stored entities with these ids, in the order of the ids, without unknown ones.
    package func storedEntities(forIDs ids: [String], withThumbnails: Bool = false) async throws -> [StoredEntity] {
        try await reading { try store.entities(forIDs: ids, withThumbnails: withThumbnails) }
    }

    /// A page of the entities that satisfy a condition, in the catalog's order.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of entities.
    ///   - cursor: starts after this place; at the first entity by default.
    /// - Returns: the entities, and the cursor of the next page; nil at the end.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, or no entity has an attribute that the condition
    ///   names; and `CancellationError`.
    /// - Complexity: O(limit + what the condition finds).
    public func entities(
        where condition: Condition = .everything, limit: Int = 100, after cursor: SearchCursor? = nil
    ) async throws -> (entities: [CatalogEntity], next: SearchCursor?) {
        guard limit > 0 else { return ([], cursor) }
        return try await reading {
            let page = try store.entities(where: condition, limit: limit, after: cursor?.key)
            let next = page.count < limit ? nil : page.last.map { SearchCursor(sortKey: 0, key: $0.key) }
            return (page.map(\.entity), next)
        }
    }

    /// A page of a list: of entities that satisfy a condition and contain all words of a text, in an order.
    ///
    /// - Parameters:
    ///   - text: the last word may be a prefix; nil for any entity, and none for a text without words.
    ///   - order: by default the best matches of the text first, or without one the catalog's order. More entities than
    ///     `walk` are not ranked: those with the words in their titles come first.
    ///   - place: starts after it; at the first entity by default.
    ///   - walk: the entities that are looked at in the list's order before the condition selects them.
    /// - Returns: the entities, and the place of the last one if there may be more; nil for a place of another order.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, or no entity has an attribute that is named; and
    ///   `CancellationError`.
    /// - Precondition: the order is not by labels, of which an entity has several.
    package func page(
        where condition: Condition, text: String? = nil, order: EntityOrder? = nil, limit: Int,
        after place: EntityPlace? = nil, walk: Int = EntityStore.usualWalk
    ) async throws -> (entities: [CatalogEntity], next: EntityPlace?)? {
        precondition(order?.field != .label, "an order by labels")
        let words = text.flatMap { TextQuery($0, lastIsPrefix: true) }
        return try await reading {
            if text != nil, words == nil { return ([], nil) }
            let page = try store.page(
                where: condition, text: words, order: order, limit: limit, after: place, walk: walk)
            return page.map { ($0.entities.map(\.entity), $0.hasMore ? $0.entities.last?.place : nil) }
        }
    }

    /// The rows of all entities of such a list, in its order, as they are at one moment. Nil for a place of another
    /// order.
    ///
    /// - Throws: as ``page(where:text:order:limit:after:walk:)``.
    /// - Complexity: O(entities) time, or O(what the condition finds) where that is little; eight bytes per entity.
    package func rows(
        where condition: Condition, text: String? = nil, order: EntityOrder? = nil, after place: EntityPlace? = nil
    ) async throws -> [Int64]? {
        precondition(order?.field != .label, "an order by labels")
        let words = text.flatMap { TextQuery($0, lastIsPrefix: true) }
        if text != nil, words == nil { return [] }
        return try await reading { try store.rows(where: condition, text: words, order: order, after: place) }
    }

    /// The facets of the entities that satisfy a condition and contain all words of a text.
    ///
    /// - Parameter known: the state for which they are known; they are nil if it is still the same.
    /// - Returns: the facets, and the state for which they hold.
    /// - Throws: as ``page(where:text:order:limit:after:walk:)``.
    package func facets(
        where condition: Condition, text: String? = nil, by fields: [EntityField], unlessAt known: EntityState? = nil,
        few: Int = EntityStore.usualFew
    ) async throws -> (state: EntityState, facets: [Facet]?) {
        let words = text.flatMap { TextQuery($0, lastIsPrefix: true) }
        return try await executor.compute { cancellation in
            // A text without words is in no entity.
            let condition = text != nil && words == nil ? .any([]) : condition
            let (state, counts) = try store.counts(
                of: fields, where: condition, text: words, unlessAt: known, few: few
            ) { try cancellation.check() }
            return (state, counts.map { zip(fields, $0).map { Facet($0, counts: $1) } })
        }
    }

    /// What names the catalog wherever its folder is, and its snapshots; nil in a damaged database.
    package var catalogID: UUID? { get async throws { try await reading { try store.catalogID() } } }

    /// Sets how many bytes of what lists and facets read are kept, for all catalogs of the process together.
    package static func limitRowCache(to byteCount: Int) { RowCache.shared.setLimit(byteCount) }

    /// How many entities satisfy each of some conditions, such as ranges of prices.
    ///
    /// ```swift
    /// let price = EntityField.attribute("price")
    /// let counts = try await catalog.counts(of: [price < 10, price.isIn(10...20), price > 20], where: .type("album"))
    /// ```
    ///
    /// - Parameters:
    ///   - parts: the conditions to count.
    ///   - condition: the entities that are counted; all by default.
    ///   - text: words that the title, the subtitle or the labels of each have; nil for any.
    /// - Returns: a number per condition, in their order. An entity counts for each that it satisfies.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, or no entity has an attribute that a condition names;
    ///   `CancellationError`.
    /// - Complexity: O(entities that have the fields), for each condition.
    public func counts(
        of parts: [Condition], where condition: Condition = .everything, text: String? = nil
    ) async throws -> [Int] {
        let words = text.flatMap { TextQuery($0, lastIsPrefix: true) }
        return try await executor.compute { cancellation in
            if text != nil, words == nil { return parts.map { _ in 0 } }
            return try store.counts(of: parts, where: condition, text: words) { try cancellation.check() }
        }
    }

    /// Calls `body` with every entity in the catalog's order. O(1) memory.
    ///
    /// - Throws: as ``reduceEntities(into:where:_:)``.
    public func forEachEntity(
        where condition: Condition = .everything, _ body: @Sendable (CatalogEntity) throws -> Void
    ) async throws {
        try await reduceEntities(into: (), where: condition) { _, entity in try body(entity) }
    }

    /// What `body` makes of all entities, in the catalog's order.
    ///
    /// ```swift
    /// let artists = try await catalog.reduceEntities(into: Set<String>()) { artists, entity in
    ///     if let artist = entity.subtitle { artists.insert(artist) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - initial: the result of no entities.
    ///   - condition: the entities; all by default.
    ///   - body: adds an entity to the result. It runs on the catalog's executor, while the database is read.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, or no entity has an attribute that the condition
    ///   names; what `body` throws; and `CancellationError` if the task is cancelled meanwhile.
    ///   ``CatalogError/Reason/busy`` if another process changes the catalog meanwhile and this one cannot share
    ///   SQLite's index with it, as in a folder without write access: `body` may then have received entities from two
    ///   states.
    /// - Complexity: O(entities) time, O(1) memory besides the result.
    public func reduceEntities<Result: Sendable>(
        into initial: Result, where condition: Condition = .everything,
        _ body: @Sendable (inout Result, CatalogEntity) throws -> Void
    ) async throws -> Result {
        try await executor.compute { cancellation in
            var result = initial
            try store.forEachEntity(where: condition) { entity in
                try cancellation.check()
                try body(&result, entity)
            }
            return result
        }
    }

    // MARK: Text

    /// The entities whose title, subtitle or labels contain all words of the text, best first (BM25; title over
    /// subtitle over labels); of more than 8,192, those with the words in their titles come first. The last word may be
    /// a prefix. Case and diacritics are ignored; no character is an operator.
    ///
    /// - Returns: an empty array for a text without words.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    public func search(
        text: String, limit: Int = 10, condition: Condition = .everything
    ) async throws -> [CatalogEntity] {
        guard let words = TextQuery(text, lastIsPrefix: true), limit > 0 else { return [] }
        return try await reading { try store.entities(matching: words, limit: limit, condition: condition) }
    }

    /// Distinct titles that complete the typed text, in the order of ``search(text:limit:condition:)``. O(entities that
    /// contain the text).
    ///
    /// - Parameter limit: the maximum number of titles.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    public func suggestions(
        for text: String, limit: Int = 10, condition: Condition = .everything
    ) async throws -> [String] {
        guard let words = TextQuery(text, lastIsPrefix: true), limit > 0 else { return [] }
        return try await reading { try store.titles(matching: words, limit: limit, condition: condition) }
    }

    /// The entities that contain any of the phrases, by how many they contain; ties in the catalog's order.
    /// O(matches of all phrases).
    ///
    /// - Parameters:
    ///   - keys: only these entities; all of them by default.
    ///   - last: only what follows this one in the ranking.
    package func entities(
        havingAnyOf phrases: [String], among keys: [Int64]? = nil, after last: PhraseMatch? = nil, limit: Int,
        condition: Condition
    ) throws -> [PhraseMatch] {
        let phrases = phrases.compactMap { TextQuery($0, lastIsPrefix: false) }
        guard !phrases.isEmpty, limit > 0 else { return [] }
        return try store.entities(
            havingAnyOf: phrases, among: keys, after: last, limit: limit, condition: condition)
    }
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
            let counts = try store.counts(of: fields.map(store.resolved), among: keys) { try cancellation.check() }
            return zip(fields, counts).map { Facet($0, counts: $1) }
        }
    }

    /// The types that a condition names and no entity has: mistyped ones, and those of entities that are not there at
    /// present. Such a condition is no error in a search, which finds nothing. What changes or removes entities asks
    /// first, since a mistyped type that is negated selects all of them.
    ///
    /// ```swift
    /// if let error = try await catalog.unknownTypes(in: condition).first { throw error }
    /// ```
    ///
    /// - Returns: an error per type, with the reason `unknownType`; none for a catalog without entities.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    /// - Complexity: O(types · log entities).
    public func unknownTypes(in condition: Condition) async throws -> [CatalogError] {
        try await reading { try store.unknownTypes(in: condition) }
    }
}

extension Facet {
    fileprivate init(_ field: EntityField, counts: [(String, Int)]) {
        self.init(
            field: field,
            values: counts.map { Facet.Value(value: $0, count: $1) }
                .sorted { ($1.count, $0.value) < ($0.count, $1.value) })
    }
}
