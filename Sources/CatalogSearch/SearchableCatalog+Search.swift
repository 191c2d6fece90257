import CatalogEntities
package import Compute
public import FeaturePrints
import Foundation
public import Imaging
import LocalFeatures

extension SearchableCatalog {
    /// The entities that an image shows, surest first. An image may show several.
    ///
    /// - Returns: an empty array if no entity is within the bounds.
    /// - Throws: ``CatalogError``, `ModelError` if the image cannot be embedded, ``SearchOptionsError``, and
    ///   `CancellationError`.
    /// - Complexity: see ``query(for:options:)-(PixelBuffer,_)``.
    public func search(
        matching image: PixelBuffer, options: SearchOptions = SearchOptions()
    ) async throws -> [CatalogMatch] {
        try await search(try await query(for: image, options: options), options: options)
    }

    /// The entities that an image shows, as far as they are found within a time.
    ///
    /// ```swift
    /// let (matches, isComplete) = try await catalog.search(matching: photo, within: .milliseconds(100))
    /// ```
    ///
    /// - Parameter budget: the time from the call on; see ``TimeBudget``.
    /// - Returns: the matches, surest first, and whether the search was complete.
    /// - Throws: what `search(matching:options:)` throws.
    public func search(
        matching image: PixelBuffer, within budget: Duration, options: SearchOptions = SearchOptions()
    ) async throws -> (matches: [CatalogMatch], isComplete: Bool) {
        var options = options
        options.budget = TimeBudget(budget)
        let query = try await query(for: image, options: options)
        return (try await search(query, options: options), query.isComplete)
    }

    /// The entities that each of many images shows, in the order of the images.
    ///
    /// Images are searched side by side, one thread per image, and share passes over the prints.
    ///
    /// - Throws: the first error of any of the searches; the others are cancelled.
    public func search(
        matching images: [PixelBuffer], options: SearchOptions = SearchOptions()
    ) async throws -> [[CatalogMatch]] {
        try await withThrowingTaskGroup(of: (Int, [CatalogMatch]).self) { group in
            var results = [[CatalogMatch]](repeating: [], count: images.count)
            for index in images.indices {
                // What a search keeps of an image takes a few megabytes.
                if index >= Self.searchesSideBySide, let (done, matches) = try await group.next() {
                    results[done] = matches
                }
                group.addTask { (index, try await self.search(matching: images[index], options: options)) }
            }
            for try await (done, matches) in group { results[done] = matches }
            return results
        }
    }

    private static var searchesSideBySide: Int { 64 }

    /// The entities that a query shows, surest first, or a page of them.
    ///
    /// - Parameter options: effort and crops were those of the query.
    /// - Throws: `FeaturePrintError` if the query was embedded with another model; ``CatalogError``;
    ///   ``SearchOptionsError``; and `CancellationError`.
    /// - Complexity: O(entities · dimension).
    public func search(
        _ query: CatalogQuery, options: SearchOptions = SearchOptions()
    ) async throws -> [CatalogMatch] {
        try options.check()
        let start = ContinuousClock.now
        defer { options.timings?.add(ContinuousClock.now - start, to: .search) }
        var (found, cursor) = ([CatalogMatch](), options.cursor)
        while true {
            let count = options.limit - found.count
            let ranked = try await ranking(
                of: query, limit: count, bounds: options.bounds, condition: options.condition, after: cursor,
                recall: options.recall)
            found += try await matches(ranked)
            // Fewer than the ranking has, if some were removed since the matrix was made.
            guard found.count < options.limit, ranked.count == count, let last = ranked.last else { return found }
            cursor = SearchCursor(sortKey: last.sortKey, key: last.key)
        }
    }

    /// The entities that resemble what a query shows most: of the same kind, where nothing is the same.
    ///
    /// Ranked by the distance of the prints alone, whatever their confidence.
    ///
    /// ```swift
    /// let query = try await catalog.query(for: photo)
    /// let matches = try await catalog.search(query)
    /// let similar = try await catalog.similar(to: query, besides: matches, options: SearchOptions(limit: 5))
    /// ```
    ///
    /// - Parameters:
    ///   - matches: entities to leave out, which are shown as matches already.
    ///   - options: the limit, the condition and the timings count here.
    /// - Throws: what ``search(_:options:)`` throws.
    /// - Complexity: O(entities · dimension).
    public func similar(
        to query: CatalogQuery, besides matches: [CatalogMatch] = [], options: SearchOptions = SearchOptions()
    ) async throws -> [CatalogMatch] {
        var options = options
        (options.bounds, options.cursor) = (.none, nil)
        return try await search(query.resembling(besides: Set(matches.map(\.key))), options: options)
    }

