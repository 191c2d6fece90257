/// An entity that a search found, with its distance.
public struct CatalogMatch: Sendable, Hashable {
    public let entity: CatalogEntity
    /// The minimum distance between the query's prints and the entity's, 0...2.
    public var distance: Double { Double(squaredDistance.squareRoot()) }

    /// As computed. The ranking and cursors use it, to lose no precision.
    let squaredDistance: Float
    /// The entity's row in the database.
    let key: Int64
}
