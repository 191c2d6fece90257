import Catalogs
import Compute
import FeaturePrints
import Foundation
import Imaging

/// A catalog that returns entities of the app's own type. Only the rows that a search found are decoded.
///
/// A catalog with several types of entities has an `EntityCatalog` for each. It may be shared between tasks: searches
/// run in parallel on one model and one mapped matrix, and a cancelled task stops between the stages of a search.
public final class EntityCatalog<Entity: CatalogRepresentable>: Sendable {
    /// The catalog.
    public let catalog: Catalog
    /// The type of the rows to decode; nil for all rows.
    public let type: String?

    private let report: @Sendable (EntityProblem) -> Void

    /// A view of a catalog that decodes its rows.
    ///
    /// - Parameters:
    ///   - catalog: an open catalog.
    ///   - type: the type of the rows to decode; nil for all rows.
    ///   - report: called with rows that cannot be decoded; a search skips them. Prints to standard error by default.
    public init(_ catalog: Catalog, type: String? = nil, report: (@Sendable (EntityProblem) -> Void)? = nil) {
        self.catalog = catalog
        self.type = type
        // `write(_:)` ends the process if standard error is closed or on a full disk.
        self.report = report ?? { try? FileHandle.standardError.write(contentsOf: Data("\($0)\n".utf8)) }
    }

    /// Decodes all rows and returns the problems of those that cannot be decoded. O(rows); worth a call after indexing.
    public func problems() async throws -> [EntityProblem] {
        try await catalog.reduceEntities(into: []) { problems, entity in
            guard type == nil || entity.type == type else { return }
            do {
                _ = try Entity(CatalogRow(entity: entity))
            } catch {
                problems.append(EntityProblem(id: entity.id, entityType: "\(Entity.self)", error: error))
            }
        }
    }

    // MARK: By pixels and labels

    /// The entities that an image shows, nearest first; an empty array if no entity is within the threshold.
    ///
    /// - Parameters:
    ///   - pixelBuffer: of any size and layout; it is not copied.
    ///   - limit: the maximum number of entities.
    ///   - maxDistance: the maximum distance of the prints; the match threshold of the query by default.
    ///   - effort: time for recall.
    public func search(
        matching pixelBuffer: CVReadOnlyPixelBuffer, limit: Int = 10, maxDistance: DistanceLimit = .recommended,
        effort: SearchEffort = .standard
    ) async throws -> [Entity] {
        try await search(
            matching: SemanticContentDescriptor(pixelBuffer: pixelBuffer), limit: limit, maxDistance: maxDistance,
            effort: effort)
    }

    /// The entities that match the captured content, best first; none for a descriptor with neither pixels nor labels.
    ///
    /// ``SearchQuery`` says how both are weighted; ``results(matching:limit:maxDistance:condition:effort:)`` has the
    /// confidences and outlines, too.
    public func search(
        matching content: SemanticContentDescriptor, limit: Int = 10, maxDistance: DistanceLimit = .recommended,
        condition: Condition = .everything, effort: SearchEffort = .standard
    ) async throws -> [Entity] {
        try await results(
            matching: content, limit: limit, maxDistance: maxDistance, condition: condition, effort: effort
        ).map(\.entity)
    }

    /// The entities that match the captured content, best first, each with its confidence, and where the pixels show
    /// it.
    ///
    /// ```swift
    /// for result in try await albums.results(matching: content) {
    ///     show(result.entity, result.confidence, result.outline)
    /// }
    /// ```
    public func results(
        matching content: SemanticContentDescriptor, limit: Int = 10, maxDistance: DistanceLimit = .recommended,
        condition: Condition = .everything, effort: SearchEffort = .standard
    ) async throws -> [SearchPage<Entity>.Result] {
        let query = try await query(for: content, maxDistance: maxDistance, effort: effort)
        return try await page(of: query, count: limit, condition: condition).results
    }

