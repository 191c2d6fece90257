import CKernels
import Compute

/// Centroids of rows by Lloyd's algorithm ("Least squares quantization in PCM", 1982).
enum KMeans {
    /// - Parameters:
    ///   - sample: rows of `dimension` floats, at least as many as centroids.
    ///   - seed: the same seed gives the same centroids on every machine and for any number of threads.
    /// - Complexity: O(iterations · sample · count · dimension).
    static func centroids(
        _ count: Int, of sample: [[Float]], iterations: Int, seed: UInt64, simd: SIMDTarget, threads: Int,
        cancellation: Cancellation
    ) -> [Float] {
        let dimension = sample[0].count
        var random = SplitMix64(state: seed)
        // Different rows to begin with.
        var order = Array(sample.indices)
        for index in 0..<count { order.swapAt(index, Int.random(in: index..<order.count, using: &random)) }
        var centroids = order[..<count].flatMap { sample[$0] }
        for _ in 0..<iterations where !cancellation.isCancelled {
            let nearest = assignments(
                sample, to: PrintMatrix(centroids, dimension: dimension), simd: simd, threads: threads)
            var sums = [Double](repeating: 0, count: centroids.count)
            var members = [Int](repeating: 0, count: count)
            for (row, list) in zip(sample, nearest) {
                members[list] += 1
                for index in 0..<dimension { sums[list * dimension + index] += Double(row[index]) }
            }
            for list in 0..<count where members[list] > 0 {
                for index in 0..<dimension {
                    centroids[list * dimension + index] = Float(sums[list * dimension + index] / Double(members[list]))
                }
            }
            // A centroid without rows takes its place beside that of the most rows, which are divided then.
            for list in 0..<count where members[list] == 0 {
                guard let largest = members.indices.max(by: { members[$0] < members[$1] }) else { break }
                for index in 0..<dimension {
                    let shift: Float = index % 2 == 0 ? 1 + 1 / 1024 : 1 - 1 / 1024
                    centroids[list * dimension + index] = centroids[largest * dimension + index] * shift
                    centroids[largest * dimension + index] *= 2 - shift
                }
                members[list] = members[largest] / 2
                members[largest] -= members[list]
            }
        }
        return centroids
    }

    /// The nearest centroid of each row. O(rows · centroids · dimension).
    static func assignments(
        _ rows: [[Float]], to centroids: PrintMatrix, simd: SIMDTarget, threads: Int
    ) -> [Int] {
        let search = ExactSearch(centroids, simd: simd)
        let blocks = stride(from: 0, to: rows.count, by: rowsPerBlock).map {
            $0..<min($0 + rowsPerBlock, rows.count)
        }
        return concurrentMap(blocks.count, threads: threads) { block in
            search.nearest(toEach: Array(rows[blocks[block]]), k: 1, threads: 1).map { $0[0].row }
        }.flatMap { $0 }
    }

    private static let rowsPerBlock = 256
}
