import TestSupport
import Testing
import VectorSearch

struct ListLimitsTests {
    /// Between the squared distances of lists.
    private static let spacing: Float = 0.002

    /// Queries that are at `distances` from the nearest of 1000 lists, and whose neighbors are in lists up to `spread`
    /// farther away than the nearest list, or than the last neighbor.
    private static func queries(
        _ random: inout SeededGenerator, areNeighborsNearFirstList: Bool
    ) -> [ListLimits.Measured] {
        (0..<200).map { _ in
            let first = Float.random(in: 0.1...1, using: &random)
            let lists = (0..<1000).map { first + Float($0) * spacing }
            let last = Float.random(in: 0.1...1, using: &random)
            let reference = areNeighborsNearFirstList ? first : max(first, last)
            let ranks = (0..<100).map { _ in
                let distance = reference + Float.random(in: 0...0.3, using: &random)
                return min(999, max(0, Int((distance - first) / spacing)))
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
        let (near, late) = (
            Self.queries(&random, areNeighborsNearFirstList: true),
            Self.queries(&random, areNeighborsNearFirstList: false)
        )
        #expect(Self.limits(near, share: 0.995, k: 10).isFromNearest, "seed \(seed)")
        // The last of a hundred neighbors is as far as the reference; of ten, a tenth of that.
        #expect(!Self.limits(late, share: 0.995, k: 100).isFromNearest, "seed \(seed)")
    }

    @Test(arguments: [0.5, 0.9, 0.99, 0.999]) func theShareIsWithinTheLimit(share: Double) {
        var random = SeededGenerator(seed: 21)
        let queries = Self.queries(&random, areNeighborsNearFirstList: true)
        let limits = Self.limits(queries, share: share, k: 10)
        var (within, looked) = (0, 0)
        for query in queries {
            let count = min(limits.most, Int(limits.excess / Self.spacing + 1.01))
            within += query.ranks.prefix(10).count { $0 < count }
            looked += count
        }
        #expect(abs(Double(within) / 2000 - share) <= 0.01, "\(within) of 2000")
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

    @Test func withoutQueriesTheNearestListIsLookedAt() {
        let limits = Self.limits([], share: 0.99, k: 10)
        #expect(limits.mean == 1 && limits.excess == 0)
    }
}
