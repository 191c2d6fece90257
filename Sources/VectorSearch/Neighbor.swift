/// A row of a matrix and its distance to a query.
public struct Neighbor: Sendable, Hashable {
    /// The row's index in the matrix.
    public let row: Int
    /// The squared Euclidean distance.
    public let squaredDistance: Float

    /// A row at a squared distance.
    public init(row: Int, squaredDistance: Float) {
        self.row = row
        self.squaredDistance = squaredDistance
    }

    /// The Euclidean distance.
    public var distance: Float { squaredDistance.squareRoot() }

    /// Nearer first; of two equally near, the earlier row. A total order, so that a ranking does not
    /// depend on the order in which rows are visited.
    func precedes(_ other: Neighbor) -> Bool {
        squaredDistance != other.squaredDistance ? squaredDistance < other.squaredDistance : row < other.row
    }
}
