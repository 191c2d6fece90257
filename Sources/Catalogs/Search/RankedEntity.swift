/// An entity's place in the ranking of a query, before anything is read of the entity.
package struct RankedEntity: Sendable {
    /// The entity's row in the database.
    package let key: Int64
    package let squaredDistance: Float
    /// 0...1.
    package let confidence: Double
    /// Nil if local features did not verify the entity.
    package let verified: VerifiedEntity?
    /// Ascending; see ``Catalog/ranking(of:limit:bounds:filter:after:)``.
    package let sortKey: Double
    /// The distance at which a print alone would be as sure. Negative for an entity that is surer than any print.
    package let effectiveDistance: Double
}
