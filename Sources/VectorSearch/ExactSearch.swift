import CKernels
package import Compute

/// Exhaustive nearest-neighbor search: exact, without an index.
///
/// If the matrix has int8 rows (``QuantizedRows``), a lower bound from them rejects most rows; the rest are ranked by
/// exact float32 distances. That takes AVX2 or later for a single query, and for a batch 64 queries and a CPU that
/// multiplies bytes faster than floats (VNNI, or AVX2 since Skylake and Zen 3). Otherwise a single query goes through
/// the float32 kernel, at memory bandwidth, and a batch goes through a matrix product (‖q‖² + ‖x‖² − 2 q·x) in blocks
/// that stay in the cache, to select candidates for that kernel.
///
/// The result of a query is bit-identical alone and in a batch, for any number of threads and on every SIMD target.
/// Without `threads`, a search uses the threads that have nothing else to do (`ComputeExecutor`).
public struct ExactSearch: Sendable {
    /// The rows that are searched.
    public let matrix: PrintMatrix
    private let kernels: SIMDTarget
    /// The rows of the first pass for one query; nil for a search of one pass.
    private let quantized: QuantizedRows?
    /// The same for a batch of queries.
    private let quantizedForBatches: QuantizedRows?
    /// Whether a BLAS library multiplies batches; nil where it does if it is faster.
    private let usesBLAS: Bool?
    /// Whether the first pass was chosen, however many queries there are.
    private let isForced: Bool

    /// Whether a lower bound from int8 rows rejects rows before their distance is computed.
    package var usesInt8: Bool { quantized != nil }

    /// A search of all rows of a matrix, on the fastest SIMD target of the CPU. O(1).
    public init(_ matrix: PrintMatrix) { self.init(matrix, simd: .selected) }

    /// - Parameters:
    ///   - int8: whether a lower bound from the int8 rows rejects rows first; by default where that is faster.
    ///   - blas: whether a BLAS library multiplies batches, if the machine has one; by default where that is faster.
    package init(_ matrix: PrintMatrix, simd: SIMDTarget, int8: Bool? = nil, blas: Bool? = nil) {
        usesBLAS = blas
        isForced = int8 != nil
        self.matrix = matrix
        self.kernels = simd
        quantized = int8 ?? simd.hasFastInt8Scan ? matrix.quantized : nil
        quantizedForBatches = int8 ?? simd.hasFastInt8DotProduct ? matrix.quantized : nil
    }

    /// The `k` nearest rows, nearest first; ties in the matrix's order. O(rowCount · dimension).
    ///
    /// - Precondition: the query has the matrix's dimension, and is finite.
    public func nearest(to query: [Float], k: Int, threads: Int? = nil) -> [Neighbor] {
        nearest(toAnyOf: [query], k: k, threads: threads)
    }

    /// The `k` nearest rows of each query. The matrix is read once for all queries.
    ///
    /// - Precondition: the queries are finite and have the matrix's dimension.
    public func nearest(toEach queries: [[Float]], k: Int, threads: Int? = nil) -> [[Neighbor]] {
        nearest(toEach: queries, k: k, threads: threads, cancellation: .none)
    }

    /// - Parameter cancellation: once it is set, the result is incomplete.
    package func nearest(
        toEach queries: [[Float]], k: Int, threads: Int? = nil, cancellation: Cancellation
    ) -> [[Neighbor]] {
        matrix.check(queries)
        func alone(_ query: [Float]) -> [Neighbor] {
            nearest(toAnyOf: [query], k: k, threads: threads, cancellation: cancellation)
        }
        let fewest = quantized == nil || isForced ? Self.fewestForBatch : Self.fewestForBatchBesideInt8
        guard queries.count >= fewest, k < matrix.rowCount, k > 0 else { return queries.map(alone) }
        let groups = stride(from: 0, to: queries.count, by: Self.queriesPerBlock).map {
            $0..<min($0 + Self.queriesPerBlock, queries.count)
        }
        let workers = workerCount(threads, work: queries.count * matrix.rowCount * matrix.dimension)
        // Threads share the rows, so that each streams its part of the matrix once for a group.
        return groups.flatMap { range in
            let group = Array(queries[range])
            if let quantizedForBatches, isForced || group.count >= fewestForInt8Batch {
                return QuantizedBatchScan(
                    matrix, rows: quantizedForBatches, queries: group, k: k, kernels: kernels,
                    cancellation: cancellation
                )
                .run(workers: workers)
            }
            return BatchScan(
                matrix: matrix, kernels: kernels,
                library: library(forBatchOf: group.count, threads: workers), queries: group, k: k,
                cancellation: cancellation
            )
            .run(workers: workers)
            .enumerated().map { index, found in found ?? alone(group[index]) }
        }
    }

    /// The library that multiplies a batch, on each of our threads; nil where the kernels do.
    private func library(forBatchOf count: Int, threads: Int) -> BLAS? {
        let use = BLAS.forBatch(of: count, kernels: kernels, threads: threads, wanted: usesBLAS)
        if case .onEachThread(let library) = use { return library }
        return nil
    }

