/// The rows of a matrix once more, a byte a component: a quarter of the memory to read, and enough to
/// tell of most rows that they are too far away.
///
/// Row i is `scales[i] * (codes[i][j] - 128)`, up to a difference whose Euclidean length is at most
/// `errors[i]`; nobody may write to the memory.
public struct QuantizedRows: @unchecked Sendable {
    let codes: UnsafePointer<UInt8>
    let scales: UnsafePointer<Float>
    let errors: UnsafePointer<Float>

    /// What stands for zero.
    static let zero = 128
    private static let largest: Float = 127

    /// Wraps memory without a copy.
    ///
    /// - Parameter codes: a row after the other, as many bytes each as the matrix has components.
    /// - Precondition: the buffers are not empty; they have to be as long as the matrix wants them.
    public init(codes: UnsafeBufferPointer<UInt8>, scales: UnsafeBufferPointer<Float>, errors: UnsafeBufferPointer<Float>) {
        guard let codes = codes.baseAddress, let scales = scales.baseAddress, let errors = errors.baseAddress else {
            preconditionFailure("a matrix without rows has no codes")
        }
        self.codes = codes
        self.scales = scales
        self.errors = errors
    }

    /// Writes a row's codes; gives what a step of them stands for, and an upper bound of the length of the
    /// difference, infinite for a row with a component that is not finite. The same on every CPU.
    public static func quantize(
        _ row: UnsafeBufferPointer<Float>, into codes: UnsafeMutableBufferPointer<UInt8>
    ) -> (scale: Float, error: Float) {
        precondition(codes.count == row.count, "a byte a component")
        guard row.allSatisfy(\.isFinite) else {
            codes.update(repeating: UInt8(zero))
            return (0, .infinity)
        }
        let scale = row.reduce(0) { max($0, abs($1)) } / largest
        var squares = 0.0
        for (index, value) in row.enumerated() {
            let step = scale > 0 ? min(max((value / scale).rounded(), -largest), largest) : 0
            codes[index] = UInt8(Int(step) + zero)
            let difference = Double(value) - Double(scale) * Double(step)
            squares += difference * difference
        }
        return (scale, Float(squares.squareRoot()).nextUp)
    }
}

/// A query as signed bytes, with what is needed to bound distances from it.
struct QuantizedQuery {
    let codes: [Int8]
    let scale: Float
    let error: Float
    let squaredNorm: Float

    init(_ query: [Float]) {
        var bytes = [UInt8](repeating: 0, count: query.count)
        (scale, error) = query.withUnsafeBufferPointer { query in
            bytes.withUnsafeMutableBufferPointer { QuantizedRows.quantize(query, into: $0) }
        }
        codes = bytes.map { Int8(Int($0) - QuantizedRows.zero) }
        squaredNorm = query.withUnsafeBufferPointer(PrintMatrix.squaredNorm)
    }
}