    /// Embeds the captured content, for several searches: the first page for the system's sheet, and further pages in
    /// the app. One forward pass per crop.
    ///
    /// Labels without pixels find entities by their words, and by their pictures, too, if the catalog's model reads
    /// texts and says which pictures show them (`FeaturePrintModel.probability(ofDistance:)`), or with a maximum
    /// distance.
    ///
    /// - Parameters:
    ///   - content: pixels, labels or both.
    ///   - maxDistance: the maximum distance of the prints; the match threshold of the query by default.
    ///   - effort: time for recall.
    ///   - crops: the crops to embed; those of the effort if nil.
    ///   - timings: receives the time of each stage.
    public func query(
        for content: SemanticContentDescriptor, maxDistance: DistanceLimit = .recommended,
        effort: SearchEffort = .standard, crops: QueryCrops? = nil, timings: StageTimings? = nil
    ) async throws -> SearchQuery {
        try Task.checkCancellation()
        var query: CatalogQuery?
        if let pixelBuffer = content.pixelBuffer {
            query = try await catalog.query(
                for: pixelBuffer,
                options: SearchOptions(condition: ownCondition, effort: effort, crops: crops, timings: timings))
        }
        if let query { return SearchQuery(query, labels: content.labels, maxDistance: maxDistance) }
        let words = SearchQuery(prints: [], labels: content.labels, maxDistance: maxDistance)
        guard !words.isEmpty, let limit = limitOfWords(maxDistance) else { return words }
        let described = try await catalog.query(
            describedBy: words.labels.joined(separator: ", "), options: SearchOptions(timings: timings))
        return SearchQuery(described, labels: content.labels, maxDistance: limit)
    }

    /// The maximum distance of pictures that words find; nil where the words are looked up alone: the model reads no
    /// texts, or does not say when a picture shows them.
    private func limitOfWords(_ maxDistance: DistanceLimit) -> DistanceLimit? {
        guard catalog.model.readsTexts else { return nil }
        guard maxDistance == .recommended else { return maxDistance }
        return catalog.model.textLogits?.distanceOfEvenOdds.map { .atMost($0) }
    }

    /// The first page of a query's ranking. Only the entities of the page are read from the catalog. O(entities ·
    /// dimension).
    ///
    /// - Parameters:
    ///   - query: from ``query(for:maxDistance:effort:crops:timings:)``.
    ///   - count: the maximum number of entities.
    ///   - condition: applied before the page is selected, so that it is full as long as enough entities satisfy it.
    /// - Throws: `FeaturePrintError` for a query that was embedded with another model, `CatalogError`, and
    ///   `CancellationError`.
    public func page(
        of query: SearchQuery, count: Int = 10, condition: Condition = .everything
    ) async throws -> SearchPage<Entity> {
        try await page(of: query, count: count, condition: condition, startingAfter: nil)
    }

    /// The page after another one: `after: first.next`.
    ///
    /// - Parameters:
    ///   - query: the query of the previous page.
    ///   - count: the maximum number of entities.
    ///   - condition: the condition of the previous page.
    ///   - cursor: the end of the previous page. Without one the previous page was the last, and this one is empty; the
    ///     first page has no `after`.
    /// - Throws: `FeaturePrintError` for a query that was embedded with another model, `CatalogError`, and
    ///   `CancellationError`.
    public func page(
        of query: SearchQuery, count: Int = 10, condition: Condition = .everything, after cursor: SearchCursor?
    ) async throws -> SearchPage<Entity> {
        guard let cursor else { return SearchPage(results: [], next: nil) }
        return try await page(of: query, count: count, condition: condition, startingAfter: cursor)
    }

    /// The pages of a query's ranking, each read when it is asked for. None is empty.
    ///
    /// ```swift
    /// for try await page in albums.pages(of: query, count: 20) { show(page.entities) }
    /// ```
    public func pages(
        of query: SearchQuery, count: Int = 10, condition: Condition = .everything
    ) -> SearchPages<Entity> {
        SearchPages { cursor in
            try await self.page(of: query, count: count, condition: condition, startingAfter: cursor)
        }
    }

