import COpenBLAS
import Compute

/// A group of queries against all rows through BLAS.
///
/// BLAS sums in another order, so its distances differ from the kernel's in the last bits. They select `k + spare`
/// candidates per query, whose distances the kernel computes. If the farthest candidate is farther than the k-th
/// distance by more than the rounding errors, no other row can belong to the result. Otherwise (many near-ties) the
/// query gets a scan of its own.
struct BatchScan: Sendable {
    let matrix: PrintMatrix
    let kernels: SIMDTarget
    let queries: [[Float]]
    let k: Int

    private static let spare = 16
    /// Rows per block: with 256 queries a block of distances takes 256 KiB.
    private static let rowsPerBlock = 256

    /// The nearest rows of each query; nil if the candidates do not prove them.
    func run(workers: Int) -> [[Neighbor]?] {
        let flat = queries.flatMap { $0 }
        let norms = queries.map { query in query.withUnsafeBufferPointer(PrintMatrix.squaredNorm) }
        let parts = concurrentMap(workers, threads: workers) { worker in
            candidates(flat, norms: norms, rows: (0..<matrix.rowCount).part(worker, of: workers))
        }
        let largestNorm = parts.map(\.largestNorm).max() ?? 0
        return queries.indices.map { query in
            proven(
                TopK(merging: parts.map { $0.best[query] }), query: queries[query], queryNorm: norms[query],
                rowNorm: largestNorm)
        }
    }

    private func candidates(_ flat: [Float], norms: [Float], rows: Range<Int>) -> (best: [TopK], largestNorm: Float) {
        var best = queries.map { _ in TopK(k + Self.spare) }
        var largest: Float = 0
        let block = Self.rowsPerBlock
        let products = UnsafeMutablePointer<Float>.allocate(capacity: queries.count * block)
        defer { products.deallocate() }
        var row = rows.lowerBound
        while row < rows.upperBound {
            let count = min(block, rows.upperBound - row)
            cblas_sgemm(
                CblasRowMajor, CblasNoTrans, CblasTrans, blasint(queries.count), blasint(count),
                blasint(matrix.dimension),
                -2, flat, blasint(matrix.dimension), matrix.rows + row * matrix.dimension, blasint(matrix.dimension),
                0, products, blasint(block))
            let rowNorms = matrix.squaredNorms + row
            for index in 0..<count { largest = max(largest, rowNorms[index]) }
            for query in queries.indices {
                let line = products + query * block
                let norm = norms[query]
                var bound = best[query].bound
                for index in 0..<count {
                    let distance = max(0, norm + rowNorms[index] + line[index])
                    if distance <= bound {
                        best[query].offer(row: row + index, squaredDistance: distance)
                        bound = best[query].bound
                    }
                }
            }
            row += count
        }
        return (best, largest)
    }

    private func proven(_ candidates: TopK, query: [Float], queryNorm: Float, rowNorm: Float) -> [Neighbor]? {
        let approximate = candidates.sorted()
        var exact = TopK(k)
        for candidate in approximate {
            var distance: Float = 0
            kernels.table.squared_distances(
                query, matrix.rows + candidate.row * matrix.dimension, matrix.dimension, 1, matrix.dimension, &distance)
            exact.offer(row: candidate.row, squaredDistance: distance)
        }
        let nearest = exact.sorted()
        guard candidates.capacity < matrix.rowCount else { return nearest }
        guard let farthest = approximate.last, let kth = nearest.last, farthest.squaredDistance.isFinite else {
            return nil
        }
        // A sum of n products is off by at most n · u · Σ|q||x| (Higham, "Accuracy and Stability of
        // Numerical Algorithms", section 3.1), u = 2⁻²⁴, and Σ|q||x| ≤ ‖q‖‖x‖ ≤ (‖q‖² + ‖x‖²) / 2.
        // Both sums, the factor two and the last additions together stay below 4 · (n + 4) · u of
        // ‖q‖² + ‖x‖².
        let error = 4 * Float(matrix.dimension + 4) * 0x1p-24 * (queryNorm + rowNorm)
        return farthest.squaredDistance - error > kth.squaredDistance ? nearest : nil
    }
}
