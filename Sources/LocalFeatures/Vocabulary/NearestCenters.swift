/// The few best of many scored centers, best first.
struct NearestCenters {
    private let count: Int
    private(set) var indices: [Int] = []
    private var scores: [Float] = []

    init(count: Int) {
        self.count = count
        indices.reserveCapacity(count)
        scores.reserveCapacity(count)
    }

    mutating func removeAll() {
        indices.removeAll(keepingCapacity: true)
        scores.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    mutating func offer(_ index: Int, _ score: Float) {
        if scores.count == count {
            guard score > scores[count - 1] else { return }
            scores.removeLast()
            indices.removeLast()
        }
        var place = scores.count
        while place > 0, scores[place - 1] < score { place -= 1 }
        scores.insert(score, at: place)
        indices.insert(index, at: place)
    }
}
