/// The rows of a matrix quantized to int8. A lower bound on the distance from them rejects most rows, for a quarter of
/// the memory traffic.
///
/// Row i is `scales[i] * (codes[i][j] - 128)`, up to a residual whose norm is at most `residualNorms[i]`.
///
/// Unchecked: the pointers are only read through, and ``init(codes:scales:residualNorms:)`` requires that the memory
/// does not change.
public struct QuantizedRows: @unchecked Sendable {
    let codes: UnsafePointer<UInt8>
    let scales: UnsafePointer<Float>
    let residualNorms: UnsafePointer<Float>

    /// The code of zero.
    static let zero = 128
    private static let largest: Float = 127

    /// Wraps memory without a copy.
    ///
    /// - Parameters:
    ///   - codes: one byte per component, row by row.
    ///   - scales: one per row.
    ///   - residualNorms: one per row.
    /// - Precondition: the buffers are not empty, and nothing writes to them while the rows are in use.
    public init(
        codes: UnsafeBufferPointer<UInt8>, scales: UnsafeBufferPointer<Float>, residualNorms: UnsafeBufferPointer<Float>
    ) {
        guard let codes = codes.baseAddress, let scales = scales.baseAddress,
            let residualNorms = residualNorms.baseAddress
        else {
            preconditionFailure("the buffers are empty")
        }
        self.codes = codes
        self.scales = scales
        self.residualNorms = residualNorms
    }

    /// Quantizes a row. The result is the same on every CPU.
    ///
    /// - Returns: the scale of the codes, and an upper bound on the norm of the residual; infinite for a row with a
    ///   component that is not finite.
    public static func quantize(
        _ row: UnsafeBufferPointer<Float>, into codes: UnsafeMutableBufferPointer<UInt8>
    ) -> (scale: Float, residualNorm: Float) {
        precondition(codes.count == row.count, "one code per component")
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

/// A query quantized to int8, with what a lower bound on distances needs.
struct QuantizedQuery {
    let codes: [Int8]
    let scale: Float
    let residualNorm: Float
    let squaredNorm: Float

    init(_ query: [Float]) {
        var bytes = [UInt8](repeating: 0, count: query.count)
        (scale, residualNorm) = query.withUnsafeBufferPointer { query in
            bytes.withUnsafeMutableBufferPointer { QuantizedRows.quantize(query, into: $0) }
        }
        codes = bytes.map { Int8(Int($0) - QuantizedRows.zero) }
        squaredNorm = query.withUnsafeBufferPointer(PrintMatrix.squaredNorm)
    }
}