    private func matches(_ ranked: [RankedEntity]) async throws -> [CatalogMatch] {
        guard !ranked.isEmpty else { return [] }
        let entities = try await computing { try await state().entities(for: ranked.map(\.key)) }
        // An entity that was removed since the matrix was made is left out.
        return ranked.compactMap { place in
            entities[place.key].map { CatalogMatch(entity: $0.entity, place: place) }
        }
    }

    /// The pages of a query's ranking, read as they are asked for.
    ///
    /// ```swift
    /// let query = try await catalog.query(for: photo)
    /// for try await page in catalog.pages(of: query, options: SearchOptions(limit: 20)) { show(page) }
    /// ```
    ///
    /// Pages neither repeat nor skip entities while the catalog changes; see ``SearchCursor``.
    /// - Parameter options: the limit is that of a page; the first page follows the cursor.
    /// - Precondition: the limit is positive.
    public func pages(of query: CatalogQuery, options: SearchOptions = SearchOptions()) -> MatchPages {
        require(options.limit > 0, "a page of \(options.limit) matches")
        return MatchPages(catalog: self, query: query, options: options)
    }

    /// Whether the ranking of a query has all that its effort asks for.
    ///
    /// It has not if a ``TimeBudget`` was spent, or if images were added, changed or removed since the query was
    /// verified: entities that came later are ranked by their prints alone, and are missing if only their local
    /// features would find them. Make the query again then.
    ///
    /// - Throws: ``CatalogError``.
    /// - Complexity: O(1).
    public func isComplete(_ query: CatalogQuery) throws -> Bool { query.isComplete(in: try state()) }

    // MARK: Queries

    /// Embeds an image, finds candidates by prints and local features, and verifies them: all of a search that reads
    /// the pixels. Pages of the ranking follow from the result.
    ///
    /// - Parameter options: the effort, the crops, the condition and the timings count here.
    /// - Throws: ``CatalogError``, `ModelError` if the image cannot be embedded, ``SearchOptionsError``, and
    ///   `CancellationError`.
    /// - Complexity: O(crops · entities · dimension + entities with common visual words), besides forward passes and
    ///   the extraction of features.
    public func query(
        for image: PixelBuffer, options: SearchOptions = SearchOptions()
    ) async throws -> CatalogQuery {
        try options.check()
        return try await scans.countingSearch {
            try await executor.compute { cancellation in
                let analyzed = try analyze(image, options: options, cancellation: cancellation)
                return try await query(for: analyzed, options: options, cancellation: cancellation)
            }
        }
    }

    /// A query of prints that were made before. An entity's distance is the minimum over them and its images.
    ///
    /// - Parameter options: the condition, the recall, the codes, the texts and the timings count here.
    /// - Throws: `FeaturePrintError` if a print cannot be the catalog's model's: see `FeaturePrintModel.check(_:)`;
    ///   ``CatalogError``, ``SearchOptionsError``, and `CancellationError`.
    /// - Complexity: O(entities · dimension).
    public func query(
        for prints: [FeaturePrint], options: SearchOptions = SearchOptions()
    ) async throws -> CatalogQuery {
        try options.check()
        for print in prints { try model.check(print) }
        guard !prints.isEmpty else {
            return CatalogQuery(
                prints: [], matchThreshold: model.matchThreshold(for: []), coefficients: model.confidence)
        }
        return try await scans.countingSearch {
            try await executor.compute { cancellation in
                try await SearchRun.query(
                    for: prints, in: state(), model: model, options: options, cancellation: cancellation)
            }
        }
    }

