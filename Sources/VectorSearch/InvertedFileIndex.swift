import CKernels
package import Compute
import Foundation

/// Approximate nearest-neighbor search that reads a small part of the rows: an inverted file (IVF) of 1-bit codes.
///
///     let index = InvertedFileIndex(PrintMatrix(values, dimension: 256))
///     let neighbors = index.nearest(to: query, k: 10, recall: 0.99)
///
/// The rows are divided among the lists of their nearest centroids (Jégou, Douze and Schmid, "Product Quantization for
/// Nearest Neighbor Search", 2011). A search looks at the lists whose centroids are nearest to the query. In a list,
/// lower bounds from 1-bit codes (RaBitQ: Gao and Long, SIGMOD 2024) reject most rows, proved lower bounds from int8
/// codes most of the others, and float32 distances rank the rest: distances are exact, but a neighbor may be missed.
///
/// When a search stops to look at lists is measured for each recall when the index is made, with shifted rows as
/// queries: at lists that are too far away beside the last neighbor found (`ListLimits`). Most of what may be missed
/// is in other lists; the rest is rejected by bounds that are not proved.
///
/// There are always as many neighbors as asked for if so many rows are allowed, nearest first, ties in the matrix's
/// order. A search that would take longer than a comparison of all allowed rows compares them, and so does one with a
/// query that is longer than the rows: what was measured says nothing of it.
///
/// Besides the matrix an index takes about 50 bytes per row of 256 components. For fewer than some 100,000 rows
/// ``ExactSearch`` is as fast.
public struct InvertedFileIndex: Sendable {
    /// The rows that are searched.
    public let matrix: PrintMatrix
    package let contents: InvertedFileContents
    private let kernels: SIMDTarget

    /// Makes an index of all rows: centroids from a sample, lists and codes.
    ///
    /// The result depends on the rows alone, not on threads or the CPU's rounding of sums beyond ties.
    ///
    /// - Parameter listCount: the number of lists; by default 2 √rows, rounded to a power of two.
    /// - Precondition: the matrix has at most 2³² rows, all of them finite.
    /// - Complexity: O(rows · lists · dimension), on the threads that have nothing else to do.
    public init(_ matrix: PrintMatrix, listCount: Int? = nil, threads: Int? = nil) {
        self.init(matrix, listCount: listCount, threads: threads, cancellation: .none)
    }

    package init(
        _ matrix: PrintMatrix, listCount: Int? = nil, threads: Int? = nil, cancellation: Cancellation,
        simd: SIMDTarget = .selected
    ) {
        let builder = InvertedFileBuilder(
            matrix: matrix, kernels: simd, threads: threads ?? availableThreadCount, cancellation: cancellation)
        self.init(matrix, contents: builder.contents(listCount: listCount), simd: simd)
    }

    /// An index from its stored contents.
    package init(_ matrix: PrintMatrix, contents: InvertedFileContents, simd: SIMDTarget = .selected) {
        self.matrix = matrix
        self.contents = contents
        kernels = simd
    }

    /// An index of another state of the rows: what did not change keeps its list and its code.
    ///
    /// - Parameter origins: for each row of `matrix`, the row of this index with the same content; nil for a new one.
    /// - Complexity: O(rows) to copy, and O(new rows · lists · dimension).
    package func updated(
        for matrix: PrintMatrix, origins: [UInt32?], threads: Int? = nil, cancellation: Cancellation = .none
    ) -> InvertedFileIndex {
        let builder = InvertedFileBuilder(
            matrix: matrix, kernels: kernels, threads: threads ?? availableThreadCount, cancellation: cancellation)
        return InvertedFileIndex(
            matrix, contents: builder.contents(updating: contents, origins: origins), simd: kernels)
    }

    /// The number of lists.
    public var listCount: Int { contents.centroids.rowCount }

    /// How many lists a search looks at on average. 1...``listCount``.
    ///
    /// - Parameters:
    ///   - recall: the share of the true neighbors that a search shall find, 0..<1.
    ///   - k: the number of neighbors.
    /// - Complexity: O(1).
    public func probeCount(recall: Double, k: Int) -> Int {
        contents.limits(recall: recall, k: k, isOfNearest: true).mean
    }
}

