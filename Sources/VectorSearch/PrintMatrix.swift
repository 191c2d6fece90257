import CKernels
import Compute
import Foundation

/// A row-major matrix of single or half precision, with squared norms and, optionally, int8 rows.
///
/// The matrix keeps the owner of its memory alive.
///
/// Unchecked: the pointers are only read through, and ``init(rows:squaredNorms:quantized:dimension:owner:)`` requires
/// that the memory does not change.
public struct PrintMatrix: @unchecked Sendable {
    /// The number of rows.
    public let rowCount: Int
    /// The number of columns: the dimension of the prints.
    public let dimension: Int
    private let rows: Rows
    /// ‖x‖² of each row.
    let squaredNorms: UnsafePointer<Float>
    /// The int8 rows; nil if there are none.
    let quantized: QuantizedRows?
    private let owner: any AnyObject & Sendable

    private enum Rows {
        case floats(UnsafePointer<Float>)
        /// IEEE 754 binary16.
        case halves(UnsafePointer<UInt16>)
    }

    /// Wraps memory without a copy.
    ///
    /// - Parameter quantized: the int8 rows. Without them a search reads four times as much memory.
    /// - Precondition: `rows` has `rowCount * dimension` floats and `squaredNorms` has `rowCount`. Nothing writes to
    ///   the memory while `owner` lives.
    public init(
        rows: UnsafeBufferPointer<Float>, squaredNorms: UnsafeBufferPointer<Float>, quantized: QuantizedRows? = nil,
        dimension: Int, owner: any AnyObject & Sendable
    ) {
        require(rows.count == squaredNorms.count * dimension, "one squared norm per row")
        self.init(.floats(Self.address(of: rows)), squaredNorms, quantized, dimension, owner)
    }

    /// Wraps rows of half-precision numbers (IEEE 754 binary16) without a copy.
    ///
    /// Searches find the same as in the same numbers in single precision, bit for bit.
    ///
    /// - Parameter quantized: the int8 rows. Without them a search reads twice as much memory.
    /// - Precondition: `halves` has `rowCount * dimension` finite numbers and `squaredNorms` has `rowCount`. Nothing
    ///   writes to the memory while `owner` lives.
    package init(
        halves: UnsafeBufferPointer<UInt16>, squaredNorms: UnsafeBufferPointer<Float>, quantized: QuantizedRows? = nil,
        dimension: Int, owner: any AnyObject & Sendable
    ) {
        require(halves.count == squaredNorms.count * dimension, "one squared norm per row")
        self.init(.halves(Self.address(of: halves)), squaredNorms, quantized, dimension, owner)
    }

    private init(
        _ rows: Rows, _ squaredNorms: UnsafeBufferPointer<Float>, _ quantized: QuantizedRows?, _ dimension: Int,
        _ owner: any AnyObject & Sendable
    ) {
        require(dimension > 0, "rows have at least one component")
        self.rowCount = squaredNorms.count
        self.dimension = dimension
        self.rows = rows
        self.squaredNorms = Self.address(of: squaredNorms)
        self.quantized = quantized
        self.owner = owner
    }

    /// An empty buffer may have no address; nothing is read from the one that this gives then.
    private static func address<Element>(of buffer: UnsafeBufferPointer<Element>) -> UnsafePointer<Element> {
        guard let address = buffer.baseAddress ?? UnsafePointer(bitPattern: MemoryLayout<Element>.alignment) else {
            preconditionFailure("a nonzero address is a pointer")
        }
        return address
    }

    /// Copies rows, and quantizes them to int8.
    ///
    /// - Precondition: the count of `values` is a multiple of `dimension`, and the rows have finite squared norms.
    public init(_ values: [Float], dimension: Int) {
        require(dimension > 0, "rows have at least one component, not \(dimension)")
        require(values.count % dimension == 0, "\(values.count) values do not fill rows of \(dimension)")
        let memory = OwnedRows(values, dimension: dimension)
        if let row = memory.squaredNorms.firstIndex(where: { !$0.isFinite }) {
            fatalError("row \(row), counted from 0, has a component that is not finite or too large")
        }
        self.init(
            rows: memory.rows, squaredNorms: memory.squaredNorms, quantized: memory.quantized, dimension: dimension,
            owner: memory)
    }

