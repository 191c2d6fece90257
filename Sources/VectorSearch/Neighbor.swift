/// A row of a matrix and its distance to a query.
public struct Neighbor: Sendable, Hashable {
    /// Counted from 0 in the matrix's order.
    public let row: Int
    /// Squared Euclidean.
    public let squaredDistance: Float

    public init(row: Int, squaredDistance: Float) {
        self.row = row
        self.squaredDistance = squaredDistance
    }

    /// Euclidean.
    public var distance: Float { squaredDistance.squareRoot() }

    /// Nearer first; of two equally near, the earlier row. A total order, so that a ranking does not
    /// depend on the order in which rows were looked at.
    func precedes(_ other: Neighbor) -> Bool {
        squaredDistance != other.squaredDistance ? squaredDistance < other.squaredDistance : row < other.row
    }
}
