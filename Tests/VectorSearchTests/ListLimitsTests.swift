import TestSupport
import Testing
import VectorSearch

struct ListLimitsTests {
    /// Queries at different distances from 1000 lists. A neighbor's list is up to 0.3 farther away than the neighbor,
    /// and up to 0.6 for queries that are far from all rows.
    private static func queries(_ random: inout SeededGenerator) -> [ListLimits.Measured] {
        (0..<1000).map { query in
            let isFar = query % 2 == 1
            let first = Float.random(in: isFar ? 1...1.2 : 0.1...0.3, using: &random)
            let spacing = Float.random(in: 0.002...0.05, using: &random)
            func pairs(_ distances: [Float]) -> [ListLimits.Pair] {
                distances.map { ($0, $0 + Float.random(in: 0...(isFar ? 0.6 : 0.3), using: &random)) }
            }
            return ListLimits.Measured(
                lists: (0..<1000).map { first + Float($0) * spacing },
                neighbors: pairs((0..<100).map { first * (1 + Float($0) / 1000) }),
                others: pairs((0..<100).map { 1.5 + Float($0) / 100 }), isNear: !isFar)
        }
    }

    private static func limits(
        _ queries: [ListLimits.Measured], share: Double, k: Int, isOfNearest: Bool = true
    ) -> ListLimits {
        ListLimits.numbers(of: queries).withUnsafeBufferPointer {
            ListLimits($0, share: share, k: k, isOfNearest: isOfNearest, listCount: 1000)
        }
    }

    @Test(arguments: [0.5, 0.9, 0.99], [10, 100]) func theShareIsWithinTheLimitNearAndFar(share: Double, k: Int) {
        var random = SeededGenerator(seed: 21)
        let queries = Self.queries(&random)
        let limits = Self.limits(queries, share: share, k: k)
        for isNear in [true, false] {
            var (within, count, looked) = (0, 0, 0)
            for query in queries where query.isNear == isNear {
                let last = query.neighbors[k - 1].row
                let limit = last + limits.excess(beyond: last)
                within += query.neighbors.prefix(k).count { $0.list <= limit }
                count += k
                looked += max(1, query.lists.count { $0 <= limit })
            }
            let found = Double(within) / Double(count)
            #expect((share - 0.02...share + 0.02).contains(found), "\(found), near \(isNear), seed 21")
            if isNear { #expect(abs(Double(looked) / 500 - Double(limits.mean)) <= 1) }
        }
    }

    @Test func rowsAtAnyDistanceHaveTheirOwnLimits() {
        var random = SeededGenerator(seed: 23)
        let queries = Self.queries(&random)
        let limits = Self.limits(queries, share: 0.9, k: 10, isOfNearest: false)
        // The excess is uniform up to 0.3 or 0.6, so its 90 % quantile is 0.27 or 0.54.
        #expect(abs(limits.excess(beyond: 0.2) - 0.27) < 0.02)
        #expect(abs(limits.excess(beyond: 1.15) - 0.54) < 0.04)
        #expect(limits.excess(beyond: 100) == limits.excess(beyond: 50))
    }

    @Test func limitsGrowWithTheShareAndTheNeighbors() {
        var random = SeededGenerator(seed: 22)
        let queries = Self.queries(&random)
        let shares = [0, 0.3, 0.5, 0.7, 0.93, 0.97, 0.992, 0.9995, 0.99999]
        for (low, high) in zip(shares, shares.dropFirst()) {
            let (less, more) = (Self.limits(queries, share: low, k: 10), Self.limits(queries, share: high, k: 10))
            #expect(less.excess(beyond: 0.2) <= more.excess(beyond: 0.2) && less.mean <= more.mean, "\(low)")
            #expect(more.mean <= Self.limits(queries, share: high, k: 1000).mean, "\(high)")
        }
        let all = Self.limits(queries, share: 1, k: 10)
        #expect(all.mean == 1000 && all.excess(beyond: 0.2) == .infinity)
    }

    @Test func withoutQueriesAllListsAreLookedAt() {
        for isOfNearest in [true, false] {
            let limits = Self.limits([], share: 0.99, k: 10, isOfNearest: isOfNearest)
            #expect(limits.mean == 1000 && limits.excess(beyond: 1) > 4)
        }
    }
}
