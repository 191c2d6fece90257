import CKernels
package import Compute
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

    fileprivate enum Rows {
        case floats(UnsafePointer<Float>)
        /// IEEE 754 binary16.
        case halves(UnsafePointer<UInt16>)

        @inline(__always)
        func withFloats<Result>(
            _ first: Int, count: Int, kernels: SIMDTarget, _ body: (UnsafePointer<Float>) -> Result
        ) -> Result {
            switch self {
            case .floats(let rows): return body(rows + first)
            case .halves(let rows):
                return withUnsafeTemporaryAllocation(of: Float.self, capacity: max(1, count)) { floats in
                    guard let floats = floats.baseAddress else { preconditionFailure("the memory is not empty") }
                    kernels.table.widen_halves(rows + first, count, floats)
                    return body(floats)
                }
            }
        }
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

    /// Computes the squared norms of rows, and quantizes them to int8, which takes a byte per component. The rows are
    /// used in place.
    ///
    /// - Parameters:
    ///   - quantizing: whether there are int8 rows.
    ///   - threads: by default those that have nothing else to do.
    ///   - owner: keeps the rows' memory, to which nothing writes while it lives.
    /// - Precondition: the rows have finite squared norms, which the caller may check afterwards.
    package init(
        inPlace rows: UnsafeBufferPointer<Float>, dimension: Int, quantizing: Bool = true, threads: Int? = nil,
        owner: any AnyObject & Sendable
    ) {
        self.init(.floats(Self.address(of: rows)), rows.count, dimension, quantizing, threads, owner)
    }

    /// The same for rows of half-precision numbers (IEEE 754 binary16).
    package init(
        halvesInPlace halves: UnsafeBufferPointer<UInt16>, dimension: Int, quantizing: Bool = true,
        threads: Int? = nil, owner: any AnyObject & Sendable
    ) {
        self.init(.halves(Self.address(of: halves)), halves.count, dimension, quantizing, threads, owner)
    }

    private init(
        _ rows: Rows, _ valueCount: Int, _ dimension: Int, _ quantizing: Bool, _ threads: Int?,
        _ owner: any AnyObject & Sendable
    ) {
        require(dimension > 0, "rows have at least one component")
        let memory = PreparedRows(
            rows, count: valueCount / dimension, dimension: dimension, quantizing: quantizing,
            threads: threads ?? availableThreadCount, owner: owner)
        self.init(rows, memory.squaredNorms, memory.quantized, dimension, memory)
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
        let memory = RowMemory<Float>(count: values.count)
        _ = memory.elements.update(from: values)
        self.init(inPlace: UnsafeBufferPointer(memory.elements), dimension: dimension, owner: memory)
        if let row = (0..<rowCount).first(where: { !squaredNorms[$0].isFinite }) {
            fatalError("row \(row), counted from 0, has a component that is not finite or too large")
        }
    }

    /// Copies rows of half-precision numbers (IEEE 754 binary16), and quantizes them to int8.
    ///
    /// - Precondition: the count of `halves` is a multiple of `dimension`, and all of them are finite.
    package init(halves: [UInt16], dimension: Int) {
        require(halves.count % dimension == 0, "\(halves.count) values do not fill rows of \(dimension)")
        let memory = RowMemory<UInt16>(count: halves.count)
        _ = memory.elements.update(from: halves)
        self.init(halvesInPlace: UnsafeBufferPointer(memory.elements), dimension: dimension, owner: memory)
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
        rows.withFloats(range.lowerBound * dimension, count: range.count * dimension, kernels: kernels, body)
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
    package func squaredDistance(from query: UnsafePointer<Float>, to row: Int, kernels: SIMDTarget) -> Float {
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
        row.baseAddress.map { Float(lk_squared_norm($0, row.count)) } ?? 0
    }
}

/// What a search computes of rows once: squared norms and int8 rows.
///
/// Unchecked: the buffers are filled in the initializer, before the object is shared, and only read afterwards.
private final class PreparedRows: @unchecked Sendable {
    private let norms: RowMemory<Float>
    private let codes: RowMemory<UInt8>
    private let scales: RowMemory<Float>
    private let residualNorms: RowMemory<Float>
    private let owner: any AnyObject & Sendable

    init(
        _ rows: PrintMatrix.Rows, count: Int, dimension: Int, quantizing: Bool, threads: Int,
        owner: any AnyObject & Sendable
    ) {
        norms = RowMemory(count: count)
        codes = RowMemory(count: quantizing ? count * dimension : 0)
        scales = RowMemory(count: quantizing ? count : 0)
        residualNorms = RowMemory(count: quantizing ? count : 0)
        self.owner = owner
        // Every part writes to its own rows.
        nonisolated(unsafe) let memory = (
            rows: rows, norms: norms.elements, codes: codes.elements, scales: scales.elements,
            residualNorms: residualNorms.elements
        )
        let parts = (count + Self.rowsPerPart - 1) / Self.rowsPerPart
        _ = concurrentMap(parts, threads: threads) { part in
            for index in (part * Self.rowsPerPart)..<min((part + 1) * Self.rowsPerPart, count) {
                let first = index * dimension
                memory.rows.withFloats(first, count: dimension, kernels: .selected) { floats in
                    let row = UnsafeBufferPointer(start: floats, count: dimension)
                    memory.norms[index] = PrintMatrix.squaredNorm(row)
                    guard quantizing else { return }
                    (memory.scales[index], memory.residualNorms[index]) = QuantizedRows.quantize(
                        row, into: UnsafeMutableBufferPointer(rebasing: memory.codes[first..<(first + dimension)]))
                }
            }
        }
    }

    var squaredNorms: UnsafeBufferPointer<Float> { UnsafeBufferPointer(norms.elements) }

    var quantized: QuantizedRows? {
        guard !codes.elements.isEmpty else { return nil }
        return QuantizedRows(
            codes: UnsafeBufferPointer(codes.elements), scales: UnsafeBufferPointer(scales.elements),
            residualNorms: UnsafeBufferPointer(residualNorms.elements))
    }

    private static let rowsPerPart = 4096
}

/// Zeros to write rows over: memory on a cache line, and with an address even where it is empty.
///
/// Unchecked: it is written before it is shared.
package final class RowMemory<Element: BitwiseCopyable & ExpressibleByIntegerLiteral>: @unchecked Sendable {
    /// Valid as long as the object.
    package let elements: UnsafeMutableBufferPointer<Element>

    package init(count: Int) {
        let byteCount = max(1, count) * MemoryLayout<Element>.stride
        let isLarge = byteCount >= Self.hugePage
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: byteCount, alignment: isLarge ? Self.hugePage : 64)
        #if os(Linux)
        // Huge pages make a scan 10 % faster; failing to get them is harmless.
        if isLarge { madvise(memory.baseAddress, byteCount, Int32(MADV_HUGEPAGE)) }
        #endif
        elements = UnsafeMutableBufferPointer(rebasing: memory.bindMemory(to: Element.self)[..<count])
        elements.initialize(repeating: 0)
    }

    private static var hugePage: Int { 2 << 20 }

    deinit { UnsafeMutableRawPointer(elements.baseAddress)?.deallocate() }
}
