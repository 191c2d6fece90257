import Compute

extension ExactSearch {
    /// The `k` rows nearest to any of several queries, nearest first; ties in the matrix's order. A row's distance is
    /// its minimum distance over the queries.
    ///
    /// - Parameters:
    ///   - rows: the rows to search, as ascending disjoint ranges; all of them by default.
    ///   - last: returns only what follows this neighbor in the ranking, so that a long ranking can be read in pages.
    /// - Precondition: the queries have the matrix's dimension, and `rows` lie in the matrix.
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
        check(queries)
        guard !queries.isEmpty, k > 0 else { return [] }
        let rows = rows ?? [0..<matrix.rowCount]
        precondition(
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
                    squaredDistances(from: query, to: block, into: out)
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
