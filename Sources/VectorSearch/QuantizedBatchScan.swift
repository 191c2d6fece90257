import CKernels
import Compute

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
                    var distance: Float = 0
                    kernels.table.squared_distances(
                        queries[query], matrix.rows + row * dimension, dimension, 1, dimension, &distance)
                    best[query].offer(row: row, squaredDistance: distance)
                }
            }
        }
        return best
    }
}
