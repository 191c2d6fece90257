import Catalogs
public import Imaging

/// A page of a ranking.
public struct SearchPage<Entity: Sendable>: Sendable {
    /// An entity with its score.
    public struct Result: Sendable {
        /// The entity, decoded to the app's type.
        public let entity: Entity
        /// The score of the match, 0...1, larger is better; see ``SearchQuery``.
        public let score: Double
        /// The minimum distance between the query's prints and the entity's; nil if only labels found it.
        public let distance: Double?
        /// The probability that the pixels show the entity, 0...1, as `CatalogMatch.confidence` has it; nil if only
        /// labels found it.
        public let confidence: Double?
        /// Where the pixels show the entity's image, as fractions of the sides, clockwise from the image's own top
        /// left; counterclockwise if they show it mirrored. Nil if local features did not verify the match.
        public let outline: Quadrilateral?
        /// Whether the pixels show the image as in a mirror.
        public let isMirrored: Bool

        init(entity: Entity, place: RankedKey) {
            self.entity = entity
            score = place.score
            distance = place.distance
            confidence = place.match?.confidence
            outline = place.match?.outline
            isMirrored = place.match?.isMirrored ?? false
        }
    }

    /// The entities with their scores, best first.
    public let results: [Result]
    /// The start of the next page; nil for the last page.
    public let next: SearchCursor?

    /// The entities of the page, best first.
    public var entities: [Entity] { results.map(\.entity) }
}

/// The pages of a ranking, in order.
public struct SearchPages<Entity: Sendable>: AsyncSequence, Sendable {
    private let page: @Sendable (SearchCursor?) async throws -> SearchPage<Entity>

    init(page: @escaping @Sendable (SearchCursor?) async throws -> SearchPage<Entity>) { self.page = page }

    public func makeAsyncIterator() -> Iterator { Iterator(page: page) }

    /// Reads one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let page: @Sendable (SearchCursor?) async throws -> SearchPage<Entity>
        private var cursor: SearchCursor?
        private var isAtEnd = false

        init(page: @escaping @Sendable (SearchCursor?) async throws -> SearchPage<Entity>) { self.page = page }

        public mutating func next() async throws -> SearchPage<Entity>? {
            // Entities that cannot be decoded are left out, and may leave a page without any.
            while !isAtEnd {
                let found = try await page(cursor)
                cursor = found.next
                isAtEnd = cursor == nil
                if !found.results.isEmpty { return found }
            }
            return nil
        }
    }
}
