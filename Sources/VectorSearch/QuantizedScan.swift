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
            var distance: Float = 0
            kernels.table.squared_distances(
                query, matrix.rows + row * matrix.dimension, matrix.dimension, 1, matrix.dimension, &distance)
            least = index == 0 ? distance : min(least, distance)
        }
        return least
    }
}
