import CKernels
import Compute

/// A group of queries against all rows through a matrix product.
///
/// The product (``QueryProducts``) sums in another order, so its distances differ from the kernel's in the last bits.
/// They select `k + spare` candidates per query, whose distances the kernel computes. If the farthest candidate is
/// farther than the k-th distance by more than the rounding errors, no other row can belong to the result. Otherwise
/// (many near-ties) the query gets a scan of its own.
struct BatchScan: Sendable {
    let matrix: PrintMatrix
    let kernels: SIMDTarget
    /// What multiplies; the kernels without one.
    let library: BLAS?
    let queries: [[Float]]
    let k: Int
    let cancellation: Cancellation

    /// Fewer for few neighbors, as of k-means: keeping many takes longer than their products.
    private var spare: Int { min(3 * k, 16) }
    /// Rows per block: with 256 queries a block of products takes 256 KiB.
    private static let rowsPerBlock = 256

    /// The nearest rows of each query; nil if the candidates do not prove them.
    func run(workers: Int) -> [[Neighbor]?] {
        let norms = queries.map { query in query.withUnsafeBufferPointer(PrintMatrix.squaredNorm) }
        let products = QueryProducts(queries, dimension: matrix.dimension, kernels: kernels, library: library)
        let parts = concurrentMap(workers, threads: workers) { worker in
            candidates(products, norms: norms, rows: (0..<matrix.rowCount).part(worker, of: workers))
        }
        let largestNorm = parts.map(\.largestNorm).max() ?? 0
        return queries.indices.map { query in
            proven(
                TopK(merging: parts.map { $0.best[query] }), query: queries[query], queryNorm: norms[query],
                rowNorm: largestNorm)
        }
    }

    private func candidates(
        _ products: QueryProducts, norms: [Float], rows: Range<Int>
    ) -> (best: [TopK], largestNorm: Float) {
        var best = queries.map { _ in TopK(k + spare) }
        var largest: Float = 0
        let (block, lanes) = (Self.rowsPerBlock, QueryProducts.lanes)
        let values = AlignedProducts(count: products.groupCount * block * lanes)
        var found = [UInt32](repeating: 0, count: block)
        // What a product may be below for its row to be a candidate; unreachable in lanes without a query.
        var limits = [Float](repeating: -.infinity, count: products.groupCount * lanes)
        for query in queries.indices { limits[query] = .infinity }
        for row in stride(from: rows.lowerBound, to: rows.upperBound, by: block) {
            if cancellation.isCancelled { break }
            let count = min(block, rows.upperBound - row)
            matrix.withFloats(row..<(row + count), kernels: kernels) {
                products.compute(rows: $0, count: count, into: values.pointer)
            }
            let rowNorms = matrix.squaredNorms + row
            for index in 0..<count { largest = max(largest, rowNorms[index]) }
            for group in 0..<products.groupCount {
                let first = group * lanes
                let (lines, step) = products.lines(of: group, in: values.pointer, rowCount: count)
                let within = limits.withUnsafeBufferPointer { limits in
                    lk_select_rows(lines, step, rowNorms, count, limits.baseAddress.map { $0 + first }, &found)
                }
                guard within > 0 else { continue }
                for query in first..<min(first + lanes, queries.count) {
                    for index in found[..<within].lazy.map(Int.init) {
                        best[query].offer(
                            row: row + index,
                            squaredDistance: max(
                                0, norms[query] + rowNorms[index] + lines[index * step + query - first]))
                    }
                    // Compared with a sum in another order; what that may miss is within the error of `proven`.
                    limits[query] = best[query].bound - norms[query]
                }
            }
        }
        return (best, largest)
    }

    private func proven(_ candidates: TopK, query: [Float], queryNorm: Float, rowNorm: Float) -> [Neighbor]? {
        let approximate = candidates.sorted()
        var exact = TopK(k)
        for candidate in approximate {
            let distance = matrix.squaredDistance(from: query, to: candidate.row, kernels: kernels)
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

/// Memory for products, on a cache line.
final class AlignedProducts {
    let pointer: UnsafeMutablePointer<Float>

    init(count: Int) {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: count * MemoryLayout<Float>.stride, alignment: 64)
        pointer = bytes.bindMemory(to: Float.self, capacity: count)
    }

    deinit { UnsafeMutableRawPointer(pointer).deallocate() }
}

/// Products of many queries with rows, −2 q·x: a matrix product.
///
/// A 1×1 convolution is a matrix product, with rows for pixels and queries for output channels, so this is the
/// network's register-tiled kernel. It needs no library, no threads of its own, and no state that a process shares.
/// Where a BLAS library is faster (``BLAS``), that multiplies.
struct QueryProducts: Sendable {
    /// Queries that a group holds.
    static let lanes = Int(LK_CHANNEL_BLOCK)

    let groupCount: Int
    private let dimension: Int
    private let kernels: SIMDTarget
    /// [group][component][16 queries]; for a library [query][component].
    private let weights: [Float]
    private let zeros: [Float]
    private let library: BLAS?

    init(_ queries: [[Float]], dimension: Int, kernels: SIMDTarget, library: BLAS?) {
        let lanes = Self.lanes
        groupCount = (queries.count + lanes - 1) / lanes
        self.dimension = dimension
        self.kernels = kernels
        zeros = [Float](repeating: 0, count: groupCount * lanes)
        var weights = [Float](repeating: 0, count: groupCount * dimension * lanes)
        self.library = library
        for (index, query) in queries.enumerated() {
            if library != nil {
                weights.replaceSubrange(index * dimension..<(index + 1) * dimension, with: query)
                continue
            }
            let first = index / lanes * dimension * lanes + index % lanes
            for (component, value) in query.enumerated() { weights[first + component * lanes] = -2 * value }
        }
        self.weights = weights
    }

    /// Writes [group][row][16 queries]; a library writes [row][query].
    func compute(rows: UnsafePointer<Float>, count: Int, into output: UnsafeMutablePointer<Float>) {
        weights.withUnsafeBufferPointer { weights in
            if let library, let queries = weights.baseAddress {
                let queryCount = groupCount * Self.lanes
                library.multiply(
                    rows, count, queries, queryCount, dimension: dimension, into: output, stride: queryCount)
                return
            }
            zeros.withUnsafeBufferPointer { zeros in
                var product = lk_convolution()
                product.input = rows
                product.input_block_stride = Self.lanes
                product.pixel_step = dimension
                product.input_channels = Int32(dimension)
                product.weights = weights.baseAddress
                product.bias = zeros.baseAddress
                product.output = output
                product.output_block_stride = count * Self.lanes
                product.output_pixel_stride = Self.lanes
                product.output_width = Int32(count)
                (product.kernel_height, product.kernel_width) = (1, 1)
                kernels.table.convolve(&product, 0, Int32(groupCount), 0, 1)
            }
        }
    }

    /// The products of a group's 16 queries with the first row, and the step to those with the next.
    func lines(of group: Int, in products: UnsafeMutablePointer<Float>, rowCount: Int) -> (UnsafePointer<Float>, Int) {
        if library != nil { return (UnsafePointer(products + group * Self.lanes), groupCount * Self.lanes) }
        return (UnsafePointer(products + group * rowCount * Self.lanes), Self.lanes)
    }
}