extension InvertedFileIndex {
    /// The `k` nearest rows, nearest first, of which some may be missing.
    ///
    /// - Parameter recall: the share of the true neighbors to find, 0..<1; for 1, use ``ExactSearch``.
    /// - Precondition: the query has the matrix's dimension, and is finite.
    public func nearest(to query: [Float], k: Int, recall: Double = defaultRecall) -> [Neighbor] {
        nearest(toAnyOf: [query], k: k, recall: recall)
    }

    /// The recall without another one: 0.99.
    public static var defaultRecall: Double { 0.99 }

    /// The `k` nearest rows of each query: the same as of each alone.
    ///
    /// - Precondition: the queries are finite and have the matrix's dimension.
    public func nearest(
        toEach queries: [[Float]], k: Int, recall: Double = defaultRecall, threads: Int? = nil
    ) -> [[Neighbor]] {
        matrix.check(queries)
        guard !queries.isEmpty, k > 0, matrix.rowCount > 0 else { return queries.map { _ in [] } }
        let threads = threads ?? availableThreadCount
        guard let limits = limits(recall: recall, k: k, among: nil) else {
            return ExactSearch(matrix, simd: kernels).nearest(toEach: queries, k: k, threads: threads)
        }
        return concurrentMap(queries.count, threads: threads) { index in
            nearest(
                toAnyOf: [queries[index]], k: k, recall: recall, within: limits, among: nil, cancellation: .none)
                ?? ExactSearch(matrix, simd: kernels).nearest(to: queries[index], k: k, threads: 1)
        }
    }

    /// The `k` rows nearest to any of several queries. A row's distance is its minimum distance over the queries.
    ///
    /// - Parameter rows: the rows to search, as ascending disjoint ranges; all of them by default. If they are few,
    ///   all of them are compared.
    /// - Precondition: the queries are finite and have the matrix's dimension, and `rows` lie in the matrix.
    public func nearest(
        toAnyOf queries: [[Float]], k: Int, recall: Double = defaultRecall, among rows: [Range<Int>]? = nil
    ) -> [Neighbor] {
        nearest(toAnyOf: queries, k: k, recall: recall, among: rows, cancellation: .none)
    }

    /// - Parameter cancellation: once it is set, the result is incomplete.
    package func nearest(
        toAnyOf queries: [[Float]], k: Int, recall: Double, among rows: [Range<Int>]? = nil, cancellation: Cancellation
    ) -> [Neighbor] {
        matrix.check(queries)
        guard !queries.isEmpty, k > 0, matrix.rowCount > 0 else { return [] }
        func compared() -> [Neighbor] {
            ExactSearch(matrix, simd: kernels).nearest(
                toAnyOf: queries, k: k, among: rows, cancellation: cancellation)
        }
        guard let limits = limits(recall: recall, k: k, among: rows) else { return compared() }
        return nearest(
            toAnyOf: queries, k: k, recall: recall, within: limits, among: rows, cancellation: cancellation)
            ?? compared()
    }

    /// Nil if comparing the allowed rows takes less than going on, or the limits say nothing of the queries.
    private func nearest(
        toAnyOf queries: [[Float]], k: Int, recall: Double, within limits: ScanLimits,
        among rows: [Range<Int>]?, cancellation: Cancellation
    ) -> [Neighbor]? {
        guard hasRows(asLongAs: queries) else { return nil }
        var scan = InvertedFileScan(
            self, queries: queries, k: min(max(k, ListLimits.fewestNeighbors), limits.allowed), rows: rows,
            recall: recall, kernels: kernels, cancellation: cancellation)
        guard scan.run(within: limits) || cancellation.isCancelled else { return nil }
        return Array(scan.best.sorted().prefix(k))
    }

    /// Whether one of some rows all over the matrix is as long as the longest query, up to 1 %: the queries that lists
    /// were measured with are as long as rows. From farther away more lists may have the nearest rows.
    private func hasRows(asLongAs queries: [[Float]]) -> Bool {
        let longest = queries.map { $0.withUnsafeBufferPointer(PrintMatrix.squaredNorm) }.max() ?? 0
        return stride(from: 0, to: matrix.rowCount, by: max(1, matrix.rowCount / 1024))
            .contains { matrix.squaredNorm(ofRow: $0) * 1.02 >= longest }
    }

