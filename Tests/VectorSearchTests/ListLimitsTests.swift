import TestSupport
import Testing
import VectorSearch

struct ListLimitsTests {
    /// Queries with 1000 lists, near each other for some queries and far apart for others. Their neighbors are in lists
    /// up to 0.3 farther away than the nearest list, or than the last neighbor.
    private static func queries(
        _ random: inout SeededGenerator, areNeighborsNearFirstList: Bool
    ) -> [ListLimits.Measured] {
        (0..<200).map { _ in
            let (first, spacing) = (
                Float.random(in: 0.1...1, using: &random), Float.random(in: 0.002...0.05, using: &random)
            )
            let lists = (0..<1000).map { first + Float($0) * spacing }
            let last = Float.random(in: 0.1...1, using: &random)
            let reference = areNeighborsNearFirstList ? first : max(first, last)
            let ranks = (0..<100).map { _ in
                Int((reference + Float.random(in: 0...0.3, using: &random) - first) / spacing)
            }
            return ListLimits.Measured(
                lists: lists, neighbors: (0..<100).map { last * Float($0 + 1) / 100 }, ranks: ranks)
        }
    }

    private static func limits(_ queries: [ListLimits.Measured], share: Double, k: Int) -> ListLimits {
        ListLimits.numbers(of: queries).withUnsafeBufferPointer {
            ListLimits($0, share: share, k: k, listCount: 1000)
        }
    }

    @Test(arguments: [7, 8, 9] as [UInt64]) func theReferenceIsTheOneThatLooksAtFewerLists(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let queries = Self.queries(&random, areNeighborsNearFirstList: true)
        let limits = Self.limits(queries, share: 0.995, k: 10)
        #expect(limits.isFromNearest, "seed \(seed)")
        #expect(limits.mean < limits.most / 2, "seed \(seed): \(limits)")
        // The same lists a unit nearer for half of the queries, and neighbors where they were.
        let moved = queries.enumerated().map { index, query in
            let last = query.lists[query.ranks.max() ?? 0]
            return ListLimits.Measured(
                lists: index % 2 == 0 ? [0] + query.lists : query.lists,
                neighbors: query.neighbors.map { _ in last }, ranks: query.ranks.map { $0 + (index + 1) % 2 })
        }
        #expect(!Self.limits(moved, share: 0.995, k: 10).isFromNearest, "seed \(seed)")
    }

    @Test(arguments: [0.5, 0.9, 0.99, 0.999]) func theShareIsWithinTheLimit(share: Double) {
        var random = SeededGenerator(seed: 21)
        let queries = Self.queries(&random, areNeighborsNearFirstList: true)
        let limits = Self.limits(queries, share: share, k: 10)
        var (within, looked) = (0, 0)
        for query in queries {
            let reference = limits.isFromNearest ? query.lists[0] : query.neighbors[9]
            let count = min(limits.most, max(1, query.lists.count { $0 <= reference + limits.excess }))
            within += query.ranks.prefix(10).count { $0 < count }
            looked += count
        }
        #expect((share - 0.01...share + 0.03).contains(Double(within) / 2000), "\(within) of 2000")
        #expect(abs(Double(looked) / 200 - Double(limits.mean)) <= 1)
    }

    @Test func limitsGrowWithTheShareAndTheNeighbors() {
        var random = SeededGenerator(seed: 22)
        for areNear in [true, false] {
            let queries = Self.queries(&random, areNeighborsNearFirstList: areNear)
            let shares = [0, 0.3, 0.5, 0.7, 0.93, 0.97, 0.992, 0.9995, 0.99999]
            for (low, high) in zip(shares, shares.dropFirst()) {
                let (less, more) = (
                    Self.limits(queries, share: low, k: 10), Self.limits(queries, share: high, k: 10)
                )
                #expect(less.excess <= more.excess && less.mean <= more.mean && less.most <= more.most, "\(low)")
                #expect(more.excess <= Self.limits(queries, share: high, k: 1000).excess, "\(high)")
            }
            #expect(Self.limits(queries, share: 1, k: 10).most == 1000)
        }
    }

    @Test func withoutQueriesAllListsAreLookedAt() {
        let limits = Self.limits([], share: 0.99, k: 10)
        #expect(limits.mean == 1000 && limits.most == 1000 && limits.excess > 4)
    }
}
