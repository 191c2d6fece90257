import Foundation
import Lookalike

/// Search of prints in memory, for one query or a batch: exact, or with an inverted file.
final class SearchStage: Stage {
    private let search: ExactSearch
    private let index: InvertedFileIndex?
    private let recall: Double
    private let isBatch: Bool
    private let queries: [[Float]]
    private let k: Int
    private let threads: Int
    private(set) var result: [Float] = []

    init(_ description: StageDescription) throws {
        let dimension = try description.number("dimension")
        let count = try description.number("rows")
        let rows = try FileBytes(try description.file("rows"), largePages: true)
        let all = UnsafeBufferPointer(rebasing: rows.floats[..<(count * dimension)])
        let codes = description.options["codes"]
        if codes == "yes" || codes == "ivf" {
            search = ExactSearch(withExtendedLifetime(rows) { PrintMatrix(Array(all), dimension: dimension) })
        } else {
            search = ExactSearch(FloatRows(all, dimension: dimension, owner: rows).matrix)
        }
        let asked = try FileBytes(try description.file("queries"))
        let queryCount = try description.number("queries")
        queries = withExtendedLifetime(asked) {
            (0..<queryCount).map { Array(asked.floats[($0 * dimension)..<(($0 + 1) * dimension)]) }
        }
        k = try description.number("k")
        index = codes == "ivf" ? InvertedFileIndex(search.matrix) : nil
        recall = codes == "ivf" ? Double(try description.number("recall")) / 1000 : 1
        isBatch = description.options["batch"].map { $0 == "yes" } ?? (queries.count > 1)
        threads = description.threads
    }

    func run() -> Double {
        let (time, found) = milliseconds { () -> [[Neighbor]] in
            guard let index else {
                return isBatch
                    ? search.nearest(toEach: queries, k: k, threads: threads)
                    : queries.map { search.nearest(to: $0, k: k, threads: threads) }
            }
            return isBatch
                ? index.nearest(toEach: queries, k: k, recall: recall, threads: threads)
                : queries.map { index.nearest(to: $0, k: k, recall: recall) }
        }
        result = found.flatMap { $0.flatMap { [Float($0.row), $0.squaredDistance] } }
        return time
    }
}

/// A matrix without int8 rows.
private final class FloatRows: @unchecked Sendable {
    private let rows: UnsafeBufferPointer<Float>
    private let dimension: Int
    private let owner: FileBytes
    private let norms: UnsafeMutableBufferPointer<Float>

    init(_ rows: UnsafeBufferPointer<Float>, dimension: Int, owner: FileBytes) {
        self.rows = rows
        self.dimension = dimension
        self.owner = owner
        norms = .allocate(capacity: rows.count / dimension)
        for row in norms.indices {
            let values = UnsafeBufferPointer(rebasing: rows[(row * dimension)..<((row + 1) * dimension)])
            norms.initializeElement(at: row, to: PrintMatrix.squaredNorm(values))
        }
    }

    var matrix: PrintMatrix {
        PrintMatrix(rows: rows, squaredNorms: UnsafeBufferPointer(norms), dimension: dimension, owner: self)
    }

    deinit { norms.deallocate() }
}
