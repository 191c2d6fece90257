import COpenBLAS
import Compute
import Foundation

/// Finds the rows nearest to a query by looking at all of them.
///
/// Where a matrix has its rows as bytes too and the CPU multiplies those fast, they tell of most rows that
/// they are too far away; the distances of the rest are computed by a fused kernel
/// (``QuantizedRows``). Otherwise one query goes through that kernel alone, at the speed of memory, and many
/// go through BLAS (‖q‖² + ‖x‖² − 2 q·x) in blocks that stay in the cache, to find candidates for it. So the
/// result of a query is the same, to the bit, whether it comes alone or in a batch, on whatever number of
/// threads and whichever kernel tier.
public struct ExactSearch: Sendable {
    public let matrix: PrintMatrix
    let kernels: KernelTier

    public init(_ matrix: PrintMatrix, tier: KernelTier = .selected) {
        self.matrix = matrix
        self.kernels = tier
        // The package's own threads share the work out; BLAS must not start more.
        _ = Self.singleThreadedBLAS
    }

    private static let singleThreadedBLAS: Void = openblas_set_num_threads(1)

    /// The `k` nearest rows, nearest first, equally near ones in the matrix's order; all of them
    /// where there are no more than `k`. O(rowCount · dimension).
    ///
    /// - Precondition: the query has the matrix's dimension.
    public func nearest(to query: [Float], k: Int, threads: Int? = nil) -> [Neighbor] {
        nearest(toAnyOf: [query], k: k, threads: threads)
    }

    /// The `k` nearest rows of each query; as ``nearest(to:k:threads:)`` for each of them, but the
    /// matrix is read once for all.
    ///
    /// - Precondition: the queries have the matrix's dimension.
    public func nearest(toEach queries: [[Float]], k: Int, threads: Int? = nil) -> [[Neighbor]] {
        check(queries)
        guard queries.count >= Self.fewestForBatch, k < matrix.rowCount, k > 0 else {
            return queries.map { nearest(to: $0, k: k, threads: threads) }
        }
        let groups = stride(from: 0, to: queries.count, by: Self.queriesPerBlock).map {
            $0..<min($0 + Self.queriesPerBlock, queries.count)
        }
        let workers = workerCount(threads, work: queries.count * matrix.rowCount * matrix.dimension)
        // Threads share the rows, so that each streams its part of the matrix once for a group.
        return groups.flatMap { range in
            let group = Array(queries[range])
            if let scan = QuantizedBatchScan(matrix, queries: group, k: k, kernels: kernels) { return scan.run(workers: workers) }
            return BatchScan(matrix: matrix, kernels: kernels, queries: group, k: k)
                .run(workers: workers)
                .enumerated().map { index, found in found ?? nearest(to: group[index], k: k, threads: threads) }
        }
    }

    /// Below this, a batch packs more than it multiplies.
    private static let fewestForBatch = 4
    /// 256 queries of 256 floats are 256 KiB, a quarter of a common second-level cache.
    private static let queriesPerBlock = 256
    /// Rows that the cache still holds when the next query comes to them.
    static let rowsPerBlock = 256
    /// Multiply-adds that are worth another thread.
    private static let workPerThread = 1 << 18

    /// The kernels read as many floats of a query as the rows have.
    func check(_ queries: [[Float]]) {
        precondition(queries.allSatisfy { $0.count == matrix.dimension }, "a query has \(matrix.dimension) components, as the rows do")
    }

    func workerCount(_ threads: Int?, work: Int) -> Int {
        let wanted = max(1, threads ?? availableProcessorCount)
        return max(1, min(wanted, work / Self.workPerThread))
    }

    /// One distance for each row of the range.
    func squaredDistances(from query: [Float], to rows: Range<Int>, into out: UnsafeMutablePointer<Float>) {
        kernels.table.squared_distances(
            query, matrix.rows + rows.lowerBound * matrix.dimension, matrix.dimension, rows.count, matrix.dimension, out)
    }
}
