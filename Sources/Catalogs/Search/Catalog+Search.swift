import Compute
import FeaturePrints
import Foundation
import GRDB
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
        let query = try await query(for: image, effort: effort, crops: crops, filter: filter, timings: timings)
        return try await search(query, limit: limit, bounds: bounds, filter: filter, timings: timings)
    }

    /// The entities that each of many images shows, in the order of the images.
    ///
    /// Images are searched side by side, one thread per image, and share passes over the prints.
    ///
    /// - Throws: the first error of any of the searches; the others are cancelled.
    public func search(
        matching images: [PixelBuffer], limit: Int = 10, bounds: MatchBounds = .accepted,
        effort: SearchEffort = .standard, crops: QueryCrops? = nil, filter: CatalogFilter = CatalogFilter(),
        timings: StageTimings? = nil
    ) async throws -> [[CatalogMatch]] {
        try await withThrowingTaskGroup(of: (Int, [CatalogMatch]).self) { group in
            var results = [[CatalogMatch]](repeating: [], count: images.count)
            for index in images.indices {
                // What a search keeps of an image takes a few megabytes.
                if index >= Self.searchesSideBySide, let (done, matches) = try await group.next() {
                    results[done] = matches
                }
                group.addTask {
                    let matches = try await self.search(
                        matching: images[index], limit: limit, bounds: bounds, effort: effort, crops: crops,
                        filter: filter, timings: timings)
                    return (index, matches)
                }
            }
            for try await (done, matches) in group { results[done] = matches }
            return results
        }
    }

    private static let searchesSideBySide = 64

    /// The print of an entity, as it was indexed: to compare it, or to search with it.
    ///
    /// - Throws: ``CatalogError``, with the reason `unknownEntities` for an unknown id; and `CancellationError`.
    public func print(for id: String) async throws -> FeaturePrint { try await storedPrint(of: id).print }

    private func storedPrint(of id: String) async throws -> (key: Int64, print: FeaturePrint) {
        try await reading {
            let found = try folder.mappingErrors {
                try database.reader.read { db -> (key: Int64, print: Data)? in
                    let request: SQLRequest<Row> =
                        "SELECT print.row, print.vector FROM print JOIN entity USING (row) WHERE entity.id = \(id)"
                    return try request.fetchOne(db).map { try ($0.decode(atIndex: 0), $0.decode(atIndex: 1)) }
                }
            }
            guard let found else { throw folder.error(.unknownEntities([id])) }
            guard let vector = PrintBlob.vector(found.print, dimension: model.dimension) else {
                throw folder.error(.damaged("the print of “\(id)” is not \(model.dimension) finite floats"))
            }
            return (found.key, FeaturePrint(vector: vector, model: model.identity))
        }
    }

    /// More like this: the entities whose prints are nearest to that of an entity, nearest first, without the entity
    /// itself.
    ///
    /// ```swift
    /// let similar = try await catalog.search(similarTo: "slow-meridian", limit: 5)
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the maximum number of matches.
    ///   - bounds: which entities count as matches; all by default, since what resembles an entity is not that entity.
    ///   - filter: the entities to search.
    /// - Throws: ``CatalogError``, with the reason `unknownEntities` for an unknown id; and `CancellationError`.
    /// - Complexity: O(entities · dimension).
    public func search(
        similarTo id: String, limit: Int = 10, bounds: MatchBounds = .none, filter: CatalogFilter = CatalogFilter(),
        timings: StageTimings? = nil
    ) async throws -> [CatalogMatch] {
        let (key, print) = try await storedPrint(of: id)
        let query = try query(for: [print])
        let start = ContinuousClock.now
        defer { timings?.add(ContinuousClock.now - start, to: .search) }
        return try await matches(
            of: query, limit: limit, bounds: bounds, filter: filter, after: nil, excluding: [key])
    }

    /// A query of prints that were made before, for pages and facets.
    ///
    /// - Throws: `FeaturePrintError` if a print cannot be the catalog's model's: see `FeaturePrintModel.check(_:)`.
    public func query(for prints: [FeaturePrint]) throws(FeaturePrintError) -> CatalogQuery {
        for print in prints { try model.check(print) }
        return CatalogQuery(prints: prints, matchThreshold: model.matchThreshold(for: prints))
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
        let query = try query(for: prints)
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
        return try await matches(of: query, limit: limit, bounds: bounds, filter: filter, after: cursor)
    }

    /// The first matches of a ranking, or of what follows a cursor in it: fewer than the limit only at its end.
    func matches(
        of query: CatalogQuery, limit: Int, bounds: MatchBounds, filter: CatalogFilter, after cursor: SearchCursor?,
        excluding excluded: Set<Int64> = []
    ) async throws -> [CatalogMatch] {
        var (found, cursor) = ([CatalogMatch](), cursor)
        while true {
            let count = limit - found.count
            let ranked = try await joinedRanking(
                of: query, limit: count, bounds: bounds, filter: filter, after: cursor, excluding: excluded)
            found += try await matches(ranked)
            // Fewer than the ranking has, if some were removed since the matrix was made.
            guard found.count < limit, ranked.count == count, let last = ranked.last else { return found }
            cursor = SearchCursor(sortKey: last.sortKey, key: last.key)
        }
    }

    private func matches(_ ranked: [RankedEntity]) async throws -> [CatalogMatch] {
        guard !ranked.isEmpty else { return [] }
        let records = try await reading { try self.records(for: ranked.map(\.key)) }
        // An entity that was removed since the matrix was made is left out.
        return ranked.compactMap { place in
            records[place.key].map { CatalogMatch(entity: $0.entity, place: place) }
        }
    }
}
