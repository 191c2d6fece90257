import CKernels
import Compute

/// The nearest rows by a pass over their codes and another over the few whose bound leaves them a chance.
///
/// The second pass computes distances with the same kernel as a search without codes, and a row is only
/// passed over where that kernel's result is certain to be above the k-th best so far: the result is the
/// same to the bit.
struct QuantizedScan {
    let matrix: PrintMatrix
    let rows: QuantizedRows
    let kernels: KernelTier
    private let queries: [[Float]]
    private let quantized: [QuantizedQuery]
    private let bounds: [lk_distance_bound]

    /// Nil where the matrix has no codes or this CPU gains nothing by them.
    init?(_ matrix: PrintMatrix, queries: [[Float]], kernels: KernelTier) {
        guard let rows = matrix.quantized, kernels.isFastWithBytes else { return nil }
        self.matrix = matrix
        self.rows = rows
        self.kernels = kernels
        self.queries = queries
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
                let first = block.lowerBound
                var candidates = 0
                for (query, codes) in quantized.enumerated() {
                    kernels.table.quantized_dot_products(
                        codes.codes, rows.codes + first * dimension, dimension, block.count, dimension, dots)
                    var bound = bounds[query]
                    let count = kernels.table.rows_within(
                        &bound, dots, rows.scales + first, matrix.squaredNorms + first, rows.errors + first, block.count,
                        best.bound, found)
                    for index in 0..<count { isCandidate[Int(found[index])] = true }
                    candidates += count
                }
                guard candidates > 0 else { continue }
                for offset in 0..<block.count where isCandidate[offset] {
                    isCandidate[offset] = false
                    let neighbor = Neighbor(row: first + offset, squaredDistance: squaredDistance(to: first + offset))
                    if let last, !last.precedes(neighbor) { continue }
                    best.offer(row: neighbor.row, squaredDistance: neighbor.squaredDistance)
                }
            }
        }}
        return best
    }

    /// The least of the row's distances to the queries.
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
