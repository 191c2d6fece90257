import Catalogs

/// A part of a ranking.
public struct SearchPage<Entity: Sendable>: Sendable {
    public struct Result: Sendable {
        public let entity: Entity
        /// 0...1, larger is better; what it is made of: ``SearchQuery``.
        public let score: Double
        /// Between the query's prints and the entity's; nil where the labels alone found it.
        public let distance: Double?

        init(entity: Entity, place: RankedKey) {
            self.entity = entity
            score = place.score
            distance = place.distance
        }
    }

    /// Best first.
    public let results: [Result]
    /// Where the next page begins; nil after the last one.
    public let next: SearchCursor?

    public var entities: [Entity] { results.map(\.entity) }
}
