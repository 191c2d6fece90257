import Foundation

/// When a search of an inverted file stops to look at lists, for a share of the neighbors.
///
/// Lists come by their distance from the query. A search stops at a list whose squared distance exceeds a reference by
/// more than a limit: that of the nearest list, or that of the last neighbor found so far. Which of the two looks at
/// fewer lists depends on the rows, and is measured when the index is made. So easy queries look at few lists: of real
/// prints, at half as many on average as if their number were fixed.
package struct ListLimits {
    /// Whether the reference is the distance of the nearest list.
    package let isFromNearest: Bool
    /// How much the squared distance of a list may exceed the reference.
    package let excess: Float
    /// The lists that a query looks at on average; 1... .
    package let mean: Int
    /// The maximum number of lists, so that a query that is near no list ends.
    package let most: Int

    /// The numbers of neighbors that lists were measured for.
    private static let neighborCounts = [10, 100]
    static let mostNeighbors = 100
    /// The shares of these neighbors.
    private static let shares = [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999]
    /// The share that decides about the reference, and its neighbors.
    private static let decidingPlace = 6

    /// The maximum number of lists is this many times the one that would have the share if it were fixed.
    private static let mostFactor = 1.5
    /// Stands for any number of lists, at any distance.
    private static let unlimited: Float = 1e12

    /// The reference, and for each of ``neighborCounts`` and ``shares`` the excess and the logarithms of the mean and
    /// the maximum number of lists.
    package static let numberCount = 1 + 3 * neighborCounts.count * shares.count

    /// - Parameter share: the share of the `k` neighbors that the lists shall hold, 0...1.
    package init(_ numbers: UnsafeBufferPointer<UInt32>, share: Double, k: Int, listCount: Int) {
        isFromNearest = numbers[0] == 1
        guard share < 1 else {
            (excess, mean, most) = (.infinity, listCount, listCount)
            return
        }
        func value(_ kind: Int) -> Double {
            let size = Self.shares.count
            let perCount = Self.neighborCounts.indices.map { index in
                Self.interpolated(
                    (0..<size).map { place in
                        Double(Float(bitPattern: numbers[1 + 3 * (index * size + place) + kind]))
                    }, share: share)
            }
            // More neighbors are farther away; fewer than were measured take as many lists.
            let (few, many) = (Double(Self.neighborCounts[0]), Double(Self.neighborCounts[1]))
            let part = max(0, log2(max(Double(k), 1) / few) / log2(many / few))
            return perCount[0] + max(0, perCount[1] - perCount[0]) * part
        }
        excess = Float(value(0))
        func lists(_ logarithm: Double) -> Int { Int(min(max(exp(logarithm).rounded(.up), 1), Double(listCount))) }
        most = lists(value(2))
        mean = min(lists(value(1)), most)
    }

    /// Linear in the logarithm of what is missed; beyond what was measured, along the last part.
    private static func interpolated(_ values: [Double], share: Double) -> Double {
        let missed = shares.map { log2(1 - $0) }
        let end = max(1, shares.firstIndex { $0 >= share } ?? shares.count - 1)
        let slope = (values[end] - values[end - 1]) / (missed[end] - missed[end - 1])
        return values[end] + slope * (log2(1 - max(share, shares[0])) - missed[end])
    }
}

extension ListLimits {
    /// What was measured of a query.
    package struct Measured {
        /// The squared distances of all lists, ascending.
        package let lists: [Float]
        /// The squared distances of the nearest neighbors, ascending.
        package let neighbors: [Float]
        /// The ranks of the neighbors' lists.
        package let ranks: [Int]

        package init(lists: [Float], neighbors: [Float], ranks: [Int]) {
            (self.lists, self.neighbors, self.ranks) = (lists, neighbors, ranks)
        }

        func reference(fromNearest: Bool, count: Int) -> Float {
            (fromNearest ? lists.first : neighbors.prefix(count).last) ?? 0
        }
    }

    /// The numbers that the initializer reads.
    package static func numbers(of queries: [Measured]) -> [UInt32] {
        let both = [false, true].map { fromNearest in
            neighborCounts.flatMap { count in limits(of: queries, fromNearest: fromNearest, count: count) }
        }
        let isFromNearest = both[1][decidingPlace].mean < both[0][decidingPlace].mean
        return [isFromNearest ? 1 : 0]
            + both[isFromNearest ? 1 : 0].flatMap { [$0.excess, log($0.mean), log($0.most)].map(\.bitPattern) }
    }

    private static func limits(
        of queries: [Measured], fromNearest: Bool, count: Int
    ) -> [(excess: Float, mean: Float, most: Float)] {
        let places = queries.flatMap { query in
            let reference = query.reference(fromNearest: fromNearest, count: count)
            return query.ranks.prefix(count).map { (excess: query.lists[$0] - reference, rank: $0) }
        }.sorted { $0.excess < $1.excess }
        let ranks = places.map(\.rank).sorted()
        // Too few rows to measure anything: all lists.
        guard !ranks.isEmpty else { return shares.map { _ in (Self.unlimited, Self.unlimited, Self.unlimited) } }
        return shares.map { share in
            let wanted = min(ranks.count - 1, Int(share * Double(ranks.count)))
            let most = Int((Double(ranks[wanted] + 1) * mostFactor).rounded(.up))
            // The share has to lie within both limits.
            var within = -1
            let excess =
                places.first { place in
                    within += place.rank < most ? 1 : 0
                    return within >= wanted
                }?.excess ?? unlimited
            let looked = queries.reduce(0) { sum, query in
                let limit = query.reference(fromNearest: fromNearest, count: count) + excess
                // Ascending, so the lists within the limit are the first.
                var (low, high) = (0, query.lists.count)
                while low < high {
                    let middle = (low + high) / 2
                    if query.lists[middle] <= limit { low = middle + 1 } else { high = middle }
                }
                return sum + min(max(low, 1), most)
            }
            return (excess, Float(looked) / Float(queries.count), Float(most))
        }
    }
}
