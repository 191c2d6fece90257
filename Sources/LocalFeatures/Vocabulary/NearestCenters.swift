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

    /// The score that another center has to exceed.
    var lowestScore: Float { scores.count == count ? scores[count - 1] : -.infinity }

    /// Inserts a center.
    ///
    /// - Precondition: its score exceeds ``lowestScore``.
    mutating func insert(_ index: Int, _ score: Float) {
        if scores.count == count {
            scores.removeLast()
            indices.removeLast()
        }
        var place = scores.count
        while place > 0, scores[place - 1] < score { place -= 1 }
        scores.insert(score, at: place)
        indices.insert(index, at: place)
    }
}
