import Foundation
import Lookalike

/// Search of prints in memory, for one query or a batch: exact, or with an inverted file.
final class SearchStage: Stage {
    private let search: ExactSearch
    private let index: InvertedFileIndex?
    private var recall: Double
    private var isBatch: Bool
    private let queries: [[Float]]
    private let k: Int
    private var threads: Int
    private(set) var result: [Float] = []

    init(_ description: StageDescription) throws {
        let dimension = try description.number("dimension")
        let count = try description.number("rows")
        let rows = try FileBytes(try description.file("rows"), largePages: true)
        let all = UnsafeBufferPointer(rebasing: rows.floats[..<(count * dimension)])
        let codes = description.options["codes"]
        let isQuantized = codes == "yes" || codes == "ivf"
        search = ExactSearch(BorrowedRows(all, dimension: dimension, isQuantized: isQuantized, owner: rows).matrix)
        let asked = try FileBytes(try description.file("queries"))
        let queryCount = try description.number("queries")
        queries = withExtendedLifetime(asked) {
            (0..<queryCount).map { Array(asked.floats[($0 * dimension)..<(($0 + 1) * dimension)]) }
        }
        k = try description.number("k")
        let matrix = search.matrix
        let (time, made) = milliseconds { codes == "ivf" ? InvertedFileIndex(matrix) : nil }
        index = made
        // Until it has run: the time of making the inverted file.
        result = [Float(time)]
        recall = InvertedFileIndex.defaultRecall
        isBatch = queries.count > 1
        threads = description.threads
        adjust(description)
    }

    func adjust(_ description: StageDescription) {
        if let recall = description.numbers["recall"] { self.recall = Double(recall) / 1000 }
        if let batch = description.options["batch"] { isBatch = batch == "yes" }
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

/// A matrix without a copy of its rows: ten million of them would not fit twice.
private final class BorrowedRows: @unchecked Sendable {
    private let rows: UnsafeBufferPointer<Float>
    private let dimension: Int
    private let owner: FileBytes
    private let norms: UnsafeMutableBufferPointer<Float>
    /// The int8 rows; empty without them.
    private let codes: UnsafeMutableBufferPointer<UInt8>
    private let scales: UnsafeMutableBufferPointer<Float>
    private let residualNorms: UnsafeMutableBufferPointer<Float>

    init(_ rows: UnsafeBufferPointer<Float>, dimension: Int, isQuantized: Bool, owner: FileBytes) {
        self.rows = rows
        self.dimension = dimension
        self.owner = owner
        let count = rows.count / dimension
        norms = .allocate(capacity: count)
        codes = .allocate(capacity: isQuantized ? rows.count : 0)
        scales = .allocate(capacity: isQuantized ? count : 0)
        residualNorms = .allocate(capacity: isQuantized ? count : 0)
        for row in 0..<count {
            let span = (row * dimension)..<((row + 1) * dimension)
            let values = UnsafeBufferPointer(rebasing: rows[span])
            norms.initializeElement(at: row, to: PrintMatrix.squaredNorm(values))
            guard isQuantized else { continue }
            let (scale, residualNorm) = QuantizedRows.quantize(
                values, into: UnsafeMutableBufferPointer(rebasing: codes[span]))
            scales.initializeElement(at: row, to: scale)
            residualNorms.initializeElement(at: row, to: residualNorm)
        }
    }

    var matrix: PrintMatrix {
        let quantized =
            codes.isEmpty
            ? nil
            : QuantizedRows(
                codes: UnsafeBufferPointer(codes), scales: UnsafeBufferPointer(scales),
                residualNorms: UnsafeBufferPointer(residualNorms))
        return PrintMatrix(
            rows: rows, squaredNorms: UnsafeBufferPointer(norms), quantized: quantized, dimension: dimension,
            owner: self)
    }

    deinit {
        for values in [norms, scales, residualNorms] { values.deallocate() }
        codes.deallocate()
    }
}
