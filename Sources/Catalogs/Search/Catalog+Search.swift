import Compute
import FeaturePrints
import Imaging
import VectorSearch

extension Catalog {
    /// The entities that an image shows, nearest first.
    ///
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - maxDistance: how far at most; without one, what the model recommends for this image.
    ///   - regions: which parts of the image are looked at, a forward pass each.
    ///   - filter: which entities take part.
    /// - Returns: an empty array where nothing is near enough.
    public func search(
        matching image: PixelBuffer, limit: Int = 10, maxDistance: Double? = nil,
        regions: QueryRegions = .object, filter: CatalogFilter = CatalogFilter(), timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        let query = try QueryEmbedder(model, regions: regions).embed(image, timings: timings)
        try Task.checkCancellation()
        return try await search(matchingAnyOf: query.prints, limit: limit, maxDistance: maxDistance, filter: filter, timings: timings)
    }

    /// The entities nearest to a print that was made before.
    ///
    /// - Throws: ``FeaturePrintError`` when the print comes from another model.
    public func search(
        matching print: FeaturePrint, limit: Int = 10, maxDistance: Double? = nil,
        filter: CatalogFilter = CatalogFilter(), timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        try await search(matchingAnyOf: [print], limit: limit, maxDistance: maxDistance, filter: filter, timings: timings)
    }

    /// The entities nearest to any of several prints of one thing.
    ///
    /// - Parameter cursor: only what comes after it in the ranking; the next page.
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
            records[found.key].map { CatalogMatch(entity: $0.entity, squaredDistance: found.squaredDistance, key: found.key) }
        }
    }

    /// A found print, before anything is read of the entity that it belongs to.
    package struct NearKey: Sendable {
        package let key: Int64
        package let squaredDistance: Float
    }

    /// The rows of the entities nearest to any of several prints, nearest first.
    package func nearest(
        toAnyOf prints: [FeaturePrint], limit: Int, maxDistance: Double?, filter: CatalogFilter, after cursor: SearchCursor?
    ) throws -> [NearKey] {
        for print in prints where print.model != model.identity {
            throw FeaturePrintError.differentModels(model.identity, print.model)
        }
        let farthest = maxDistance ?? model.recommendedMaxDistance(forQuery: prints) ?? .infinity
        let matrix = currentMatrix()
        let last = cursor.map { Neighbor(row: matrix.lastRow(upTo: $0.key), squaredDistance: Float($0.badness)) }
        return ExactSearch(matrix.matrix)
            .nearest(toAnyOf: prints.map(\.vector), k: limit, among: try rows(of: matrix, passing: filter), after: last)
            .prefix { Double($0.distance) <= farthest }
            .map { NearKey(key: matrix.key($0.row), squaredDistance: $0.squaredDistance) }
    }
}
