/// An entity that a search found.
public struct CatalogMatch: Sendable, Hashable {
    public let entity: CatalogEntity
    /// Between the query's print and the entity's, 0...2.
    public var distance: Double { Double(squaredDistance.squareRoot()) }

    /// As it was computed; ranked by, so that a cursor loses nothing.
    let squaredDistance: Float
    /// The entity's row in the database.
    let key: Int64
}
