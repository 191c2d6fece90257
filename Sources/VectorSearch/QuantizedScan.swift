import CKernels
import Compute

/// A two-pass search: a lower bound from the int8 codes rejects most rows; the rest are ranked by exact float32
/// distances.
///
/// A row is rejected only if its lower bound is above the k-th best distance so far, and the second pass uses the same
/// kernel as a search without codes. So the result is bit-identical.
struct QuantizedScan {
    let matrix: PrintMatrix
    let rows: QuantizedRows
    let kernels: SIMDTarget
    private let queries: [[Float]]
    private let quantized: [QuantizedQuery]
    private let bounds: [lk_distance_bound]
    private let cancellation: Cancellation

    init(
        _ matrix: PrintMatrix, rows: QuantizedRows, queries: [[Float]], kernels: SIMDTarget, cancellation: Cancellation
    ) {
        self.matrix = matrix
        self.rows = rows
        self.kernels = kernels
        self.queries = queries
        self.cancellation = cancellation
        quantized = queries.map { QuantizedQuery($0) }
        bounds = quantized.map { lk_distance_bound($0) }
    }

    /// The `k` rows nearest to any of the queries that come after `last`.
    func nearest(in blocks: ArraySlice<Range<Int>>, k: Int, after last: Neighbor?) -> TopK {
        var best = TopK(k)
        let dimension = matrix.dimension
        let largest = blocks.lazy.map(\.count).max() ?? 0
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: max(1, largest)) { dots in
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: max(1, largest)) { found in
                guard let dots = dots.baseAddress, let found = found.baseAddress else { return }
                var isCandidate = [Bool](repeating: false, count: largest)
                for block in blocks {
                    if cancellation.isCancelled { return }
                    let first = block.lowerBound
                    var candidates = 0
                    for (query, codes) in quantized.enumerated() {
                        kernels.table.quantized_dot_products(
                            codes.codes, rows.codes + first * dimension, dimension, block.count, dimension, dots)
                        var bound = bounds[query]
                        let count = kernels.table.select_candidates(
                            &bound, dots, rows.scales + first, matrix.squaredNorms + first, rows.residualNorms + first,
                            block.count,
                            best.bound, found)
                        for index in 0..<count { isCandidate[Int(found[index])] = true }
                        candidates += count
                    }
                    guard candidates > 0 else { continue }
                    for offset in 0..<block.count where isCandidate[offset] {
                        isCandidate[offset] = false
                        let neighbor = Neighbor(
                            row: first + offset, squaredDistance: squaredDistance(to: first + offset))
                        if let last, !last.precedes(neighbor) { continue }
                        best.offer(row: neighbor.row, squaredDistance: neighbor.squaredDistance)
                    }
                }
            }
        }
        return best
    }

    /// The row's minimum distance over the queries.
    private func squaredDistance(to row: Int) -> Float {
        var least = Float.infinity
        for (index, query) in queries.enumerated() {
            let distance = matrix.squaredDistance(from: query, to: row, kernels: kernels)
            least = index == 0 ? distance : min(least, distance)
        }
        return least
    }
}

/// ``QuantizedScan`` for a group of queries: the codes of a block of rows are packed for products with many queries,
/// and the lower bounds of all of them are computed while they are in the cache.
struct QuantizedBatchScan {
    let matrix: PrintMatrix
    let rows: QuantizedRows
    let kernels: SIMDTarget
    let queries: [[Float]]
    let k: Int
    let cancellation: Cancellation
    private let bounds: [lk_distance_bound]
    /// All queries, each padded to whole quads.
    private let codes: [Int8]
    private let quads: Int

    init(
        _ matrix: PrintMatrix, rows: QuantizedRows, queries: [[Float]], k: Int, kernels: SIMDTarget,
        cancellation: Cancellation
    ) {
        self.matrix = matrix
        self.rows = rows
        self.kernels = kernels
        self.queries = queries
        self.k = k
        self.cancellation = cancellation
        let quantized = queries.map { QuantizedQuery($0) }
        bounds = quantized.map { lk_distance_bound($0) }
        let quads = (matrix.dimension + 3) / 4
        let padding = [Int8](repeating: 0, count: quads * 4 - matrix.dimension)
        codes = quantized.flatMap { $0.codes + padding }
        self.quads = quads
    }

