import Compute
import TestSupport
import Testing
import VectorSearch

struct ExactSearchTests {
    private static func unitRows(_ count: Int, _ dimension: Int, _ random: inout SeededGenerator) -> [Float] {
        (0..<count).flatMap { _ -> [Float] in
            let row = random.floats(dimension)
            let length = row.reduce(0) { $0 + $1 * $1 }.squareRoot()
            return row.map { $0 / length }
        }
    }

    /// Sorted by distance in double precision.
    private static func bruteForce(_ query: [Float], _ rows: [Float], _ dimension: Int) -> [(
        row: Int, distance: Double
    )] {
        (0..<(rows.count / dimension)).map { row in
            let sum = (0..<dimension).reduce(0.0) { sum, j in
                let difference = Double(query[j]) - Double(rows[row * dimension + j])
                return sum + difference * difference
            }
            return (row, sum.squareRoot())
        }.sorted { ($0.distance, $0.row) < ($1.distance, $1.row) }
    }

    @Test(arguments: [(1, 4), (5, 3), (64, 16), (1000, 31), (3000, 256)])
    func matchesBruteForce(count: Int, dimension: Int) {
        let seed = UInt64(count + dimension)
        var random = SeededGenerator(seed: seed)
        let rows = Self.unitRows(count, dimension, &random)
        let query = Self.unitRows(1, dimension, &random)
        let exact = Self.bruteForce(query, rows, dimension)
        let search = ExactSearch(PrintMatrix(rows, dimension: dimension))
        for k in [1, 10, count, count + 5] {
            let found = search.nearest(to: query, k: k)
            #expect(found.count == min(k, count))
            for (neighbor, expected) in zip(found, exact) {
                #expect(abs(Double(neighbor.distance) - expected.distance) < 1e-5, "seed \(seed)")
            }
            // Distances of random rows lie far enough apart for the order to be the same.
            #expect(found.prefix(5).map(\.row) == exact.prefix(min(k, 5)).map(\.row), "seed \(seed)")
        }
    }

    @Test func noRowsAndNoneWanted() {
        #expect(ExactSearch(PrintMatrix([], dimension: 8)).nearest(to: [Float](repeating: 0, count: 8), k: 3).isEmpty)
        let search = ExactSearch(PrintMatrix([1, 2, 3, 4], dimension: 2))
        #expect(search.nearest(to: [1, 2], k: 0).isEmpty)
        #expect(search.nearest(toEach: Array(repeating: [1, 2], count: 9), k: 0).allSatisfy { $0.isEmpty })
        #expect(search.nearest(toEach: [], k: 3).isEmpty)
    }

    @Test func identicalRowsAreAtDistanceZeroInCatalogOrder() {
        var random = SeededGenerator(seed: 3)
        let row = Self.unitRows(1, 256, &random)
        let matrix = PrintMatrix((0..<500).flatMap { $0 % 3 == 0 ? row : row.map { -$0 } }, dimension: 256)
        let expected = (0..<20).map { $0 * 3 }
        for threads in [1, 2, 5] {
            let found = ExactSearch(matrix).nearest(to: row, k: 20, threads: threads)
            #expect(found.map(\.row) == expected)
            #expect(found.allSatisfy { $0.squaredDistance == 0 })
        }
        let batch = ExactSearch(matrix).nearest(toEach: Array(repeating: row, count: 8), k: 20)
        #expect(batch.allSatisfy { $0.map(\.row) == expected })
    }

