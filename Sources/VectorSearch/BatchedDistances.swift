package import Compute

/// The squared Euclidean distances between all rows of two sets: a matrix, computed as a product of matrices.
///
/// ```swift
/// let distances = BatchedDistances(to: PrintMatrix(rows, dimension: 256))
/// var memory = [Float](repeating: 0, count: queries.count * distances.rowCount)
/// distances.compute(from: queries, into: &memory)
/// ```
///
/// Who wants only the nearest rows calls ``ExactSearch/nearest(toEach:k:threads:)``, which keeps no matrix and whose
/// distances are exact to the last bits. These follow from ‖q‖² + ‖x‖² − 2 q·x, so each is off by at most
/// 4 (dimension + 4) 2⁻²⁴ (‖q‖² + ‖x‖²), and is not negative.
public struct BatchedDistances: Sendable {
    private let matrix: PrintMatrix
    private let kernels: SIMDTarget
    private let usesBLAS: Bool?

    /// The rows that distances are computed to.
    public var rowCount: Int { matrix.rowCount }

    /// Distances to the rows of a matrix, on the fastest SIMD target of the CPU. O(1).
    public init(to matrix: PrintMatrix) { self.init(to: matrix, simd: .selected) }

    package init(to matrix: PrintMatrix, simd: SIMDTarget, blas: Bool? = nil) {
        (self.matrix, kernels, usesBLAS) = (matrix, simd, blas)
    }

    /// Writes [query][row].
    ///
    /// - Parameters:
    ///   - distances: a number per query and row; numbers behind those stay as they are.
    ///   - threads: the most threads to compute on; by default those that have nothing else to do.
    /// - Precondition: the queries have the matrix's dimension, and `distances` has room for all.
    /// - Complexity: O(queries · rows · dimension).
    public func compute(from queries: [[Float]], into distances: inout [Float], threads: Int? = nil) {
        precondition(
            queries.allSatisfy { $0.count == matrix.dimension },
            "a query needs the dimension of the rows, \(matrix.dimension)")
        precondition(
            distances.count >= queries.count * rowCount, "\(queries.count) × \(rowCount) distances need more room")
        distances.withUnsafeMutableBufferPointer { buffer in
            guard let output = buffer.baseAddress else { return }
            for first in stride(from: 0, to: queries.count, by: Self.queriesPerBlock) {
                let block = Array(queries[first..<min(first + Self.queriesPerBlock, queries.count)])
                compute(from: block, into: output + first * rowCount, threads: threads)
            }
        }
    }

    /// Writes the distances of some hundred queries at most.
    package func compute(from queries: [[Float]], into output: UnsafeMutablePointer<Float>, threads: Int?) {
        let library = BLAS.forBatch(of: queries.count, kernels: kernels, wanted: usesBLAS)
        let products = QueryProducts(queries, dimension: matrix.dimension, kernels: kernels, library: library)
        let norms = queries.map { $0.withUnsafeBufferPointer(PrintMatrix.squaredNorm) }
        let blocks = (rowCount + Self.rowsPerBlock - 1) / Self.rowsPerBlock
        let wanted = max(1, threads ?? availableThreadCount)
        let workers = max(1, min(wanted, blocks))
        // Every part writes the distances to its own rows.
        nonisolated(unsafe) let output = output
        _ = concurrentMap(workers, threads: workers) { worker in
            let values = AlignedProducts(count: products.groupCount * Self.rowsPerBlock * QueryProducts.lanes)
            for block in (0..<blocks).part(worker, of: workers) {
                let row = block * Self.rowsPerBlock
                let count = min(Self.rowsPerBlock, rowCount - row)
                matrix.withFloats(row..<(row + count), kernels: kernels) {
                    products.compute(rows: $0, count: count, into: values.pointer)
                }
                for query in queries.indices {
                    let (group, lane) = query.quotientAndRemainder(dividingBy: QueryProducts.lanes)
                    let (lines, step) = products.lines(of: group, in: values.pointer, rowCount: count)
                    let out = output + query * rowCount + row
                    for index in 0..<count {
                        out[index] = max(
                            0, norms[query] + matrix.squaredNorms[row + index] + lines[index * step + lane])
                    }
                }
            }
        }
    }

    private static let queriesPerBlock = 256
    private static let rowsPerBlock = 256
}
