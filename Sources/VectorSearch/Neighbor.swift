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

/// The k nearest of a stream of neighbors: a binary heap with the farthest on top.
///
/// Offering a neighbor is O(1) if it is rejected, O(log k) otherwise.
struct TopK: Sendable {
    let capacity: Int
    private var heap: [Neighbor] = []

    init(_ capacity: Int) {
        self.capacity = max(0, capacity)
        heap.reserveCapacity(min(self.capacity, 1024))
    }

    var isFull: Bool { heap.count == capacity }

    /// Neighbors farther than this are rejected; infinite until k were offered.
    @inline(__always)
    var bound: Float { heap.count < capacity ? .infinity : heap.first?.squaredDistance ?? -.infinity }

    @inline(__always)
    mutating func offer(row: Int, squaredDistance: Float) {
        // A tie with the bound can still precede it by its row.
        guard squaredDistance <= bound else { return }
        insert(Neighbor(row: row, squaredDistance: squaredDistance))
    }

    private mutating func insert(_ neighbor: Neighbor) {
        if heap.count < capacity {
            heap.append(neighbor)
            var child = heap.count - 1
            while child > 0 {
                let parent = (child - 1) / 2
                guard heap[parent].precedes(heap[child]) else { break }
                heap.swapAt(parent, child)
                child = parent
            }
        } else if let farthest = heap.first, neighbor.precedes(farthest) {
            heap[0] = neighbor
            var parent = 0
            while true {
                let (left, right) = (2 * parent + 1, 2 * parent + 2)
                var last = parent
                if left < heap.count, heap[last].precedes(heap[left]) { last = left }
                if right < heap.count, heap[last].precedes(heap[right]) { last = right }
                guard last != parent else { break }
                heap.swapAt(parent, last)
                parent = last
            }
        }
    }

    /// The k nearest of all parts, which have the same k.
    init(merging parts: [TopK]) {
        self.init(parts.first?.capacity ?? 0)
        for part in parts {
            for neighbor in part.heap { offer(row: neighbor.row, squaredDistance: neighbor.squaredDistance) }
        }
    }

    /// Nearest first.
    func sorted() -> [Neighbor] { heap.sorted { $0.precedes($1) } }
}