    /// When a search stops to look at lists; nil if comparing the allowed rows takes less.
    private func limits(recall: Double, k: Int, among rows: [Range<Int>]?) -> ScanLimits? {
        let allowed = rows.map { $0.reduce(0) { $0 + $1.count } } ?? matrix.rowCount
        guard allowed > 0, recall < 1 else { return nil }
        let k = min(k, allowed)
        // If the filter has nothing to do with the query, as many of all rows are as near as the k-th allowed one.
        let lists = contents.limits(
            recall: recall, k: k * matrix.rowCount / allowed,
            isOfNearest: rows == nil && k <= ListLimits.mostNeighbors)
        // A filter makes all rows in a list a cost for the few that are allowed, so less is spent on trying.
        let mostWork = allowed * ScanLimits.workOfComparing / (rows == nil ? 2 : 4)
        guard lists.mean * matrix.rowCount / listCount < mostWork / 2 else { return nil }
        return ScanLimits(allowed: allowed, lists: lists, mostWork: mostWork)
    }
}

/// When a search of an inverted file stops.
private struct ScanLimits {
    /// The rows to search.
    let allowed: Int
    let lists: ListLimits
    /// The work after which comparing the allowed rows is better: so a search takes at most half as long again. The
    /// unit is a 1-bit code.
    let mostWork: Int

    /// A row in a pass over all, and one that the bound from its 1-bit code does not reject: 4 codes take about 14 ns
    /// where codes of 256 components are multiplied with VNNI, and 30 ns go into a row that is not in the cache (one
    /// core of a Xeon of 2023).
    static let (workOfComparing, workOfCandidate) = (4, 8)
}

/// One search of an ``InvertedFileIndex``.
private struct InvertedFileScan {
    private struct Query {
        let rotated: [Float]
        let binary: BinaryQuery
        /// The lists that were not looked at.
        var lists: ListQueue

        init(_ vector: [Float], contents: InvertedFileContents, kernels: SIMDTarget) {
            rotated = contents.rotated(vector, kernels: kernels)
            binary = BinaryQuery(rotated)
            lists = ListQueue(contents.centroids, query: rotated, kernels: kernels)
        }
    }

    private let matrix: PrintMatrix
    private let contents: InvertedFileContents
    private var queries: [Query]
    /// The vectors of all queries, one after the other, their int8 codes, and the bounds that these give: a row is
    /// compared without counting references to each query.
    private let vectors: [Float]
    private let codes: [Int8]
    private let bounds: [lk_distance_bound]
    private let rows: [Range<Int>]?
    private let kernels: SIMDTarget
    private let cancellation: Cancellation
    /// The bound of a row is this many standard deviations below its estimate: for a row that is as near as the last
    /// neighbor it is wrong as often as the recall allows, and for most neighbors far less often.
    private let deviations: Float
    private(set) var best: TopK
    /// As ``ScanLimits`` counts it.
    private var work = 0
    /// Rows that were compared already, if there are several queries.
    private var seen: Set<Int> = []

    init(
        _ index: InvertedFileIndex, queries: [[Float]], k: Int, rows: [Range<Int>]?, recall: Double,
        kernels: SIMDTarget, cancellation: Cancellation
    ) {
        matrix = index.matrix
        contents = index.contents
        self.queries = queries.map { Query($0, contents: index.contents, kernels: kernels) }
        vectors = queries.flatMap(\.self)
        let quantized = queries.map { QuantizedQuery($0) }
        codes = quantized.flatMap(\.codes)
        bounds = quantized.map { lk_distance_bound($0) }
        self.rows = rows
        self.kernels = kernels
        self.cancellation = cancellation
        deviations = Float(max(0, NormalDistribution.quantile(recall)))
        best = TopK(k)
    }

