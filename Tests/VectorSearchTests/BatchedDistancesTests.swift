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

    /// Small ones too, which a product alone would be off by a part of the norms.
    @Test(arguments: [false, true], SIMDTarget.available) func rootsAreRightToFourDigits(blas: Bool, simd: SIMDTarget) {
        var random = SeededGenerator(seed: 5)
        let (dimension, rowCount, queryCount) = (96, 531, 70)
        let rows = random.floats(rowCount * dimension)
        let queries = (0..<queryCount).map { query in
            let row = rows[(query * dimension)..<((query + 1) * dimension)]
            // A row itself, one that is near to a row, and one that is near to none.
            return row.map { $0 + Float(query % 3) * 0.001 * (query % 3 == 2 ? 1000 : 1) * random.floats(1)[0] }
        }
        var distances = [Float](repeating: -1, count: queryCount * rowCount)
        distances.withUnsafeMutableBufferPointer {
            guard let address = $0.baseAddress else { return }
            BatchedDistances(to: PrintMatrix(rows, dimension: dimension), simd: simd, blas: blas)
                .compute(from: queries, into: address, isRooted: true, threads: 2)
        }
        for query in 0..<queryCount {
            for row in 0..<rowCount {
                let squared = (0..<dimension).reduce(0.0) { sum, index in
                    let difference = Double(queries[query][index]) - Double(rows[row * dimension + index])
                    return sum + difference * difference
                }
                let distance = Double(distances[query * rowCount + row])
                #expect(abs(distance - squared.squareRoot()) <= 2e-4 * squared.squareRoot())
            }
        }
    }

    #if BLAS || canImport(Darwin)
    /// `make build` and `make test` install one.
    @Test func aLibraryMultipliesLargeBatches() throws {
        let installed = try #require(BLAS.installed).name
        let distances = BatchedDistances(to: PrintMatrix([1, 2, 3, 4], dimension: 4), simd: .selected, blas: true)
        #expect(distances.library(forQueries: 256, threads: 64) == installed)
        let kernels = BatchedDistances(to: PrintMatrix([1, 2, 3, 4], dimension: 4), simd: .selected, blas: false)
        #expect(kernels.library(forQueries: 256) == nil)
    }
    #endif

    /// Many callers at once, as a program has whose other parts use the same library.
    @Test func callersAtOnceDoNotDisturbEachOther() async {
        var random = SeededGenerator(seed: 6)
        let (dimension, rowCount) = (128, 600)
        let matrix = PrintMatrix(random.floats(rowCount * dimension), dimension: dimension)
        let queries = (0..<64).map { _ in random.floats(dimension) }
        func computed(blas: Bool, threads: Int) -> [Float] {
            var distances = [Float](repeating: -1, count: queries.count * rowCount)
            BatchedDistances(to: matrix, simd: .selected, blas: blas)
                .compute(from: queries, into: &distances, threads: threads)
            return distances
        }
        let expected = computed(blas: false, threads: 1)
        await withTaskGroup(of: Float.self) { group in
            for caller in 0..<8 {
                group.addTask {
                    (0..<20).reduce(0) { worst, _ in
                        let found = computed(blas: true, threads: caller % 2 == 0 ? 1 : 64)
                        return max(worst, zip(found, expected).reduce(0) { max($0, abs($1.0 - $1.1)) })
                    }
                }
            }
            for await worst in group { #expect(worst < 1e-3) }
        }
    }
}
