import Compute
import FeaturePrints
import Imaging
import VectorSearch

extension Catalog {
    /// The entities that an image shows, surest first. An image may show several.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of matches.
    ///   - bounds: which entities count as matches; by default those with a confidence of ½ and more.
    ///   - effort: quality for time.
    ///   - crops: the crops of the image to embed, one forward pass per crop; those of the effort by default.
    ///   - filter: the entities to search.
    /// - Returns: an empty array if no entity is within the bounds.
    /// - Throws: ``CatalogError``, `ModelError` if the image cannot be embedded, and `CancellationError`.
    /// - Complexity: see ``query(for:effort:crops:filter:timings:)``.
    public func search(
        matching image: PixelBuffer, limit: Int = 10, bounds: MatchBounds = .accepted, effort: SearchEffort = .standard,
        crops: QueryCrops? = nil, filter: CatalogFilter = CatalogFilter(), timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        let query = try query(for: image, effort: effort, crops: crops, filter: filter, timings: timings)
        try Task.checkCancellation()
        return try await search(query, limit: limit, bounds: bounds, filter: filter, timings: timings)
    }

    /// The entities nearest to a print, nearest first.
    ///
    /// - Throws: `FeaturePrintError` if the print was made with another model, and ``CatalogError``.
    public func search(
        matching print: FeaturePrint, limit: Int = 10, bounds: MatchBounds = .accepted,
        filter: CatalogFilter = CatalogFilter(), timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        try await search(matchingAnyOf: [print], limit: limit, bounds: bounds, filter: filter, timings: timings)
    }

    /// The entities nearest to any of the prints of a query, nearest first. An entity's distance is its minimum
    /// distance over them.
    ///
    /// - Parameter cursor: returns only what follows it in the ranking: the next page.
    /// - Throws: `FeaturePrintError` if a print was made with another model, and ``CatalogError``.
    public func search(
        matchingAnyOf prints: [FeaturePrint], limit: Int = 10, bounds: MatchBounds = .accepted,
        filter: CatalogFilter = CatalogFilter(), after cursor: SearchCursor? = nil, timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        try checkModel(of: prints)
        let query = CatalogQuery(prints: prints, matchThreshold: model.matchThreshold(for: prints))
        return try await search(query, limit: limit, bounds: bounds, filter: filter, after: cursor, timings: timings)
    }

    /// The entities that a query shows, surest first, or a page of them.
    ///
    /// - Parameter cursor: returns only what follows it in the ranking: the next page.
    /// - Throws: `FeaturePrintError` if the query was embedded with another model, and ``CatalogError``.
    public func search(
        _ query: CatalogQuery, limit: Int = 10, bounds: MatchBounds = .accepted,
        filter: CatalogFilter = CatalogFilter(), after cursor: SearchCursor? = nil, timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        let start = ContinuousClock.now
        defer { timings?.add(ContinuousClock.now - start, to: .search) }
        let ranked = try ranking(of: query, limit: limit, bounds: bounds, filter: filter, after: cursor)
        try Task.checkCancellation()
        guard !ranked.isEmpty else { return [] }
        let records = try records(for: ranked.map(\.key))
        // An entity that was removed since the matrix was made is left out.
        return ranked.compactMap { place in
            records[place.key].map { CatalogMatch(entity: $0.entity, place: place) }
        }
    }
}