    private func page(
        of query: SearchQuery, count: Int, condition: Condition, startingAfter cursor: SearchCursor?
    ) async throws -> SearchPage<Entity> {
        try Task.checkCancellation()
        let condition = ownCondition && condition
        // Larger counts could overflow in sums and products.
        let count = min(max(0, count), 1 << 32)
        // One entity more than the page has tells whether there is another page.
        let ranked = try await query.ranking(in: catalog, condition: condition, limit: count + 1, after: cursor)
        try Task.checkCancellation()
        let shown = ranked.prefix(count)
        let stored = try await catalog.storedEntities(forKeys: shown.map(\.key), withThumbnails: true)
        let results = shown.compactMap { place in
            stored[place.key].flatMap { entity($0) }.map { SearchPage<Entity>.Result(entity: $0, place: place) }
        }
        let next = ranked.count > shown.count ? shown.last?.cursor : nil
        return SearchPage(results: results, next: next)
    }

    /// The types, labels or attributes of a query's results, with counts.
    ///
    /// O(entities · dimension + results).
    ///
    /// - Throws: `FeaturePrintError` for a query that was embedded with another model; `CatalogError`, with the reason
    ///   `unknownAttribute` if no entity has an attribute that is asked for; and `CancellationError`.
    public func facets(
        of query: SearchQuery, by keys: [EntityField], condition: Condition = .everything
    ) async throws -> [Facet] {
        let condition = ownCondition && condition
        // The number of entities is a limit that no result exceeds.
        let limit = try await catalog.reading { max(1, catalog.count) }
        let ranked = try await query.ranking(in: catalog, condition: condition, limit: limit, after: nil)
        try Task.checkCancellation()
        return try await catalog.facets(of: ranked.map(\.key), by: keys)
    }

    // MARK: By ids and text

    /// The entities with these ids, in the order of the ids, without unknown ids and those of another type.
    public func entities(for identifiers: [String]) async throws -> [Entity] {
        try await catalog.storedEntities(forIDs: identifiers, withThumbnails: true)
            .filter { type == nil || $0.entity.type == type }.compactMap { entity($0) }
    }

    /// The entities whose title, subtitle or labels contain all words of a text, best first; see
    /// `Catalog.search(text:limit:condition:)`.
    public func entities(matching text: String, limit: Int = 20) async throws -> [Entity] {
        try await entities(for: await catalog.search(text: text, limit: limit, condition: ownCondition).map(\.id))
    }

    /// Titles that complete the typed text.
    public func suggestions(for text: String, limit: Int = 10) async throws -> [String] {
        try await catalog.suggestions(for: text, limit: limit, condition: ownCondition)
    }

    /// The first entities of the catalog, as suggestions before a search.
    public func suggestedEntities(limit: Int = 10) async throws -> [Entity] {
        try await entities(for: try await catalog.entities(where: ownCondition, limit: limit).entities.map(\.id))
    }

    /// All entities. O(entities) memory; for small catalogs.
    public func allEntities() async throws -> [Entity] {
        try await suggestedEntities(limit: .max)
    }

    /// A JPEG file of an entity's first image; see `Catalog.thumbnail(for:image:longSide:)`.
    public func thumbnail(for id: String, longSide: Int? = nil) async throws -> Data? {
        try await catalog.thumbnail(for: id, longSide: longSide)
    }

    private var ownCondition: Condition { type.map { .isAnyOf(.type, [$0]) } ?? .everything }

    private func entity(_ stored: StoredEntity) -> Entity? {
        do {
            return try Entity(CatalogRow(stored))
        } catch {
            report(EntityProblem(id: stored.entity.id, entityType: "\(Entity.self)", error: error))
            return nil
        }
    }
}

extension EntityCatalog: RelatedEntitySource {
    /// The entities whose attribute has one of the values, in the order of the values; one query to the catalog.
    public func entities(relatedBy attribute: String, to values: [String], limit: Int) async throws -> [Entity] {
        try await catalog.storedEntities(
            where: .attribute(attribute), isAnyOf: values, limit: limit, condition: ownCondition, withThumbnails: true
        )
        .compactMap { entity($0) }
    }
}
