import Compute
import TestSupport
import Testing
import VectorSearch

/// The contract of the nearest, whatever a search is combined with: as many rows as asked for if so many are allowed,
/// nearest first, ties in the matrix's order, and at least the recall that was asked for.
struct NearestContractTests {
    enum Source: String, CaseIterable, Sendable {
        case exact, float32, invertedFile, updatedInvertedFile
    }

    enum Filter: String, CaseIterable, Sendable {
        case none, third, twentieth, twoHundredth, sameCluster, otherCluster, allButTheCluster
    }

    /// What the tests search: rows in clusters of clusters, so that filters can go with what a query resembles.
    private struct Data: Sendable {
        static let (seed, dimension, clusterCount, rowCount, queryCount): (UInt64, Int, Int, Int, Int) =
            (20_261, 24, 3, 12_000, 200)
        static let shared = Data()

        var rows: [[Float]] = []
        var clusters: [Int] = []
        /// A uniform number per row, for the filters that have nothing to do with the rows.
        var chances: [Double] = []
        /// In groups of four: a row itself, two vectors near a row, and one that is near none.
        var queries: [[Float]] = []
        var queryClusters: [Int] = []

        private init() {
            var random = SeededGenerator(seed: Self.seed)
            func normalized(_ vector: [Float]) -> [Float] {
                let norm = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
                return vector.map { $0 / norm }
            }
            func near(_ center: [Float], _ spread: Float) -> [Float] {
                normalized(zip(center, random.floats(Self.dimension)).map { $0 + spread * $1 })
            }
            let centers = (0..<Self.clusterCount).map { _ in normalized(random.floats(Self.dimension)) }
            let inner = centers.map { center in (0..<80).map { _ in near(center, 0.3) } }
            for _ in 0..<Self.rowCount {
                let cluster = Int.random(in: 0..<Self.clusterCount, using: &random)
                clusters.append(cluster)
                rows.append(near(inner[cluster][Int.random(in: 0..<80, using: &random)], 0.15))
                chances.append(Double.random(in: 0..<1, using: &random))
            }
            for query in 0..<Self.queryCount {
                let row = Int.random(in: 0..<Self.rowCount, using: &random)
                queryClusters.append(clusters[row])
                queries.append(
                    [rows[row], near(rows[row], 0.1), near(rows[row], 0.2), normalized(random.floats(Self.dimension))][
                        query % 4])
            }
        }

        func allows(_ filter: Filter, _ row: Int, query: Int) -> Bool {
            switch filter {
            case .none: true
            case .third: chances[row] < 0.3
            case .twentieth: chances[row] < 0.05
            case .twoHundredth: chances[row] < 0.005
            case .sameCluster: clusters[row] == queryClusters[query]
            case .otherCluster: clusters[row] == (queryClusters[query] + 1) % Self.clusterCount
            case .allButTheCluster: clusters[row] != queryClusters[query]
            }
        }
    }

    /// A source, and the row of the data of each of its rows.
    private struct Searched: Sendable {
        let nearest: @Sendable (_ queries: [[Float]], _ k: Int, _ rows: [Range<Int>]?) -> [Neighbor]
        let nearestToEach: @Sendable (_ queries: [[Float]], _ k: Int) -> [[Neighbor]]
        let origins: [Int]

        init(_ source: Source) {
            let data = Data.shared
            let all = PrintMatrix(data.rows.flatMap(\.self), dimension: Data.dimension)
            switch source {
            case .exact, .float32:
                let search = ExactSearch(all, simd: .selected, int8: source == .exact)
                nearest = { search.nearest(toAnyOf: $0, k: $1, among: $2) }
                nearestToEach = { search.nearest(toEach: $0, k: $1) }
                origins = Array(0..<Data.rowCount)
            case .invertedFile:
                let index = InvertedFileIndex(all)
                nearest = { index.nearest(toAnyOf: $0, k: $1, recall: 0.99, among: $2) }
                nearestToEach = { index.nearest(toEach: $0, k: $1, recall: 0.99) }
                origins = Array(0..<Data.rowCount)
            case .updatedInvertedFile:
                // Made of the first 9,000 rows; then every fifth is removed, and the others are added.
                let made = 9_000
                let earlier = InvertedFileIndex(
                    PrintMatrix(data.rows[..<made].flatMap(\.self), dimension: Data.dimension))
                let kept = (0..<Data.rowCount).filter { $0 >= made || $0 % 5 != 0 }
                let index = earlier.updated(
                    for: PrintMatrix(kept.flatMap { data.rows[$0] }, dimension: Data.dimension),
                    origins: kept.map { $0 < made ? UInt32($0) : nil })
                nearest = { index.nearest(toAnyOf: $0, k: $1, recall: 0.99, among: $2) }
                nearestToEach = { index.nearest(toEach: $0, k: $1, recall: 0.99) }
                origins = kept
            }
        }
    }

    private static func ranges(_ rows: [Int]) -> [Range<Int>] {
        rows.reduce(into: []) { ranges, row in
            if let last = ranges.last, last.upperBound == row {
                ranges[ranges.count - 1] = last.lowerBound..<(row + 1)
            } else {
                ranges.append(row..<(row + 1))
            }
        }
    }

    /// In double precision.
    private static func squaredDistances(_ rows: [[Float]], to query: [Float]) -> [Double] {
        rows.map { row in
            var sum = 0.0
            for index in row.indices {
                let difference = Double(row[index]) - Double(query[index])
                sum += difference * difference
            }
            return sum
        }
    }

