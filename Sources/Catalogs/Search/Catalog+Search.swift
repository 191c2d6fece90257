import Compute
import FeaturePrints
import Imaging
import VectorSearch

extension Catalog {
    /// The entities that an image shows, nearest first.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of matches.
    ///   - maxDistance: the maximum distance of a match, 0...2. Without it the threshold is set per query by score
    ///     normalization; generic images get a stricter one.
    ///   - crops: the crops of the image to embed; one forward pass per crop.
    ///   - filter: the entities to search.
    /// - Returns: an empty array if no entity is within the threshold.
    /// - Throws: ``CatalogError``, `ModelError` if the image cannot be embedded, and `CancellationError`.
    /// - Complexity: O(crops · entities · dimension), besides the forward passes.
    public func search(
        matching image: PixelBuffer, limit: Int = 10, maxDistance: Double? = nil,
        crops: QueryCrops = .localized, filter: CatalogFilter = CatalogFilter(), timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        let query = try QueryEmbedder(model, crops: crops).embed(image, timings: timings)
        try Task.checkCancellation()
        return try await search(
            matchingAnyOf: query.prints, limit: limit, maxDistance: maxDistance, filter: filter, timings: timings)
    }

    /// The entities nearest to a print, nearest first.
    ///
    /// - Throws: `FeaturePrintError` if the print was made with another model, and ``CatalogError``.
    public func search(
        matching print: FeaturePrint, limit: Int = 10, maxDistance: Double? = nil,
        filter: CatalogFilter = CatalogFilter(), timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        try await search(
            matchingAnyOf: [print], limit: limit, maxDistance: maxDistance, filter: filter, timings: timings)
    }

    /// The entities nearest to any of the prints of a query, nearest first. An entity's distance is its minimum
    /// distance over them.
    ///
    /// - Parameter cursor: returns only what follows it in the ranking: the next page.
    /// - Throws: `FeaturePrintError` if a print was made with another model, and ``CatalogError``.
    public func search(
        matchingAnyOf prints: [FeaturePrint], limit: Int = 10, maxDistance: Double? = nil,
        filter: CatalogFilter = CatalogFilter(), after cursor: SearchCursor? = nil, timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        let start = ContinuousClock.now
        defer { timings?.add(ContinuousClock.now - start, to: .search) }
        let ranked = try nearest(toAnyOf: prints, limit: limit, maxDistance: maxDistance, filter: filter, after: cursor)
        try Task.checkCancellation()
        guard !ranked.isEmpty else { return [] }
        let records = try records(for: ranked.map(\.key))
        // An entity that was removed since the matrix was made is left out.
        return ranked.compactMap { found in
            records[found.key].map {
                CatalogMatch(entity: $0.entity, squaredDistance: found.squaredDistance, key: found.key)
            }
        }
    }

    /// A row of the ranking, before its entity is read.
    package struct NearKey: Sendable {
        package let key: Int64
        package let squaredDistance: Float
    }

    /// The rows nearest to any of several prints, nearest first.
    package func nearest(
        toAnyOf prints: [FeaturePrint], limit: Int, maxDistance: Double?, filter: CatalogFilter,
        after cursor: SearchCursor?
    ) throws -> [NearKey] {
        for print in prints where print.model != model.identity {
            throw FeaturePrintError.differentModels(model.identity, print.model)
        }
        let threshold = maxDistance ?? model.matchThreshold(for: prints) ?? .infinity
        let matrix = currentMatrix()
        let last = cursor.map { Neighbor(row: matrix.lastRow(upTo: $0.key), squaredDistance: Float($0.sortKey)) }
        return ExactSearch(matrix.matrix)
            .nearest(toAnyOf: prints.map(\.vector), k: limit, among: try rows(of: matrix, passing: filter), after: last)
            .prefix { Double($0.distance) <= threshold }
            .map { NearKey(key: matrix.key($0.row), squaredDistance: $0.squaredDistance) }
    }
}