    /// The memory of a matrix with float32 and int8 rows: rows, squared norms, codes, scales, residual norms. Valid as
    /// long as the matrix.
    var sections: [UnsafeRawBufferPointer] {
        guard let quantized, case .floats(let rows) = rows else {
            preconditionFailure("the matrix has float32 and int8 rows")
        }
        return [
            UnsafeRawBufferPointer(start: rows, count: rowCount * dimension * 4),
            UnsafeRawBufferPointer(start: squaredNorms, count: rowCount * 4),
            UnsafeRawBufferPointer(start: quantized.codes, count: rowCount * dimension),
            UnsafeRawBufferPointer(start: quantized.scales, count: rowCount * 4),
            UnsafeRawBufferPointer(start: quantized.residualNorms, count: rowCount * 4),
        ]
    }

    /// A row. O(dimension).
    ///
    /// - Precondition: `index` is a row of the matrix.
    public func row(_ index: Int) -> [Float] {
        require((0..<rowCount).contains(index), "row \(index) of \(rowCount)")
        return withFloats(index..<(index + 1)) { Array(UnsafeBufferPointer(start: $0, count: dimension)) }
    }

    /// Calls `body` with the floats of some rows, which it must not keep.
    ///
    /// Rows of half precision are converted, which takes memory: rows.count · dimension floats.
    @inline(__always)
    func withFloats<Result>(
        _ range: Range<Int>, kernels: SIMDTarget = .selected, _ body: (UnsafePointer<Float>) -> Result
    ) -> Result {
        let (first, count) = (range.lowerBound * dimension, range.count * dimension)
        switch rows {
        case .floats(let rows): return body(rows + first)
        case .halves(let rows):
            return withUnsafeTemporaryAllocation(of: Float.self, capacity: max(1, count)) { floats in
                guard let floats = floats.baseAddress else { preconditionFailure("the memory is not empty") }
                kernels.table.widen_halves(rows + first, count, floats)
                return body(floats)
            }
        }
    }

    /// Writes the squared distance of each row of a range.
    @inline(__always)
    func squaredDistances(
        from query: UnsafePointer<Float>, to range: Range<Int>, kernels: SIMDTarget,
        into out: UnsafeMutablePointer<Float>
    ) {
        let first = range.lowerBound * dimension
        switch rows {
        case .floats(let rows):
            kernels.table.squared_distances(query, rows + first, dimension, range.count, dimension, out)
        case .halves(let rows):
            kernels.table.squared_distances_of_halves(query, rows + first, dimension, range.count, dimension, out)
        }
    }

    /// The squared distance of a row, by the kernel that every search ranks with.
    @inline(__always)
    func squaredDistance(from query: UnsafePointer<Float>, to row: Int, kernels: SIMDTarget) -> Float {
        var distance: Float = 0
        squaredDistances(from: query, to: row..<(row + 1), kernels: kernels, into: &distance)
        return distance
    }

    /// Asks for a row before it is read.
    @inline(__always)
    func prefetchRow(_ row: Int) {
        switch rows {
        case .floats(let rows): lk_prefetch(rows + row * dimension, dimension * MemoryLayout<Float>.stride)
        case .halves(let rows): lk_prefetch(rows + row * dimension, dimension * MemoryLayout<UInt16>.stride)
        }
    }

    /// The kernels read as many components of a query as the rows have, and what is no number is nearer to nothing.
    func check(_ queries: [[Float]]) {
        for query in queries {
            require(
                query.count == dimension,
                "a query of \(query.count) components was compared with rows of \(dimension)")
            require(query.allSatisfy(\.isFinite), "a component of the query is not finite")
        }
    }

