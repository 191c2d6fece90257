import Catalogs

/// A page of a ranking.
public struct SearchPage<Entity: Sendable>: Sendable {
    /// An entity with its score.
    public struct Result: Sendable {
        /// The entity, decoded to the app's type.
        public let entity: Entity
        /// 0...1, larger is better; see ``SearchQuery``.
        public let score: Double
        /// The minimum distance between the query's prints and the entity's; nil if only labels found it.
        public let distance: Double?

        init(entity: Entity, place: RankedKey) {
            self.entity = entity
            score = place.score
            distance = place.distance
        }
    }

    /// Best first.
    public let results: [Result]
    /// The start of the next page; nil for the last page.
    public let next: SearchCursor?

    /// The entities of the page, best first.
    public var entities: [Entity] { results.map(\.entity) }
}