    /// With 256 queries a block of dot products takes 256 KiB, a quarter of a common second-level cache.
    private static let rowsPerBlock = 256
    /// Rows that a packed group holds.
    private static let groupSize = 16

    func run(workers: Int) -> [[Neighbor]] {
        let parts = concurrentMap(workers, threads: workers) { worker in
            scan((0..<matrix.rowCount).part(worker, of: workers))
        }
        return queries.indices.map { query in TopK(merging: parts.map { $0[query] }).sorted() }
    }

    private func scan(_ range: Range<Int>) -> [TopK] {
        var best = queries.map { _ in TopK(k) }
        let dimension = matrix.dimension
        let packed = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.rowsPerBlock * quads * 4)
        let dots = UnsafeMutablePointer<Int32>.allocate(capacity: Self.rowsPerBlock * queries.count)
        let found = UnsafeMutablePointer<UInt32>.allocate(capacity: Self.rowsPerBlock)
        defer {
            packed.deallocate()
            dots.deallocate()
            found.deallocate()
        }
        for first in stride(from: range.lowerBound, to: range.upperBound, by: Self.rowsPerBlock) {
            if cancellation.isCancelled { break }
            let count = min(Self.rowsPerBlock, range.upperBound - first)
            let groups = (count + Self.groupSize - 1) / Self.groupSize
            kernels.table.pack_quantized_rows(rows.codes + first * dimension, dimension, count, dimension, packed)
            kernels.table.quantized_products(codes, queries.count, packed, groups, quads, dots)
            for query in queries.indices {
                var bound = bounds[query]
                let within = kernels.table.select_candidates(
                    &bound, dots + query * groups * Self.groupSize, rows.scales + first, matrix.squaredNorms + first,
                    rows.residualNorms + first, count, best[query].bound, found)
                for index in 0..<within {
                    let row = first + Int(found[index])
                    let distance = matrix.squaredDistance(from: queries[query], to: row, kernels: kernels)
                    best[query].offer(row: row, squaredDistance: distance)
                }
            }
        }
        return best
    }
}

extension lk_distance_bound {
    /// Lower bound on the squared distance that the float32 kernel computes for a row, from an int8 dot product.
    ///
    /// With the row x = s c + e and the query q = t b + f, and by Cauchy and Schwarz,
    ///
    ///     ‖q − x‖² = ‖q‖² + ‖x‖² − 2 q·x
    ///     q·x = t s b·c + q·e + f·(x − e) ≤ t s b·c + (‖q‖ + ‖f‖) ‖e‖ + ‖f‖ ‖x‖
    ///
    /// where ‖x‖ ≤ (‖x‖² + 1) / 2. The rounding error of the kernel's sum of n squares is below
    /// 4 (n + 4) u (‖q‖² + ‖x‖²), u = 2⁻²⁴ (Higham, "Accuracy and Stability of Numerical Algorithms",
    /// section 3.1); that of the dozen operations here, whose terms are at most 4 (‖q‖² + ‖x‖² + 1), below
    /// 64 u (‖q‖² + ‖x‖² + 1).
    init(_ query: QuantizedQuery) {
        let squaredNorm = Double(query.squaredNorm)
        let residualNorm = Double(query.residualNorm)
        let rounding = (4 * Double(query.codes.count + 4) + 64) * 0x1p-24
        let offset = query.codes.reduce(0) { $0 + Int32($1) } * Int32(QuantizedRows.zero)
        self.init(
            base: Float(squaredNorm * (1 - rounding) - rounding - residualNorm).nextDown,
            norm_weight: Float(1 - rounding - residualNorm).nextDown, dot_weight: 2 * query.scale, dot_offset: offset,
            residual_weight: Float(2 * (squaredNorm.squareRoot() + residualNorm)).nextUp)
    }
}
