import Foundation

/// When a search of an inverted file stops to look at lists, for a share of the neighbors.
///
/// Lists come by their distance from the query. A search stops at a list whose squared distance exceeds that of the
/// last neighbor found so far by more than an excess. It depends on the distance of that neighbor: queries that are
/// near no row have neighbors in lists that are hardly nearer than others. It is measured when the index is made, with
/// queries near to and far from rows, in tables for some numbers of nearest rows, and in one for rows at any distance,
/// which a search with a filter or for more neighbors may have to find.
package struct ListLimits {
    /// The lists that a query near a row looks at on average; 1... .
    package let mean: Int
    /// The tables of the measured numbers of neighbors next to that of the search; none for all neighbors. The larger
    /// excess of two counts: rows come in groups, and where the 100th nearest row is in another group than the 32nd,
    /// their mean is too small for the rows between them.
    private let tables: [[Bin]]

    private struct Bin {
        let squaredDistance: Float
        let excess: Float
    }

    /// The numbers of neighbors that lists were measured for. 32 are those of a catalog's search.
    private static let neighborCounts = [10, 32, 100]
    /// A search for fewer neighbors looks for this many: the excess holds beside the last of them.
    static let fewestNeighbors = neighborCounts[0]
    /// More neighbors are rows at any distance.
    static let mostNeighbors = neighborCounts[neighborCounts.count - 1]
    /// The shares of these neighbors.
    private static let shares = [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999]
    private static let binCount = 16
    /// Fewer say nothing of the highest shares.
    private static let fewestPairs = 1000
    /// Stands for any number of lists, at any distance.
    private static let unlimited: Float = 1e12

    /// The logarithms of ``mean`` for each of ``neighborCounts`` and ``shares``; then for each table, those of
    /// ``neighborCounts`` first, and each of its bins: the squared distance, and the excess for each of the shares.
    package static let numberCount =
        neighborCounts.count * shares.count + (neighborCounts.count + 1) * binCount * (1 + shares.count)

    /// - Parameters:
    ///   - share: the share of the neighbors that the lists shall hold, 0...1.
    ///   - k: the number of neighbors.
    ///   - isOfNearest: whether the neighbors are the nearest of all rows. Otherwise they may be at any distance.
    package init(
        _ numbers: UnsafeBufferPointer<UInt32>, share: Double, k: Int, isOfNearest: Bool = true, listCount: Int
    ) {
        let values = numbers.map { Double(Float(bitPattern: $0)) }
        // Fewer neighbors than were measured take as many lists; more, those of a line through what was measured.
        let counts = Self.neighborCounts
        let k = max(k, counts[0])
        let next = max(1, counts.firstIndex { $0 >= k } ?? counts.count - 1)
        let part = log(Double(k) / Double(counts[next - 1])) / log(Double(counts[next]) / Double(counts[next - 1]))
        let means = [next - 1, next].map {
            Self.interpolated(values[($0 * Self.shares.count)...].prefix(Self.shares.count), share: share)
        }
        mean =
            share < 1
            ? Int(min(max(exp(means[0] + max(0, means[1] - means[0]) * part).rounded(.up), 1), Double(listCount)))
            : listCount
        guard share < 1 else {
            tables = []
            return
        }
        func table(_ index: Int) -> [Bin] {
            let bins = values.dropFirst(
                counts.count * Self.shares.count + index * Self.binCount * Self.numbersPerBin)
            return (0..<Self.binCount).map { bin in
                let numbers = bins.dropFirst(bin * Self.numbersPerBin).prefix(Self.numbersPerBin)
                return Bin(
                    squaredDistance: Float(numbers.first ?? 0),
                    excess: Float(Self.interpolated(numbers.dropFirst(), share: share)))
            }
        }
        if isOfNearest {
            tables = part <= 0 ? [table(next - 1)] : part < 1 ? [table(next - 1), table(next)] : [table(next)]
        } else {
            tables = [table(counts.count)]
        }
    }

    private static let numbersPerBin = 1 + shares.count

    /// How much the squared distance of a list may exceed that of the last neighbor.
    package func excess(beyond squaredDistance: Float) -> Float {
        tables.map { Self.excess($0, at: squaredDistance) }.max() ?? .infinity
    }

    /// Linear between the bins; that of the first or the last outside of them.
    private static func excess(_ bins: [Bin], at distance: Float) -> Float {
        guard let next = bins.firstIndex(where: { $0.squaredDistance > distance }) else {
            return bins.last?.excess ?? unlimited
        }
        guard next > 0 else { return bins[0].excess }
        let (low, high) = (bins[next - 1], bins[next])
        let part = (distance - low.squaredDistance) / (high.squaredDistance - low.squaredDistance)
        return low.excess + part * (high.excess - low.excess)
    }

    /// Linear in the logarithm of what is missed; beyond what was measured, along the last part.
    private static func interpolated(_ values: ArraySlice<Double>, share: Double) -> Double {
        let values = Array(values)
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
        /// The squared distances of the nearest neighbors, ascending, and those of their lists.
        package let neighbors: [Pair]
        /// The same of rows at any distance.
        package let others: [Pair]
        /// Whether it counts for the mean.
        package let isNear: Bool

        package init(lists: [Float], neighbors: [Pair], others: [Pair], isNear: Bool) {
            (self.lists, self.neighbors, self.others, self.isNear) = (lists, neighbors, others, isNear)
        }
    }

    /// The squared distances of a row and of its list from a query.
    package typealias Pair = (row: Float, list: Float)

    /// The numbers that the initializer reads.
    package static func numbers(of queries: [Measured]) -> [UInt32] {
        let nearest = neighborCounts.map { count in
            bins(
                of: queries.flatMap { query in
                    let neighbors = query.neighbors.prefix(count)
                    return neighbors.map { (neighbors.last?.row ?? 0, $0.list) }
                })
        }
        let near = queries.filter(\.isNear)
        let means = zip(neighborCounts, nearest).flatMap { count, bins in
            shares.indices.map { share -> Float in
                if near.isEmpty { return unlimited }
                let table = bins.map { Bin(squaredDistance: $0[0], excess: $0[1 + share]) }
                let looked = near.reduce(0) { (sum: Int, query: Measured) -> Int in
                    let last = query.neighbors.prefix(count).last?.row ?? 0
                    return sum + max(1, query.lists.count(upTo: last + excess(table, at: last)))
                }
                return log(Float(looked) / Float(near.count))
            }
        }
        let anywhere = bins(of: queries.flatMap { $0.neighbors + $0.others })
        return (means + (nearest + [anywhere]).joined().joined()).map(\.bitPattern)
    }

    /// Pairs of about the same distance together: their mean distance, and how much farther the lists of each share of
    /// them are. Bins that are not needed repeat the last.
    private static func bins(of pairs: [Pair]) -> [[Float]] {
        let pairs = pairs.sorted { ($0.row, $0.list) < ($1.row, $1.list) }
        let size = max(fewestPairs, (pairs.count + binCount - 1) / binCount)
        var ends = [0]
        for end in pairs.indices
        where end - ends[ends.count - 1] >= size && pairs.count - end >= fewestPairs
            && pairs[end].row > pairs[end - 1].row
        {
            ends.append(end)
        }
        ends.append(pairs.count)
        let bins = zip(ends, ends.dropFirst()).map { start, end -> [Float] in
            let bin = pairs[start..<end]
            let excesses = bin.map { $0.list - $0.row }.sorted()
            return [Float(bin.reduce(0) { $0 + Double($1.row) } / Double(max(1, bin.count)))]
                + shares.map { share in
                    excesses.isEmpty
                        ? unlimited : excesses[min(excesses.count - 1, Int(share * Double(excesses.count)))]
                }
        }
        return (0..<binCount).map { bins[min($0, bins.count - 1)] }
    }
}

extension [Float] {
    /// The elements of an ascending array that are at most a limit.
    fileprivate func count(upTo limit: Float) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] > limit { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
