import CKernels
import CLookalike
import Compute
import VectorSearch

/// A matrix of a caller whose sizes are checked.
struct Matrix {
    private enum Format: Int32 {
        case float32 = 0
        case float16 = 1
        case int8 = 2

        var byteCount: Int {
            switch self {
            case .float32: 4
            case .float16: 2
            case .int8: 1
            }
        }
    }

    let rowCount: Int
    let dimension: Int
    private let format: Format
    /// Nil if there are no rows.
    private let data: UnsafeRawPointer?
    private let (rowStride, columnStride): (Int, Int)
    /// What errors call it.
    private let name: String

    /// Sums of int8 products of longer rows overflow 32 bits.
    private static let largestDimension = 65_536
    /// Squared distances of such rows, and of those that indexes derive from them, are finite.
    private static let largestSquaredNorm: Float = 0x1p120
    /// Squared distances of such rows are no denormal numbers, and not 0.
    private static let smallestSquaredNorm: Float = 0x1p-100

    init(_ matrix: UnsafePointer<lookalike_matrix>?, named name: String) throws(InterfaceError) {
        guard let matrix = matrix?.pointee else { throw InterfaceError("the \(name) are NULL") }
        guard let format = Format(rawValue: matrix.type) else {
            throw InterfaceError("the type of the \(name) is \(matrix.type), which is no lookalike_type")
        }
        try check(matrix.rows >= 0, "the \(name) cannot be \(matrix.rows)")
        try check(
            (1...Int64(Self.largestDimension)).contains(matrix.columns),
            "the \(name) have \(matrix.columns) columns, not 1 to \(Self.largestDimension)")
        data = matrix.data.map { UnsafeRawPointer($0) }
        (rowCount, dimension, self.format, self.name) = (Int(matrix.rows), Int(matrix.columns), format, name)
        columnStride = matrix.column_stride == 0 ? format.byteCount : Int(matrix.column_stride)
        let (width, overflow) = columnStride.multipliedReportingOverflow(by: dimension)
        let step = matrix.row_stride == 0 ? width : Int(matrix.row_stride)
        rowStride = step
        // What is computed from the rows takes less than 64 bytes per number.
        let sizes = [step, Int(matrix.columns) * 64].map { $0.multipliedReportingOverflow(by: Int(matrix.rows)) }
        try check(!overflow && !sizes.contains(where: \.overflow), "the size of the \(name) overflows an integer")
        try check(data != nil || rowCount == 0, "the data of the \(name) are NULL")
    }

    /// Whether the numbers have no gaps, and lie where the type wants them.
    private var isDense: Bool {
        columnStride == format.byteCount && (rowStride == dimension * columnStride || rowCount < 2)
            && Int(bitPattern: data) % format.byteCount == 0
    }

    /// Writes a row as float32 numbers, which is exact.
    private func read(_ row: Int, into floats: UnsafeMutablePointer<Float>) {
        guard let data else { return }
        let first = data + row * rowStride
        if columnStride == format.byteCount, format != .int8 {
            return lk_widen(first, format == .float32 ? LK_FLOAT32 : LK_FLOAT16, dimension, floats)
        }
        for column in 0..<dimension {
            let place = first + column * columnStride
            switch format {
            case .float32: floats[column] = place.loadUnaligned(as: Float.self)
            case .float16: lk_widen(place, LK_FLOAT16, 1, floats + column)
            case .int8: floats[column] = Float(place.load(as: Int8.self))
            }
        }
    }

    /// Some rows, as queries.
    ///
    /// - Throws: an error that names a row with numbers that are not finite or too large.
    func vectors(_ rows: Range<Int>) throws(InterfaceError) -> [[Float]] {
        var vectors: [[Float]] = []
        for row in rows {
            let vector = vector(row)
            try checkNorm(row, vector.withUnsafeBufferPointer(PrintMatrix.squaredNorm))
            vectors.append(vector)
        }
        return vectors
    }

    private func vector(_ row: Int) -> [Float] {
        [Float](unsafeUninitializedCapacity: dimension) { buffer, count in
            if let floats = buffer.baseAddress { read(row, into: floats) }
            count = dimension
        }
    }

    private func checkNorm(_ row: Int, _ squaredNorm: Float) throws(InterfaceError) {
        guard squaredNorm <= Self.largestSquaredNorm else {
            let reason = squaredNorm.isFinite ? "its norm is above 2^60" : "it is too large, or not finite"
            throw InterfaceError("row \(row) of the \(name), counted from 0: \(reason)")
        }
        guard squaredNorm >= Self.smallestSquaredNorm || vector(row).allSatisfy({ $0 == 0 }) else {
            throw InterfaceError(
                "row \(row) of the \(name), counted from 0: its norm is below 2^-50, and distances of it would be 0; "
                    + "multiply all rows by the same number")
        }
    }

    /// The rows to search.
    ///
    /// - Parameters:
    ///   - inPlace: whether dense rows of floats are not copied, as the caller keeps them.
    ///   - quantizing: whether there are int8 rows.
    func rows(inPlace: Bool, quantizing: Bool = true, threads: Int?) throws(InterfaceError) -> PrintMatrix {
        let inPlace = inPlace && isDense
        let matrix: PrintMatrix
        switch format {
        case .float32:
            let (floats, owner) = memory(inPlace: inPlace) { $1.update(from: $0, count: dimension) }
            matrix = PrintMatrix(
                inPlace: floats, dimension: dimension, quantizing: quantizing, threads: threads, owner: owner)
        case .float16, .int8:
            let (halves, owner) = memory(inPlace: inPlace && format == .float16) { lk_narrow($0, dimension, $1) }
            matrix = PrintMatrix(
                halvesInPlace: halves, dimension: dimension, quantizing: quantizing, threads: threads, owner: owner)
        }
        for row in 0..<rowCount { try checkNorm(row, matrix.squaredNorm(ofRow: row)) }
        return matrix
    }

    /// The rows where the caller has them, or copies of all.
    private func memory<Element: BitwiseCopyable & ExpressibleByIntegerLiteral>(
        inPlace: Bool, _ write: (UnsafePointer<Float>, UnsafeMutablePointer<Element>) -> Void
    ) -> (rows: UnsafeBufferPointer<Element>, owner: any AnyObject & Sendable) {
        let count = rowCount * dimension
        if inPlace {
            let rows = data?.assumingMemoryBound(to: Element.self)
            return (UnsafeBufferPointer(start: rows, count: count), Self.nobody)
        }
        let copy = RowMemory<Element>(count: count)
        withUnsafeTemporaryAllocation(of: Float.self, capacity: dimension) { floats in
            guard let floats = floats.baseAddress, let out = copy.elements.baseAddress else { return }
            for row in 0..<rowCount {
                read(row, into: floats)
                write(floats, out + row * dimension)
            }
        }
        return (UnsafeBufferPointer(copy.elements), copy)
    }

    /// Owns memory of a caller.
    private static let nobody = Nobody()
    private final class Nobody: Sendable {}
}
