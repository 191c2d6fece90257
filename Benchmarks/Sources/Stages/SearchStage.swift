import Foundation
import Lookalike

/// The nearest of many prints in memory to one query or to each of many.
final class SearchStage: Stage {
    private let search: ExactSearch
    private let queries: [[Float]]
    private let k: Int
    private let threads: Int
    private(set) var result: [Float] = []

    init(_ description: StageDescription) throws {
        let dimension = try description.number("dimension")
        let rows = try FileBytes(try description.file("rows"))
        let count = try description.number("rows")
        let all = UnsafeBufferPointer(rebasing: rows.floats[..<(count * dimension)])
        search = ExactSearch(try QuantizedMatrix(all, dimension: dimension, rows: rows).matrix(quantized: description.options["codes"] == "yes"))
        let flat = try FileBytes(try description.file("queries")).floats
        queries = (0..<(try description.number("queries"))).map { Array(flat[($0 * dimension)..<(($0 + 1) * dimension)]) }
        k = try description.number("k")
        threads = description.threads
    }

    func run() -> Double {
        let (time, found) = milliseconds {
            queries.count == 1 ? [search.nearest(to: queries[0], k: k, threads: threads)] : search.nearest(toEach: queries, k: k, threads: threads)
        }
        result = found.flatMap { $0.flatMap { [Float($0.row), $0.squaredDistance] } }
        return time
    }
}

/// What a catalog keeps beside its rows, made here for rows in memory.
private final class QuantizedMatrix: @unchecked Sendable {
    private let rows: FileBytes
    private let floats: UnsafeBufferPointer<Float>
    private let dimension: Int
    private let norms: UnsafeMutableBufferPointer<Float>
    private let codes: UnsafeMutableBufferPointer<UInt8>
    private let scales: UnsafeMutableBufferPointer<Float>
    private let errors: UnsafeMutableBufferPointer<Float>

    init(_ floats: UnsafeBufferPointer<Float>, dimension: Int, rows: FileBytes) throws {
        self.rows = rows
        self.floats = floats
        self.dimension = dimension
        let count = floats.count / dimension
        norms = .allocate(capacity: count)
        scales = .allocate(capacity: count)
        errors = .allocate(capacity: count)
        codes = UnsafeMutableRawBufferPointer.allocate(byteCount: floats.count, alignment: 4096).bindMemory(to: UInt8.self)
        for row in 0..<count {
            let span = (row * dimension)..<((row + 1) * dimension)
            let values = UnsafeBufferPointer(rebasing: floats[span])
            norms.initializeElement(at: row, to: PrintMatrix.squaredNorm(values))
            let (scale, error) = QuantizedRows.quantize(values, into: UnsafeMutableBufferPointer(rebasing: codes[span]))
            scales.initializeElement(at: row, to: scale)
            errors.initializeElement(at: row, to: error)
        }
    }

    func matrix(quantized: Bool) -> PrintMatrix {
        let bytes = QuantizedRows(
            codes: UnsafeBufferPointer(codes), scales: UnsafeBufferPointer(scales), errors: UnsafeBufferPointer(errors))
        return PrintMatrix(
            rows: floats, squaredNorms: UnsafeBufferPointer(norms), quantized: quantized ? bytes : nil, dimension: dimension, owner: self)
    }

    deinit {
        norms.deallocate()
        scales.deallocate()
        errors.deallocate()
        UnsafeMutableRawPointer(codes.baseAddress)?.deallocate()
    }
}