    /// Returns whether the neighbors are found, as far as the recall wants; false if that takes too much work.
    mutating func run(within limits: ScanLimits) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Self.codesAtOnce) { found in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: Self.codesAtOnce) { bounds in
                withUnsafeTemporaryAllocation(of: Neighbor.self, capacity: Self.codesAtOnce) { candidates in
                    guard let found = found.baseAddress, let bounds = bounds.baseAddress else { return false }
                    // The nearest lists of all queries first: they lower the bound soonest.
                    while true {
                        var isDone = true
                        for query in queries.indices {
                            if cancellation.isCancelled || work > limits.mostWork * queries.count { return false }
                            // Lists get farther away, and the last neighbor nearer.
                            let farthest =
                                best.isFull ? best.bound + limits.lists.excess(beyond: best.bound) : .infinity
                            guard let list = queries[query].lists.removeNearest(within: farthest) else { continue }
                            isDone = false
                            let squaredDistance = contents.centroids.squaredDistance(
                                from: queries[query].rotated, to: list, kernels: kernels)
                            guard squaredDistance <= farthest else { continue }
                            scan(
                                Neighbor(row: list, squaredDistance: squaredDistance), for: queries[query], found,
                                bounds, candidates)
                        }
                        if isDone { return best.isFull }
                    }
                }
            }
        }
    }

    /// Eight blocks: few enough that the bound of the first candidates rejects the next.
    private static let codesAtOnce = 8 * BinaryCodes.codesPerBlock

    private mutating func scan(
        _ list: Neighbor, for query: Query, _ found: UnsafeMutablePointer<UInt32>,
        _ bounds: UnsafeMutablePointer<Float>, _ candidates: UnsafeMutableBufferPointer<Neighbor>
    ) {
        let (columns, blockBytes) = (contents.columns, contents.byteCountOfBlock)
        let codes = contents.count(ofList: list.row)
        guard codes > 0 else { return }
        work += codes
        let start = contents.blocks(ofList: list.row)
        query.binary.tables.withUnsafeBufferPointer { tables in
            var parameters = lk_binary_query(
                tables: tables.baseAddress, columns: columns, step: query.binary.step, offset: query.binary.offset,
                base: list.squaredDistance, error_weight: deviations * list.distance)
            for first in stride(from: 0, to: codes, by: Self.codesAtOnce) {
                let block = start + first / BinaryCodes.codesPerBlock * blockBytes
                let within = kernels.table.select_binary_codes(
                    &parameters, block.assumingMemoryBound(to: UInt8.self), min(Self.codesAtOnce, codes - first),
                    best.bound, found, bounds)
                guard within > 0 else { continue }
                work += within * ScanLimits.workOfCandidate
                var kept = 0
                for index in 0..<within {
                    let place = Int(found[index])
                    let row = BinaryCodes.row(
                        block + place / BinaryCodes.codesPerBlock * blockBytes,
                        place: place % BinaryCodes.codesPerBlock, columns: columns)
                    guard row < matrix.rowCount, isAllowed(row) else { continue }
                    matrix.prefetch(row)
                    candidates[kept] = Neighbor(row: row, squaredDistance: bounds[index])
                    kept += 1
                }
                // The bound falls with each row that is compared, soonest if the nearest come first.
                var nearestFirst = UnsafeMutableBufferPointer(rebasing: candidates[..<kept])
                nearestFirst.sort { $0.squaredDistance < $1.squaredDistance }
                for candidate in nearestFirst where !(candidate.squaredDistance > best.bound) {
                    compare(candidate.row)
                }
            }
        }
    }

    private func isAllowed(_ row: Int) -> Bool {
        guard let rows else { return true }
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].upperBound <= row { low = middle + 1 } else { high = middle }
        }
        return low < rows.count && rows[low].contains(row)
    }

    private mutating func compare(_ row: Int) {
        if queries.count > 1, !seen.insert(row).inserted { return }
        let (dimension, farthest) = (matrix.dimension, best.bound)
        var least = Float.infinity
        vectors.withUnsafeBufferPointer { vectors in
            codes.withUnsafeBufferPointer { codes in
                guard let vectors = vectors.baseAddress, let codes = codes.baseAddress else { return }
                for query in bounds.indices {
                    if let bound = matrix.lowerBound(
                        bounds[query], codes + query * dimension, row: row, kernels: kernels),
                        bound > min(farthest, least)
                    {
                        continue
                    }
                    let distance = matrix.squaredDistance(
                        from: vectors + query * dimension, to: row, kernels: kernels)
                    least = min(least, distance)
                }
            }
        }
        if least < .infinity { best.offer(row: row, squaredDistance: least) }
    }
}

