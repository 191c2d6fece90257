import Compute
import TestSupport
import Testing
import VectorSearch

struct BatchedDistancesTests {
    /// On every SIMD target, by the kernels and by a library, against sums in double precision.
    @Test(arguments: 0..<8) func distancesAreWithinTheStatedError(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let dimension = Int.random(in: 1...300, using: &random)
        let (rowCount, queryCount) = (Int.random(in: 1...700, using: &random), Int.random(in: 1...300, using: &random))
        let rows = random.floats(rowCount * dimension)
        // Some queries are rows, whose distances cancel.
        let queries = (0..<queryCount).map { query in
            query % 3 == 0 ? Array(rows[..<dimension]) : random.floats(dimension)
        }
        let matrix = PrintMatrix(rows, dimension: dimension)
        let expected = queries.map { query in
            (0..<rowCount).map { row in
                zip(query, rows[row * dimension..<(row + 1) * dimension]).reduce(0.0) { sum, pair in
                    let difference = Double(pair.0) - Double(pair.1)
                    return sum + difference * difference
                }
            }
        }
        func squaredNorm(_ row: some Sequence<Float>) -> Double { row.reduce(0) { $0 + Double($1) * Double($1) } }
        let rowNorms = (0..<rowCount).map { squaredNorm(matrix.row($0)) }
        for simd in SIMDTarget.available {
            for (blas, threads) in [(false, 1), (false, 3), (true, 1), (true, 3)] {
                var distances = [Float](repeating: -1, count: queryCount * rowCount + 5)
                BatchedDistances(to: matrix, simd: simd, blas: blas)
                    .compute(from: queries, into: &distances, threads: threads)
                let isWithin = queries.indices.allSatisfy { query in
                    (0..<rowCount).allSatisfy { row in
                        let norms = squaredNorm(queries[query]) + rowNorms[row]
                        let distance = Double(distances[query * rowCount + row])
                        return distance >= 0
                            && abs(distance - expected[query][row]) <= 4 * Double(dimension + 4) * 0x1p-24 * norms
                    }
                }
                #expect(isWithin, "seed \(seed), \(simd.name), BLAS \(blas), \(threads) threads")
                #expect(distances.suffix(5).allSatisfy { $0 == -1 })
            }
        }
    }

    @Test func noQueriesAndNoRows() {
        var distances: [Float] = []
        BatchedDistances(to: PrintMatrix([], dimension: 4)).compute(from: [[1, 2, 3, 4]], into: &distances)
        BatchedDistances(to: PrintMatrix([1, 2, 3, 4], dimension: 4)).compute(from: [], into: &distances)
        #expect(distances.isEmpty)
    }
}
