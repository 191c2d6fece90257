package import CLookalike
import Compute
import VectorSearch

/// The object behind a `lookalike_exact_search`.
private final class ExactSearchObject: Sendable {
    let search: ExactSearch
    init(_ search: ExactSearch) { self.search = search }
}

@_cdecl("lookalike_exact_search_create")
package func exactSearchCreate(
    _ rows: UnsafePointer<lookalike_matrix>?, _ inPlace: Bool, _ threads: Int32
) -> OpaquePointer? {
    reported {
        let rows = try Matrix(rows, named: "rows").rows(inPlace: inPlace, threads: threadLimit(threads))
        return handle(of: ExactSearchObject(ExactSearch(rows)))
    }
}

@_cdecl("lookalike_exact_search_nearest")
package func exactSearchNearest(
    _ handle: OpaquePointer?, _ queries: UnsafePointer<lookalike_matrix>?, _ k: Int64, _ threads: Int32,
    _ rows: UnsafeMutablePointer<Int64>?, _ distances: UnsafeMutablePointer<Float>?
) -> Bool {
    succeeded {
        let search = try object(handle, ExactSearchObject.self, named: "search").search
        let limit = try threadLimit(threads)
        try writeNeighbors(of: queries, among: search.matrix, k: k, rows, distances) {
            search.nearest(toEach: $0, k: $1, threads: limit)
        }
    }
}

@_cdecl("lookalike_exact_search_free")
package func exactSearchFree(_ handle: OpaquePointer?) { release(handle, ExactSearchObject.self) }

/// The object behind a `lookalike_inverted_file`.
private final class InvertedFileObject: Sendable {
    let index: InvertedFileIndex
    init(_ index: InvertedFileIndex) { self.index = index }
}

@_cdecl("lookalike_inverted_file_create")
package func invertedFileCreate(
    _ rows: UnsafePointer<lookalike_matrix>?, _ inPlace: Bool, _ lists: Int64, _ threads: Int32
) -> OpaquePointer? {
    reported {
        let matrix = try Matrix(rows, named: "rows")
        let limit = try threadLimit(threads)
        try check(lists >= 0, "there cannot be \(lists) lists")
        try check(matrix.rowCount <= 1 << 32, "an inverted file has at most 2^32 rows, not \(matrix.rowCount)")
        let index = InvertedFileIndex(
            try matrix.rows(inPlace: inPlace, threads: limit), listCount: lists == 0 ? nil : Int(lists),
            threads: limit)
        return handle(of: InvertedFileObject(index))
    }
}

@_cdecl("lookalike_inverted_file_nearest")
package func invertedFileNearest(
    _ handle: OpaquePointer?, _ queries: UnsafePointer<lookalike_matrix>?, _ k: Int64, _ recall: Double,
    _ threads: Int32, _ rows: UnsafeMutablePointer<Int64>?, _ distances: UnsafeMutablePointer<Float>?
) -> Bool {
    succeeded {
        let index = try object(handle, InvertedFileObject.self, named: "inverted file").index
        let limit = try threadLimit(threads)
        try check((0...1).contains(recall), "the recall is \(recall), not 0 to 1")
        try writeNeighbors(of: queries, among: index.matrix, k: k, rows, distances) {
            index.nearest(toEach: $0, k: $1, recall: recall, threads: limit)
        }
    }
}

@_cdecl("lookalike_inverted_file_free")
package func invertedFileFree(_ handle: OpaquePointer?) { release(handle, InvertedFileObject.self) }

/// Queries that are converted at once: enough for the kernels of batches.
private let queriesAtOnce = 1024

private func writeNeighbors(
    of queries: UnsafePointer<lookalike_matrix>?, among matrix: PrintMatrix, k: Int64,
    _ rows: UnsafeMutablePointer<Int64>?, _ distances: UnsafeMutablePointer<Float>?,
    _ nearest: (_ queries: [[Float]], _ k: Int) -> [[Neighbor]]
) throws(InterfaceError) {
    let queries = try Matrix(queries, named: "queries")
    try check(
        queries.dimension == matrix.dimension,
        "the queries have \(queries.dimension) columns, and the rows have \(matrix.dimension)")
    try check(k >= 0, "there cannot be \(k) neighbors")
    let (count, overflow) = queries.rowCount.multipliedReportingOverflow(by: Int(k))
    try check(!overflow && count < Int.max / 8, "\(queries.rowCount) times \(k) neighbors overflow an integer")
    guard count > 0 else { return }
    guard let rows else { throw InterfaceError("the memory for the neighbors is NULL") }
    for first in stride(from: 0, to: queries.rowCount, by: queriesAtOnce) {
        let vectors = try queries.vectors(first..<min(first + queriesAtOnce, queries.rowCount))
        let found = nearest(vectors, min(Int(k), matrix.rowCount))
        for index in vectors.indices {
            for rank in 0..<Int(k) {
                let neighbor = rank < found[index].count ? found[index][rank] : nil
                let place = (first + index) * Int(k) + rank
                rows[place] = neighbor.map { Int64($0.row) } ?? -1
                distances?[place] = neighbor?.distance ?? .infinity
            }
        }
    }
}

@_cdecl("lookalike_distances")
package func distances(
    _ a: UnsafePointer<lookalike_matrix>?, _ b: UnsafePointer<lookalike_matrix>?, _ threads: Int32,
    _ distances: UnsafeMutablePointer<Float>?
) -> Bool {
    succeeded {
        let (a, b) = (try Matrix(a, named: "first rows"), try Matrix(b, named: "second rows"))
        let limit = try threadLimit(threads)
        try check(
            a.dimension == b.dimension,
            "the first rows have \(a.dimension) columns, and the second ones have \(b.dimension)")
        let (count, overflow) = a.rowCount.multipliedReportingOverflow(by: b.rowCount)
        try check(!overflow && count < Int.max / 4, "\(a.rowCount) times \(b.rowCount) distances overflow an integer")
        let matrix = try b.rows(inPlace: true, quantizing: false, threads: limit)
        let batches = BatchedDistances(to: matrix)
        for first in stride(from: 0, to: a.rowCount, by: rowsAtOnce) {
            let vectors = try a.vectors(first..<min(first + rowsAtOnce, a.rowCount))
            guard count > 0 else { continue }
            guard let distances else { throw InterfaceError("the memory for the distances is NULL") }
            batches.compute(from: vectors, into: distances + first * b.rowCount, isRooted: true, threads: limit)
        }
    }
}

private let rowsAtOnce = 1024