extension PrintMatrix {
    /// Asks for a row's int8 codes, or for its components where there are none, before they are read.
    @inline(__always)
    fileprivate func prefetch(_ row: Int) {
        if let quantized {
            lk_prefetch(quantized.codes + row * dimension, dimension)
            lk_prefetch(quantized.scales + row, 4)
            lk_prefetch(quantized.residualNorms + row, 4)
            lk_prefetch(squaredNorms + row, 4)
        } else {
            prefetchRow(row)
        }
    }

    /// The proved lower bound on a row's squared distance; nil without int8 rows.
    @inline(__always)
    fileprivate func lowerBound(
        _ bound: lk_distance_bound, _ query: UnsafePointer<Int8>, row: Int, kernels: SIMDTarget
    ) -> Float? {
        guard let quantized else { return nil }
        var dot: Int32 = 0
        kernels.table.quantized_dot_products(
            query, quantized.codes + row * dimension, dimension, 1, dimension, &dot)
        return lowerBound(bound, dot: dot, row: row, of: quantized)
    }

    @inline(__always)
    private func lowerBound(_ bound: lk_distance_bound, dot: Int32, row: Int, of quantized: QuantizedRows) -> Float {
        bound.base + bound.norm_weight * squaredNorms[row]
            - bound.dot_weight * quantized.scales[row] * Float(dot - bound.dot_offset)
            - bound.residual_weight * quantized.residualNorms[row]
    }

    /// The proved lower bounds on the squared distances of all rows; zeros without int8 rows.
    fileprivate func lowerBounds(to query: [Float], kernels: SIMDTarget) -> [Float] {
        guard let quantized else { return Array(repeating: 0, count: rowCount) }
        let query = QuantizedQuery(query)
        let bound = lk_distance_bound(query)
        return withUnsafeTemporaryAllocation(of: Int32.self, capacity: max(1, rowCount)) { dots in
            guard let dots = dots.baseAddress else { return [] }
            kernels.table.quantized_dot_products(query.codes, quantized.codes, dimension, rowCount, dimension, dots)
            return (0..<rowCount).map { lowerBound(bound, dot: dots[$0], row: $0, of: quantized) }
        }
    }
}

/// Lists by lower bounds on the squared distances of their centroids from a query, the least first: a binary heap.
///
/// A search looks at a few of all lists, so that sorting them would take longer.
private struct ListQueue {
    private var heap: [(bound: Float, list: UInt32)]

    /// O(lists · dimension).
    init(_ centroids: PrintMatrix, query: [Float], kernels: SIMDTarget) {
        heap = centroids.lowerBounds(to: query, kernels: kernels).enumerated().map { ($1, UInt32($0)) }
        for parent in (0..<heap.count / 2).reversed() { sink(parent) }
    }

    /// Takes out the list with the least bound, unless that is above a limit. O(log lists).
    mutating func removeNearest(within limit: Float) -> Int? {
        guard let nearest = heap.first, nearest.bound <= limit else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink(0)
        }
        return Int(nearest.list)
    }

    private mutating func sink(_ start: Int) {
        heap.withUnsafeMutableBufferPointer { heap in
            var parent = start
            while true {
                let (left, right) = (2 * parent + 1, 2 * parent + 2)
                var least = parent
                if left < heap.count, heap[left].bound < heap[least].bound { least = left }
                if right < heap.count, heap[right].bound < heap[least].bound { least = right }
                guard least != parent else { return }
                heap.swapAt(parent, least)
                parent = least
            }
        }
    }
}

package enum NormalDistribution {
    /// The standard normal quantile, by bisection of the error function. 0 < probability < 1.
    package static func quantile(_ probability: Double) -> Double {
        var (low, high) = (-9.0, 9.0)
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if cumulative(middle) < probability { low = middle } else { high = middle }
        }
        return (low + high) / 2
    }

    private static func cumulative(_ x: Double) -> Double { erfc(-x / 2.0.squareRoot()) / 2 }
}
