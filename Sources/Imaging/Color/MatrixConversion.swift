import CKernels
import Compute

/// The conversion to sRGB from a color space of three curves and a matrix. Colors outside sRGB are clipped.
struct MatrixConversion: Sendable {
    /// The share of each byte of red, green and blue in the linear result; see `lk_convert_colors`.
    private let shares: [Float]
    private let matrix: [Float]
    /// The linear values of `sampleCount` encoded ones, per component; empty unless floats are to be converted.
    private let curves: [[Float]]

    private static let sampleCount = 1024
    /// The encoded bytes of `LK_ENCODED_COUNT` linear values.
    private static let encoded: [UInt8] = (0..<Int(LK_ENCODED_COUNT)).map { index in
        UInt8(ToneCurve.encodedSRGB(Double(index) / Double(LK_ENCODED_COUNT - 1)) * 255 + 0.5)
    }
    /// The encoded values as floats.
    private static let encodedFloats: [Float] = (0..<Int(LK_ENCODED_COUNT)).map { index in
        Float(ToneCurve.encodedSRGB(Double(index) / Double(LK_ENCODED_COUNT - 1)))
    }

    /// Nil if bytes keep their values, to about one step: then the color space is sRGB by another name.
    ///
    /// - Parameters:
    ///   - curves: the curves of red, green and blue.
    ///   - toXYZ: the matrix from linear components to XYZ with the white point D50.
    ///   - convertsFloats: whether colors in floats are to be converted, too.
    init?(curves: [ToneCurve], toXYZ: ColorMatrix, convertsFloats: Bool = false) {
        let matrix = ColorMatrix.xyzToSRGB * toXYZ
        let isIdentity = zip(matrix.rows.joined(), ColorMatrix.identity.rows.joined()).allSatisfy {
            abs($0 - $1) <= 0.004
        }
        if isIdentity, curves.allSatisfy(\.isNearSRGB) { return nil }
        var shares = [Float](repeating: 0, count: 3 * 256 * 4)
        let scale = Double(LK_ENCODED_COUNT - 1)
        for (component, curve) in curves.enumerated() {
            for byte in 0..<256 {
                let linear = curve.linear(Double(byte) / 255)
                for row in 0..<3 {
                    let half = component == 0 ? 0.5 : 0
                    shares[(component * 256 + byte) * 4 + row] = Float(
                        matrix.rows[row][component] * linear * scale + half)
                }
            }
        }
        self.shares = shares
        self.matrix = matrix.rows.joined().map { Float($0) }
        self.curves = (convertsFloats ? curves : []).map { curve in
            (0..<Self.sampleCount).map { Float(curve.linear(Double($0) / Double(Self.sampleCount - 1))) }
        }
    }

    /// Converts 8-bit pixels in place: red, green, blue, and a fourth byte that stays where `channels` is 4.
    ///
    /// O(count).
    func convert(_ pixels: UnsafeMutablePointer<UInt8>, count: Int, channels: Int) {
        require(channels == 3 || channels == 4, "pixels of red, green and blue have no \(channels) bytes")
        lk_convert_colors(shares, Self.encoded, count, channels, pixels)
    }

    /// Converts red, green and blue of 0...1, which follow each other, in place. Values outside are clipped.
    ///
    /// O(count).
    func convert(_ colors: UnsafeMutablePointer<Float>, count: Int, stride: Int) {
        require(!curves.isEmpty, "the conversion was made for bytes alone")
        Self.encodedFloats.withUnsafeBufferPointer { encoded in
            matrix.withUnsafeBufferPointer { m in
                for index in 0..<count {
                    let pixel = colors + index * stride
                    let r = Self.interpolated(curves[0], pixel[0])
                    let g = Self.interpolated(curves[1], pixel[1])
                    let b = Self.interpolated(curves[2], pixel[2])
                    pixel[0] = Self.interpolated(encoded, m[0] * r + m[1] * g + m[2] * b)
                    pixel[1] = Self.interpolated(encoded, m[3] * r + m[4] * g + m[5] * b)
                    pixel[2] = Self.interpolated(encoded, m[6] * r + m[7] * g + m[8] * b)
                }
            }
        }
    }

    @inline(__always)
    private static func interpolated(_ values: UnsafeBufferPointer<Float>, _ x: Float) -> Float {
        let position = min(max(x, 0), 1) * Float(values.count - 1)
        let low = min(Int(position), values.count - 2)
        let part = position - Float(low)
        return values[low] + (values[low + 1] - values[low]) * part
    }

    @inline(__always)
    private static func interpolated(_ values: [Float], _ x: Float) -> Float {
        values.withUnsafeBufferPointer { interpolated($0, x) }
    }
}