    /// The squared norm of a row, summed in double precision. O(1).
    package func squaredNorm(ofRow index: Int) -> Float { squaredNorms[index] }

    /// The squared norm of a row, summed in double precision.
    public static func squaredNorm(_ row: UnsafeBufferPointer<Float>) -> Float {
        Float(row.reduce(0.0) { $0 + Double($1) * Double($1) })
    }
}

/// Rows that are copied once.
///
/// Unchecked: the buffers are filled in the initializer, before the object is shared, and only read afterwards.
private final class OwnedRows: @unchecked Sendable {
    let rows: UnsafeBufferPointer<Float>
    let squaredNorms: UnsafeBufferPointer<Float>
    private let codes: UnsafeBufferPointer<UInt8>
    private let scales: UnsafeBufferPointer<Float>
    private let residualNorms: UnsafeBufferPointer<Float>

    init(_ values: [Float], dimension: Int) {
        let count = values.count / dimension
        let copy = Self.allocate(Float.self, count: values.count)
        _ = copy.initialize(from: values)
        let norms = Self.allocate(Float.self, count: count)
        let codes = Self.allocate(UInt8.self, count: values.count)
        let scales = Self.allocate(Float.self, count: count)
        let residualNorms = Self.allocate(Float.self, count: count)
        // Every part writes to its own rows.
        nonisolated(unsafe) let memory = (
            rows: copy, norms: norms, codes: codes, scales: scales, residualNorms: residualNorms
        )
        let parts = (count + Self.rowsPerPart - 1) / Self.rowsPerPart
        _ = concurrentMap(parts, threads: availableThreadCount) { part in
            for index in (part * Self.rowsPerPart)..<min((part + 1) * Self.rowsPerPart, count) {
                let span = (index * dimension)..<((index + 1) * dimension)
                let row = UnsafeBufferPointer(rebasing: memory.rows[span])
                memory.norms[index] = PrintMatrix.squaredNorm(row)
                (memory.scales[index], memory.residualNorms[index]) = QuantizedRows.quantize(
                    row, into: UnsafeMutableBufferPointer(rebasing: memory.codes[span]))
            }
        }
        rows = UnsafeBufferPointer(copy)
        squaredNorms = UnsafeBufferPointer(norms)
        self.codes = UnsafeBufferPointer(codes)
        self.scales = UnsafeBufferPointer(scales)
        self.residualNorms = UnsafeBufferPointer(residualNorms)
    }

    var quantized: QuantizedRows? {
        rows.isEmpty ? nil : QuantizedRows(codes: codes, scales: scales, residualNorms: residualNorms)
    }

    private static let hugePage = 2 << 20
    private static let rowsPerPart = 4096

    /// On a cache line, and with an address even where it is empty.
    private static func allocate<Element: BitwiseCopyable & ExpressibleByIntegerLiteral>(
        _: Element.Type, count: Int
    ) -> UnsafeMutableBufferPointer<Element> {
        let byteCount = max(1, count) * MemoryLayout<Element>.stride
        let isLarge = byteCount >= hugePage
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: isLarge ? hugePage : 64)
        #if os(Linux)
        // Huge pages make a scan 10 % faster; failing to get them is harmless.
        if isLarge { madvise(memory.baseAddress, byteCount, Int32(MADV_HUGEPAGE)) }
        #endif
        let elements = UnsafeMutableBufferPointer(rebasing: memory.bindMemory(to: Element.self)[..<count])
        elements.initialize(repeating: 0)
        return elements
    }

    deinit {
        for address in [
            UnsafeRawPointer(rows.baseAddress), UnsafeRawPointer(squaredNorms.baseAddress),
            UnsafeRawPointer(codes.baseAddress),
            UnsafeRawPointer(scales.baseAddress), UnsafeRawPointer(residualNorms.baseAddress),
        ] {
            UnsafeMutableRawPointer(mutating: address)?.deallocate()
        }
    }
}