    /// Computes all of an image that no catalog is needed for.
    package func analyze(
        _ image: PixelBuffer, options: SearchOptions, cancellation: Cancellation
    ) throws -> AnalyzedImage {
        let effort = options.effort
        let original = image.overContrastingGround()
        let isVerified = hasLocalFeatures && effort != .prints
        let image = isVerified ? reduced(original, longSide: LocalFeatureExtractor.Detail.fineQuery.longSide) : original
        let overview =
            isVerified
            ? reduced(image, longSide: Self.overviewSide)
            : options.crops == nil ? QueryEmbedder.overview(of: original, for: model) : original
        let cropsInDoubt = isVerified ? QueryCrops(centerFractions: [1, 0.72], localizedCrops: 1) : .localized
        // Without a threshold no print is sure.
        let canBeSure = isVerified || model.matchThreshold != nil
        let crops = options.crops ?? (canBeSure ? .whole : cropsInDoubt)
        let embedded = try QueryEmbedder(model, crops: crops).embed(
            image, overview: overview, timings: options.timings, cancellation: cancellation)
        try cancellation.check()
        let hasTime = effort == .prints || extractor == nil || options.budget?.isSpent != true
        let features =
            effort == .prints || !hasTime
            ? nil
            : extractor.map { extractor in
                measured(options.timings, .features) {
                    LocalFeatureQuery(
                        extractor.queryFeatures(of: overview, detail: .query, cancellation: cancellation),
                        model: extractor.model)
                }
            }
        try cancellation.check()
        return AnalyzedImage(
            original: original, image: image, overview: overview, embedded: embedded,
            cropsInDoubt: options.crops == nil && canBeSure ? cropsInDoubt : nil, features: features,
            isComplete: hasTime)
    }

    /// An image that is reduced for all stages but the finest keypoints has at least this long side: half as much again
    /// as the plane of a query's keypoints.
    private static var overviewSide: Int { 3 * LocalFeatureExtractor.Detail.query.longSide / 2 }

    /// A large image, reduced once for several stages: it keeps the given long side, and two pixels for each of the
    /// network's input, however narrow it is.
    private func reduced(_ image: PixelBuffer, longSide: Int) -> PixelBuffer {
        let inputSide = max(model.neededSize.width, model.neededSize.height)
        let largest = min(
            max(image.width, image.height) / longSide, min(image.width, image.height) / (2 * inputSide), 16)
        // Squares of 2 pixels, and of multiples of 4, are summed by whole vectors.
        let factor = largest < 4 ? min(largest, 2) : largest / 4 * 4
        return factor > 1 ? BoxReducer(factor: factor).reduce(image) : image
    }

    /// Finds and verifies candidates.
    ///
    /// - Parameter excluded: entities that are treated as if the catalog did not have them.
    package func query(
        for analyzed: AnalyzedImage, options: SearchOptions, excluding excluded: Set<Int64> = [],
        cancellation: Cancellation
    ) async throws -> CatalogQuery {
        try await SearchRun.query(
            for: analyzed, in: state(), model: model, extractor: extractor, options: options, excluding: excluded,
            cancellation: cancellation)
    }
}

/// An image with everything that is computed of it before a catalog is read.
package struct AnalyzedImage: Sendable {
    let original: PixelBuffer
    /// The image, reduced to what the finest keypoints need.
    let image: PixelBuffer
    /// The image, reduced to what all other stages need.
    let overview: PixelBuffer
    let embedded: EmbeddedQuery
    /// The crops to embed if these find little; nil for no others.
    let cropsInDoubt: QueryCrops?
    let features: LocalFeatureQuery?
    /// Whether there was time for the features.
    let isComplete: Bool
}

/// The pages of a ranking. None is empty; the sequence ends with the ranking.
///
/// Iterating throws what ``SearchableCatalog/search(_:options:)`` throws. O(entities · dimension) per page.
public struct MatchPages: AsyncSequence, Sendable {
    public typealias Element = [CatalogMatch]
    public typealias Failure = any Error

    let catalog: any SearchableCatalog
    let query: CatalogQuery
    let options: SearchOptions

    /// Reads a page per element.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let catalog: any SearchableCatalog
        private let query: CatalogQuery
        private var options: SearchOptions
        private var isAtEnd = false

        init(_ pages: MatchPages) { (catalog, query, options) = (pages.catalog, pages.query, pages.options) }

        /// The next page; nil at the end of the ranking.
        public mutating func next() async throws -> [CatalogMatch]? {
            guard !isAtEnd else { return nil }
            let page = try await catalog.search(query, options: options)
            isAtEnd = page.count < options.limit
            options.cursor = page.last.map { SearchCursor(after: $0) }
            return page.isEmpty ? nil : page
        }
    }

    /// Starts at the first page.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
