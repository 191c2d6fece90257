import CKernels
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

    /// The file of the BLAS library that multiplies for so many queries; nil if the kernels of this package do, as on
    /// every SIMD target that has its own unless `LOOKALIKE_BLAS` is `on`.
    ///
    /// - Parameter threads: as those of ``compute(from:into:threads:)``.
    public func library(forQueries count: Int, threads: Int? = nil) -> String? {
        switch use(of: min(count, Self.queriesPerBlock), threads: max(1, threads ?? availableThreadCount)) {
        case .onEachThread(let library), .inOnePiece(let library): library.name
        case nil: nil
        }
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
            compute(from: queries, into: output, isRooted: false, threads: threads)
        }
    }

    /// - Parameter isRooted: whether distances are wanted instead of their squares. They are right to some four digits,
    ///   small ones too.
    package func compute(
        from queries: [[Float]], into output: UnsafeMutablePointer<Float>, isRooted: Bool, threads: Int?
    ) {
        let threads = max(1, threads ?? availableThreadCount)
        for first in stride(from: 0, to: queries.count, by: Self.queriesPerBlock) {
            compute(
                from: queries[first..<min(first + Self.queriesPerBlock, queries.count)],
                into: output + first * rowCount, isRooted: isRooted, threads: threads)
        }
    }

    /// Writes the distances from a block of queries, [query][row].
    private func compute(
        from queries: ArraySlice<[Float]>, into output: UnsafeMutablePointer<Float>, isRooted: Bool, threads: Int
    ) {
        let queries = Array(queries)
        let norms = queries.map { $0.withUnsafeBufferPointer(PrintMatrix.squaredNorm) }
        let (library, rowsPerBlock, mostWorkers): (BLAS?, Int, Int) =
            switch use(of: queries.count, threads: threads) {
            case .onEachThread(let library): (library, Self.rowsPerBlock, threads)
            case .inOnePiece(let library): (library, Self.rowsPerPiece, 1)
            case nil: (nil, Self.rowsPerBlock, threads)
            }
        let products = QueryProducts(queries, dimension: matrix.dimension, kernels: kernels, library: library)
        let lanes = QueryProducts.lanes
        let blocks = (rowCount + rowsPerBlock - 1) / rowsPerBlock
        let workers = max(1, min(mostWorkers, blocks))
        // Every part writes the distances to its own rows.
        nonisolated(unsafe) let output = output
        _ = concurrentMap(workers, threads: workers) { worker in
            let memory = AlignedProducts(count: products.groupCount * rowsPerBlock * lanes)
            for block in (0..<blocks).part(worker, of: workers) {
                let rows = (block * rowsPerBlock)..<min((block + 1) * rowsPerBlock, rowCount)
                matrix.withFloats(rows, kernels: kernels) {
                    products.compute(rows: $0, count: rows.count, into: memory.pointer)
                }
                for first in stride(from: 0, to: queries.count, by: lanes) {
                    let (found, step) = products.lines(of: first / lanes, in: memory.pointer, rowCount: rows.count)
                    let group = first..<min(first + lanes, queries.count)
                    let lines = output + first * rowCount + rows.lowerBound
                    let small = norms[group].withUnsafeBufferPointer {
                        kernels.table.write_distances(
                            found, step, rows.count, matrix.squaredNorms + rows.lowerBound, $0.baseAddress,
                            group.count, isRooted ? Self.leastShare : 0, isRooted, lines, rowCount)
                    }
                    guard isRooted, small != 0 else { continue }
                    for query in group where small >> (query - first) & 1 == 1 {
                        refine(
                            lines + (query - first) * rowCount, from: queries[query], norm: norms[query], to: rows)
                    }
                }
            }
        }
    }

    private func use(of count: Int, threads: Int) -> BLAS.Use? {
        BLAS.forBatch(of: count, kernels: kernels, threads: threads, wanted: usesBLAS)
    }

    /// Computes small distances, which are off by a part of the norms, from differences.
    private func refine(_ line: UnsafeMutablePointer<Float>, from query: [Float], norm: Float, to rows: Range<Int>) {
        for (index, row) in rows.enumerated()
        where line[index] * line[index] < (norm + matrix.squaredNorms[row]) * Self.leastShare * 1.001 {
            line[index] = matrix.squaredDistance(from: query, to: row, kernels: kernels).squareRoot()
        }
    }

    /// Squared distances below this share of both squared norms are computed from differences if their roots are
    /// wanted, which then are right to some four digits.
    private static let leastShare: Float = 1 / 64
    private static let queriesPerBlock = 256
    private static let rowsPerBlock = 256
    /// Enough for the threads of a library.
    private static let rowsPerPiece = 4096
}
