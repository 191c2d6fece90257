import COpenBLAS
import Foundation
import Kernels
import Parallelism

/// Finds the rows nearest to a query by looking at all of them.
///
/// One query goes through a fused kernel at the speed of memory. Many queries go through BLAS
/// (‖q‖² + ‖x‖² − 2 q·x) in blocks that stay in the cache, to find candidates whose distances the
/// same kernel then computes, so that the result of a query is the same, to the bit, whether it
/// comes alone or in a batch, on whatever number of threads and whichever kernel tier.
public struct ExactSearch: Sendable {
    public let matrix: PrintMatrix
    private let kernels: KernelTier

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
        check([query])
        return scan([query], k: k, threads: threads)[0]
    }

    /// The `k` nearest rows of each query; as ``nearest(to:k:threads:)`` for each of them, but the
    /// matrix is read once for all.
    ///
    /// - Precondition: the queries have the matrix's dimension.
    public func nearest(toEach queries: [[Float]], k: Int, threads: Int? = nil) -> [[Neighbor]] {
        check(queries)
        guard queries.count >= Self.fewestForBLAS, k < matrix.rowCount, k > 0 else {
            return scan(queries, k: k, threads: threads)
        }
        let groups = stride(from: 0, to: queries.count, by: Self.queriesPerBlock).map {
            $0..<min($0 + Self.queriesPerBlock, queries.count)
        }
        let workers = workerCount(threads, work: queries.count * matrix.rowCount * matrix.dimension)
        // Threads share the rows, so that each streams its part of the matrix once for a group.
        return groups.flatMap { group in
            BatchScan(matrix: matrix, kernels: kernels, queries: Array(queries[group]), k: k)
                .run(workers: workers)
                .enumerated().map { index, found in
                    found ?? nearest(to: queries[group.lowerBound + index], k: k, threads: threads)
                }
        }
    }

    /// Below this, BLAS packs more than it multiplies.
    private static let fewestForBLAS = 4
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
        let wanted = max(1, threads ?? ProcessInfo.processInfo.activeProcessorCount)
        return max(1, min(wanted, work / Self.workPerThread))
    }

    private func scan(_ queries: [[Float]], k: Int, threads: Int?) -> [[Neighbor]] {
        let workers = workerCount(threads, work: queries.count * matrix.rowCount * matrix.dimension)
        let parts = concurrentMap(workers, threads: workers) { worker in
            scan(queries, k: k, rows: (0..<matrix.rowCount).part(worker, of: workers))
        }
        return queries.indices.map { query in TopK(merging: parts.map { $0[query] }).sorted() }
    }

    private func scan(_ queries: [[Float]], k: Int, rows: Range<Int>) -> [TopK] {
        var best = queries.map { _ in TopK(k) }
        withUnsafeTemporaryAllocation(of: Float.self, capacity: Self.rowsPerBlock) { distances in
            guard let out = distances.baseAddress else { return }
            var row = rows.lowerBound
            while row < rows.upperBound {
                let count = min(Self.rowsPerBlock, rows.upperBound - row)
                for (index, query) in queries.enumerated() {
                    squaredDistances(from: query, to: row..<(row + count), into: out)
                    for offset in 0..<count { best[index].offer(row: row + offset, squaredDistance: out[offset]) }
                }
                row += count
            }
        }
        return best
    }

    /// One distance for each row of the range.
    func squaredDistances(from query: [Float], to rows: Range<Int>, into out: UnsafeMutablePointer<Float>) {
        kernels.table.squared_distances(
            query, matrix.rows + rows.lowerBound * matrix.dimension, matrix.dimension, rows.count, matrix.dimension, out)
    }
}
