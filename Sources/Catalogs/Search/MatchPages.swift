extension Catalog {
    /// The pages of a query's ranking, read as they are asked for.
    ///
    /// ```swift
    /// let query = try await catalog.query(for: photo)
    /// for try await page in catalog.pages(of: query, count: 20) { show(page) }
    /// ```
    ///
    /// Pages neither repeat nor skip entities while the catalog changes; see ``SearchCursor``.
    /// - Parameters:
    ///   - count: the maximum number of matches on a page.
    ///   - bounds: which entities count as matches.
    ///   - filter: the entities to search.
    ///   - cursor: starts after this place in the ranking; at its beginning by default.
    /// - Precondition: `count` is positive.
    public func pages(
        of query: CatalogQuery, count: Int = 20, bounds: MatchBounds = .accepted,
        filter: CatalogFilter = CatalogFilter(), after cursor: SearchCursor? = nil
    ) -> MatchPages {
        precondition(count > 0, "a page of \(count) matches")
        return MatchPages(catalog: self, query: query, count: count, bounds: bounds, filter: filter, start: cursor)
    }
}

/// The pages of a ranking. None is empty; the sequence ends with the ranking.
///
/// Iterating throws what ``Catalog/search(_:limit:bounds:filter:after:timings:)`` throws. O(entities · dimension) per
/// page.
public struct MatchPages: AsyncSequence, Sendable {
    public typealias Element = [CatalogMatch]
    public typealias Failure = any Error

    let catalog: Catalog
    let query: CatalogQuery
    let count: Int
    let bounds: MatchBounds
    let filter: CatalogFilter
    let start: SearchCursor?

    /// Reads a page per element.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let pages: MatchPages
        private var cursor: SearchCursor?
        private var isAtEnd = false

        init(_ pages: MatchPages) {
            self.pages = pages
            cursor = pages.start
        }

        /// The next page; nil at the end of the ranking.
        public mutating func next() async throws -> [CatalogMatch]? {
            guard !isAtEnd else { return nil }
            let page = try await pages.catalog.matches(
                of: pages.query, limit: pages.count, bounds: pages.bounds, filter: pages.filter, after: cursor)
            isAtEnd = page.count < pages.count
            cursor = page.last.map { SearchCursor(after: $0) }
            return page.isEmpty ? nil : page
        }
    }

    /// From the first page on.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
