import CKernels
import Compute
import TestSupport
import Testing
import VectorSearch

struct PrintMatrixTests {
    /// Rows of half precision, with the same numbers as floats and squared norms.
    private final class Halves: Sendable {
        let rows: [UInt16]
        let floats: [Float]
        let squaredNorms: [Float]

        init(rounding values: [Float], dimension: Int) {
            var rows = [UInt16](repeating: 0, count: values.count)
            var floats = values
            lk_narrow(values, values.count, &rows)
            lk_widen(rows, LK_FLOAT16, rows.count, &floats)
            squaredNorms = stride(from: 0, to: floats.count, by: dimension).map { start in
                floats[start..<(start + dimension)].withUnsafeBufferPointer(PrintMatrix.squaredNorm)
            }
            (self.rows, self.floats) = (rows, floats)
        }
    }

    /// The searches of both matrices, for one query and for batches, exact and by an inverted file.
    @Test(arguments: [3, 16, 100, 256]) func halvesAreFoundAsTheSameFloats(dimension: Int) {
        var random = SeededGenerator(seed: UInt64(dimension))
        let halves = Halves(rounding: random.floats(900 * dimension), dimension: dimension)
        let queries = (0..<70).map { index in
            index % 3 == 0
                ? Array(halves.floats[(index * dimension)..<((index + 1) * dimension)]) : random.floats(dimension)
        }
        halves.rows.withUnsafeBufferPointer { rows in
            halves.squaredNorms.withUnsafeBufferPointer { norms in
                let floats = PrintMatrix(halves.floats, dimension: dimension)
                let matrix = PrintMatrix(halves: rows, squaredNorms: norms, dimension: dimension, owner: halves)
                #expect((0..<900).allSatisfy { matrix.row($0) == floats.row($0) })
                for simd in SIMDTarget.available {
                    let (search, expected) = (ExactSearch(matrix, simd: simd), ExactSearch(floats, simd: simd))
                    #expect(search.nearest(to: queries[1], k: 20) == expected.nearest(to: queries[1], k: 20))
                    #expect(search.nearest(toEach: queries, k: 20) == expected.nearest(toEach: queries, k: 20))
                }
                var (distances, same) = ([Float](repeating: 0, count: 70 * 900), [Float](repeating: 1, count: 70 * 900))
                BatchedDistances(to: matrix).compute(from: queries, into: &distances)
                BatchedDistances(to: floats).compute(from: queries, into: &same)
                #expect(distances == same)
                let (index, other) = (InvertedFileIndex(matrix), InvertedFileIndex(floats))
                for query in queries {
                    #expect(index.nearest(toAnyOf: [query], k: 10) == other.nearest(toAnyOf: [query], k: 10))
                }
            }
        }
    }
}