    /// For fewer queries, packing costs more than it saves.
    private static let fewestForBatch = 4
    /// Fewer queries are faster one by one, since int8 rows take a quarter of the memory bandwidth: four took 2.6 ms of
    /// 65,536 rows of 256 components that way, and 6.1 to 7.9 in a batch; eight took as long, 16 were faster in a batch
    /// (EPYC of family 26, one core).
    private static let fewestForBatchBesideInt8 = 10
    /// Smaller batches are faster in float32: those of 16, 32, 64 and 256 queries of 256 components took 1.7, 1.3, 0.8
    /// and 0.5 times as long in int8 there, those of 64 and 256 queries of 2,048 components 1.3 and 0.8 times.
    private var fewestForInt8Batch: Int { matrix.dimension > 1024 ? 128 : 64 }
    /// 256 queries of 256 floats are 256 KiB, a quarter of a common second-level cache.
    private static let queriesPerBlock = 256
    /// Rows that are still in the cache when the next query reads them.
    private static let rowsPerBlock = 256
    /// The multiply-adds that make another thread worthwhile.
    private static let workPerThread = 1 << 18

    private func workerCount(_ threads: Int?, work: Int) -> Int {
        let wanted = max(1, threads ?? availableThreadCount)
        return max(1, min(wanted, work / Self.workPerThread))
    }
}

extension ExactSearch {
    /// The `k` rows nearest to any of several queries, nearest first; ties in the matrix's order. A row's distance is
    /// its minimum distance over the queries.
    ///
    /// - Parameters:
    ///   - rows: the rows to search, as ascending disjoint ranges; all of them by default.
    ///   - last: returns only what follows this neighbor in the ranking, so that a long ranking can be read in pages.
    /// - Precondition: the queries are finite and have the matrix's dimension, and `rows` lie in the matrix.
    /// - Complexity: O(queries · rows · dimension), however deep `last` is in the ranking.
    public func nearest(
        toAnyOf queries: [[Float]], k: Int, among rows: [Range<Int>]? = nil, after last: Neighbor? = nil,
        threads: Int? = nil
    ) -> [Neighbor] {
        nearest(toAnyOf: queries, k: k, among: rows, after: last, threads: threads, cancellation: .none)
    }

    /// - Parameter cancellation: once it is set, the result is incomplete.
    package func nearest(
        toAnyOf queries: [[Float]], k: Int, among rows: [Range<Int>]? = nil, after last: Neighbor? = nil,
        threads: Int? = nil, cancellation: Cancellation
    ) -> [Neighbor] {
        matrix.check(queries)
        guard !queries.isEmpty, k > 0 else { return [] }
        let rows = rows ?? [0..<matrix.rowCount]
        require(
            rows.allSatisfy { $0.lowerBound >= 0 && $0.upperBound <= matrix.rowCount }, "rows lie in the matrix")
        let blocks = rows.flatMap { range in
            stride(from: range.lowerBound, to: range.upperBound, by: Self.rowsPerBlock).map {
                $0..<min($0 + Self.rowsPerBlock, range.upperBound)
            }
        }
        let rowCount = rows.reduce(0) { $0 + $1.count }
        let workers = workerCount(threads, work: queries.count * rowCount * matrix.dimension)
        let quantized = quantized.map {
            QuantizedScan(matrix, rows: $0, queries: queries, kernels: kernels, cancellation: cancellation)
        }
        let parts = concurrentMap(workers, threads: workers) { worker in
            let part = blocks[blocks.indices.part(worker, of: workers)]
            return quantized?.nearest(in: part, k: k, after: last)
                ?? scan(queries, blocks: part, k: k, after: last, cancellation: cancellation)
        }
        return TopK(merging: parts).sorted()
    }

    private func scan(
        _ queries: [[Float]], blocks: ArraySlice<Range<Int>>, k: Int, after last: Neighbor?, cancellation: Cancellation
    ) -> TopK {
        var best = TopK(k)
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 2 * Self.rowsPerBlock) { memory in
            guard let nearest = memory.baseAddress else { return }
            let distances = nearest + Self.rowsPerBlock
            for block in blocks {
                if cancellation.isCancelled { return }
                for (index, query) in queries.enumerated() {
                    let out = index == 0 ? nearest : distances
                    matrix.squaredDistances(from: query, to: block, kernels: kernels, into: out)
                    guard index > 0 else { continue }
                    for offset in 0..<block.count { nearest[offset] = min(nearest[offset], distances[offset]) }
                }
                var bound = best.bound
                for offset in 0..<block.count where nearest[offset] <= bound {
                    let row = block.lowerBound + offset
                    if let last, !last.precedes(Neighbor(row: row, squaredDistance: nearest[offset])) { continue }
                    best.offer(row: row, squaredDistance: nearest[offset])
                    bound = best.bound
                }
            }
        }
        return best
    }
}
