import Compute

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
        quantize(row, into: codes, boundsPairs: false)
    }

    /// - Parameter boundsPairs: whether two neighboring codes add up to at most 128 in magnitude, as int8 products
    ///   without VNNI want it of queries.
    fileprivate static func quantize(
        _ row: UnsafeBufferPointer<Float>, into codes: UnsafeMutableBufferPointer<UInt8>, boundsPairs: Bool
    ) -> (scale: Float, residualNorm: Float) {
        require(codes.count == row.count, "one code per component")
        // Sixteen at a time. Zero times a component is NaN for one that is not finite.
        var (largest, zeros) = (SIMD16<Float>.zero, SIMD16<Float>.zero)
        var largestPair = SIMD8<Float>.zero
        for start in stride(from: 0, to: row.count, by: 16) {
            let values = vector(row, start)
            largest.replace(with: values, where: values .> largest)
            largest.replace(with: -values, where: -values .> largest)
            zeros += values * 0
            guard boundsPairs else { continue }
            let pairs = values.evenHalf + values.oddHalf
            largestPair.replace(with: pairs, where: pairs .> largestPair)
            largestPair.replace(with: -pairs, where: -pairs .> largestPair)
        }
        guard zeros.sum() == 0 else {
            codes.update(repeating: UInt8(zero))
            return (0, .infinity)
        }
        let most = largest.max()
        let scale = max(most, largestPair.max()) / Self.largest
        guard scale >= .leastNormalMagnitude else {
            // Components that are too small for a scale are the residual.
            codes.update(repeating: UInt8(zero))
            return (0, most * Float(row.count).squareRoot().nextUp)
        }
        // A float of this size has no digits behind the point: adding it rounds to nearest, even on a tie, and leaves
        // the integer in the last bits. No component is above 127 scales and a rounding error.
        let rounding: Float = 0x1.8p23
        var squares = SIMD16<Float>.zero
        for start in stride(from: 0, to: row.count, by: 16) {
            let values = vector(row, start)
            let rounded = values / scale + rounding
            let differences = values - (rounded - rounding) * scale
            squares += differences * differences
            let bits = unsafeBitCast(rounded, to: SIMD16<UInt32>.self) &+ UInt32(zero)
            for index in start..<min(start + 16, row.count) {
                codes[index] = UInt8(truncatingIfNeeded: bits[index - start])
            }
        }
        // Sums and products of floats: a sum of n squares is off by at most (n + 2) u of itself, u = 2⁻²⁴, and a
        // difference by 2 u of its component (Higham, “Accuracy and Stability of Numerical Algorithms”, section 3.1).
        let norm = squares.sum().squareRoot() * (1 + Float(row.count + 16) * 0x1p-23)
        return (scale, (norm + most * Float(row.count).squareRoot() * 0x1p-22).nextUp)
    }

    /// Sixteen components from `start` on, with zeros behind the last.
    @inline(__always)
    private static func vector(_ row: UnsafeBufferPointer<Float>, _ start: Int) -> SIMD16<Float> {
        guard start + 16 > row.count else {
            return UnsafeRawPointer(row.baseAddress.unsafelyUnwrapped + start).loadUnaligned(as: SIMD16<Float>.self)
        }
        var values = SIMD16<Float>.zero
        for index in start..<row.count { values[index - start] = row[index] }
        return values
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
            bytes.withUnsafeMutableBufferPointer { QuantizedRows.quantize(query, into: $0, boundsPairs: true) }
        }
        codes = bytes.map { Int8(Int($0) - QuantizedRows.zero) }
        squaredNorm = query.withUnsafeBufferPointer(PrintMatrix.squaredNorm)
    }
}