    @Test func sameForEverySIMDTargetThreadCountAndBatch() {
        var random = SeededGenerator(seed: 12)
        let dimension = 256
        var rows = Self.unitRows(4000, dimension, &random)
        // Near-ties and ties, which BLAS alone would put in another order.
        for copy in 0..<40 {
            let from = copy * 7 * dimension, to = (3000 + copy) * dimension
            for j in 0..<dimension { rows[to + j] = rows[from + j] }
            rows[to] += copy % 2 == 0 ? 0 : 1e-6
        }
        let matrix = PrintMatrix(rows, dimension: dimension)
        let queries = (0..<300).map { index in
            index % 3 == 0
                ? Array(rows[(index * dimension)..<((index + 1) * dimension)]) : Self.unitRows(1, dimension, &random)
        }
        let reference = queries.map {
            ExactSearch(matrix, simd: SIMDTarget.available[0], int8: false).nearest(to: $0, k: 12, threads: 1)
        }
        for simd in SIMDTarget.available {
            for (threads, int8, blas) in [
                (1, false, false), (2, false, false), (3, false, false), (1, true, false), (3, true, false),
                (1, false, true), (3, false, true),
            ] {
                let search = ExactSearch(matrix, simd: simd, int8: int8, blas: blas)
                let name = "\(simd.name)\(int8 ? ", int8" : "")\(blas ? ", BLAS" : ""), \(threads) threads"
                #expect(search.nearest(toEach: queries, k: 12, threads: threads) == reference, "\(name)")
                #expect(
                    search.nearest(toEach: queries, k: 1, threads: threads) == reference.map { Array($0.prefix(1)) },
                    "\(name), the nearest alone")
                // Where nothing is chosen, the number of queries decides how they are compared.
                let chosen = ExactSearch(matrix, simd: simd)
                for count in [3, 9, 16, 70] where threads == 1 && int8 {
                    let batch = Array(queries.prefix(count))
                    #expect(
                        chosen.nearest(toEach: batch, k: 12) == Array(reference.prefix(count)),
                        "\(simd.name), \(count) queries")
                }
                #expect(
                    queries.prefix(20).map { search.nearest(to: $0, k: 12, threads: threads) }
                        == Array(reference.prefix(20)), "\(name)")
            }
        }
    }

    /// Several queries, some rows only, read in pages: against sorting all distances.
    @Test(arguments: 0..<12) func nearestToAnyOfSomeRowsInPages(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let dimension = Int.random(in: 1...40, using: &random)
        let count = Int.random(in: 1...1500, using: &random)
        // Few distinct rows, so that many distances are equal.
        let pool = (0..<20).map { _ in random.floats(dimension) }
        let rows = (0..<count).map { _ in pool[Int.random(in: 0..<20, using: &random)] }
        let queries = (0..<Int.random(in: 1...4, using: &random)).map { _ in random.floats(dimension) }
        var ranges: [Range<Int>] = []
        var start = 0
        while start < count {
            let end = min(count, start + Int.random(in: 1...400, using: &random))
            if Bool.random(using: &random) { ranges.append(start..<end) }
            start = end
        }
        let search = ExactSearch(PrintMatrix(rows.flatMap { $0 }, dimension: dimension))
        let rankings = queries.map { query in
            Dictionary(uniqueKeysWithValues: search.nearest(to: query, k: count).map { ($0.row, $0.squaredDistance) })
        }
        for (among, included) in [(nil, Array(0..<count)), (ranges, ranges.flatMap { Array($0) })] {
            let expected = included.map { row in
                let distances = rankings.map { $0[row]! }
                return Neighbor(row: row, squaredDistance: distances.min()!)
            }.sorted { ($0.squaredDistance, $0.row) < ($1.squaredDistance, $1.row) }
            let all = search.nearest(toAnyOf: queries, k: count, among: among, threads: 3)
            #expect(all == expected, "seed \(seed)")
            var paged: [Neighbor] = []
            while true {
                let page = search.nearest(toAnyOf: queries, k: 37, among: among, after: paged.last, threads: 2)
                if page.isEmpty { break }
                paged += page
            }
            #expect(paged == expected, "seed \(seed)")
        }
        #expect(search.nearest(toAnyOf: [], k: 3).isEmpty)
        #expect(search.nearest(toAnyOf: queries, k: 3, among: []).isEmpty)
    }
}

struct CancelledScanTests {
    /// Scans look at the flag before each block, so one that is set leaves nothing to find.
    @Test func aScanEndsWhenItIsCancelled() {
        var random = SeededGenerator(seed: 15)
        let (rows, dimension) = (5_000, 16)
        let values = random.floats(rows * dimension)
        let quantized = PrintMatrix(values, dimension: dimension)
        let queries = (0..<6).map { Array(values[($0 * dimension)..<(($0 + 1) * dimension)]) }
        let cancelled = Cancellation()
        cancelled.cancel()
        for simd in SIMDTarget.available {
            let search = ExactSearch(quantized, simd: simd)
            #expect(search.nearest(toAnyOf: queries, k: 5, cancellation: .none).count == 5)
            #expect(search.nearest(toAnyOf: queries, k: 5, cancellation: cancelled).isEmpty)
            let found = search.nearest(toEach: queries, k: 5, cancellation: cancelled)
            #expect(found.count == 6 && found.joined().isEmpty)
        }
    }
}

#if compiler(>=6.2)
/// Mistakes of a program end it with the reason, in release builds as well.
struct RequirementTests {
    @Test func theReasonIsPrinted() async throws {
        func expect(_ words: String, in content: [UInt8]?) {
            let found = String(decoding: content ?? [], as: UTF8.self)
            #expect(found.contains(words), "\(found)")
        }
        let dimension = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let matrix = PrintMatrix([1, 0, 0, 1], dimension: 2)
            _ = ExactSearch(matrix).nearest(to: [1, 0, 0], k: 1)
        }
        expect("a query of 3 components was compared with rows of 2", in: dimension?.standardErrorContent)
        let query = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ExactSearch(PrintMatrix([1, 0, 0, 1], dimension: 2)).nearest(to: [1, .nan], k: 1)
        }
        expect("a component of the query is not finite", in: query?.standardErrorContent)
        let rows = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = PrintMatrix([1, 0, .nan, 1], dimension: 2)
        }
        expect("row 1, counted from 0, has a component that is not finite", in: rows?.standardErrorContent)
    }
}
#endif