    /// What a search may find.
    private struct Truth: Sendable {
        let distances: [Double]
        let isAllowed: [Bool]
        /// The distances of the allowed rows, ascending.
        let sorted: [Double]

        init(_ distances: [Double], isAllowed: [Bool]) {
            (self.distances, self.isAllowed) = (distances, isAllowed)
            sorted = zip(distances, isAllowed).filter(\.1).map(\.0).sorted()
        }

        /// The share of the `k` nearest that were found; nil if what was found breaks the contract otherwise.
        func recall(_ found: [Neighbor], _ k: Int) -> Double? {
            guard found.count == min(k, sorted.count), Set(found.map(\.row)).count == found.count,
                zip(found, found.dropFirst()).allSatisfy({
                    ($0.squaredDistance, $0.row) < ($1.squaredDistance, $1.row)
                }),
                found.allSatisfy({
                    isAllowed[$0.row] && abs(Double($0.squaredDistance) - distances[$0.row]) < 1e-5
                })
            else { return nil }
            if found.isEmpty { return 1 }
            // Rounding may exchange rows at the end.
            let farthest = sorted[found.count - 1] + 1e-5
            return Double(found.count { distances[$0.row] <= farthest }) / Double(found.count)
        }
    }

    @Test(arguments: Source.allCases) func everyCombinationKeepsTheContract(source: Source) {
        let (data, searched) = (Data.shared, Searched(source))
        let rows = searched.origins.map { data.rows[$0] }
        let least = source == .exact || source == .float32 ? 1 : 0.985
        let alone = concurrentMap(Data.queryCount, threads: 2) { Self.squaredDistances(rows, to: data.queries[$0]) }
        for filter in Filter.allCases {
            // Filters depend on the cluster of the query alone.
            let masks = (0..<Data.clusterCount).map { cluster in
                let query = data.queryClusters.firstIndex(of: cluster) ?? 0
                return searched.origins.map { data.allows(filter, $0, query: query) }
            }
            let ranges = masks.map { mask in Self.ranges(mask.indices.filter { mask[$0] }) }
            for several in [false, true] {
                let results = concurrentMap(Data.queryCount, threads: 2) { query -> [Double?] in
                    let places = several ? [query, query + 1, query + 5].map { $0 % Data.queryCount } : [query]
                    let distances = rows.indices.map { row in places.reduce(.infinity) { min($0, alone[$1][row]) } }
                    let cluster = data.queryClusters[query]
                    let truth = Truth(distances, isAllowed: masks[cluster])
                    return Self.counts.map { k in
                        // Sorting all rows takes long.
                        k == .max && query >= 10
                            ? 1
                            : truth.recall(
                                searched.nearest(
                                    places.map { data.queries[$0] }, k, filter == .none ? nil : ranges[cluster]), k)
                    }
                }
                for (index, k) in Self.counts.enumerated() {
                    let broken = results.indices.filter { results[$0][index] == nil }
                    let recall = results.reduce(0) { $0 + ($1[index] ?? 0) } / Double(results.count)
                    #expect(
                        broken.isEmpty && recall >= least,
                        "\(source), \(filter), k \(k), several \(several): \(recall), \(broken), seed \(Data.seed)")
                }
            }
        }
    }

    private static let counts = [1, 10, 100, 1000, .max]

    @Test(arguments: Source.allCases) func queriesAtOnceKeepTheContract(source: Source) {
        let (data, searched) = (Data.shared, Searched(source))
        let rows = searched.origins.map { data.rows[$0] }
        let found = Self.counts.dropLast().map { searched.nearestToEach(data.queries, $0) }
        let results = concurrentMap(Data.queryCount, threads: 2) { query -> [Double?] in
            let truth = Truth(
                Self.squaredDistances(rows, to: data.queries[query]), isAllowed: rows.map { _ in true })
            return zip(found, Self.counts).map { truth.recall($0[query], $1) }
        }
        for (index, k) in Self.counts.dropLast().enumerated() {
            #expect(!results.contains { $0[index] == nil }, "\(source), k \(k), seed \(Data.seed)")
            let recall = results.reduce(0) { $0 + ($1[index] ?? 0) } / Double(Data.queryCount)
            #expect(recall >= (source == .exact || source == .float32 ? 1 : 0.985), "\(source), k \(k): \(recall)")
        }
        #expect(searched.nearestToEach([data.queries[0]], .max)[0].count == rows.count)
    }

    /// Pages of any length read the whole ranking once.
    @Test(arguments: [true, false], Filter.allCases) func pagesAreTheRanking(int8: Bool, filter: Filter) {
        let data = Data.shared
        let search = ExactSearch(
            PrintMatrix(data.rows.flatMap(\.self), dimension: Data.dimension), simd: .selected, int8: int8)
        for query in 0..<3 {
            let rows = Self.ranges(
                data.rows.indices.filter { data.allows(filter, $0, query: query) })
            let all = search.nearest(toAnyOf: [data.queries[query]], k: .max, among: rows)
            var (pages, size): ([Neighbor], Int) = ([], 7)
            while true {
                let page = search.nearest(toAnyOf: [data.queries[query]], k: size, among: rows, after: pages.last)
                pages += page
                if page.count < size { break }
                size *= 3
            }
            #expect(pages == all, "\(filter), query \(query), seed \(Data.seed)")
        }
    }
}
