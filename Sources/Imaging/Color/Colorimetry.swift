import Foundation

/// A 3×3 matrix, by rows.
struct ColorMatrix: Equatable {
    var rows: [[Double]]

    static let identity = ColorMatrix(rows: [[1, 0, 0], [0, 1, 0], [0, 0, 1]])

    /// The matrix from linear sRGB to XYZ with the white point D50, as ICC profiles of sRGB have it.
    static let sRGBToXYZ = ColorMatrix(rows: [
        [0.436_065_7, 0.385_151_5, 0.143_078_4], [0.222_488_4, 0.716_873_1, 0.060_617_0],
        [0.013_916_0, 0.097_076_4, 0.714_096_1],
    ])
    /// The matrix from XYZ with the white point D50 to linear sRGB.
    static let xyzToSRGB = sRGBToXYZ.inverse ?? .identity

    /// The matrix from XYZ to sharpened cone responses (Bradford; ICC.1:2022, annex E).
    private static let cones = ColorMatrix(rows: [
        [0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296],
    ])
    private static let conesInverse = cones.inverse ?? .identity
    private static let d50 = [0.9642, 1, 0.8249]

    init(rows: [[Double]]) { self.rows = rows }

    /// The matrix from linear red, green and blue of these chromaticities to XYZ with the white point D50.
    ///
    /// Nil if they do not span a plane.
    init?(
        red: (x: Double, y: Double), green: (x: Double, y: Double), blue: (x: Double, y: Double),
        white: (x: Double, y: Double)
    ) {
        func xyz(_ point: (x: Double, y: Double)) -> [Double]? {
            guard point.y > 0 else { return nil }
            return [point.x / point.y, 1, (1 - point.x - point.y) / point.y]
        }
        guard let red = xyz(red), let green = xyz(green), let blue = xyz(blue), let white = xyz(white) else {
            return nil
        }
        let columns = ColorMatrix(rows: [0, 1, 2].map { [red[$0], green[$0], blue[$0]] })
        guard let inverse = columns.inverse else { return nil }
        let scales = inverse * white
        let toXYZ = ColorMatrix(rows: columns.rows.map { row in zip(row, scales).map { $0 * $1 } })
        let (from, to) = (Self.cones * white, Self.cones * Self.d50)
        guard from.allSatisfy({ $0 != 0 }) else { return nil }
        let adapted = ColorMatrix(
            rows: (0..<3).map { row in Self.cones.rows[row].map { $0 * to[row] / from[row] } })
        self = Self.conesInverse * adapted * toXYZ
        // A primary adds nothing if the white lies on the opposite side of the triangle.
        guard rows.joined().allSatisfy(\.isFinite), self.inverse != nil else { return nil }
    }

    static func * (a: ColorMatrix, b: ColorMatrix) -> ColorMatrix {
        ColorMatrix(
            rows: a.rows.map { row in
                (0..<3).map { column in
                    row[0] * b.rows[0][column] + row[1] * b.rows[1][column] + row[2] * b.rows[2][column]
                }
            })
    }

    static func * (a: ColorMatrix, v: [Double]) -> [Double] {
        a.rows.map { $0[0] * v[0] + $0[1] * v[1] + $0[2] * v[2] }
    }

    /// Nil for a singular matrix.
    var inverse: ColorMatrix? {
        let m = rows
        func minor(_ r: Int, _ c: Int) -> Double {
            let (r1, r2) = ((r + 1) % 3, (r + 2) % 3)
            let (c1, c2) = ((c + 1) % 3, (c + 2) % 3)
            return m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
        }
        let determinant = m[0][0] * minor(0, 0) + m[0][1] * minor(0, 1) + m[0][2] * minor(0, 2)
        guard abs(determinant) > 1e-9 else { return nil }
        return ColorMatrix(rows: (0..<3).map { r in (0..<3).map { c in minor(c, r) / determinant } })
    }
}

/// Color primaries of ITU-T H.273 (coding-independent code points), table 2.
struct ColorPrimaries {
    let red: (x: Double, y: Double)
    let green: (x: Double, y: Double)
    let blue: (x: Double, y: Double)
    var white: (x: Double, y: Double) = (0.3127, 0.3290)

    static let bt709 = ColorPrimaries(red: (0.64, 0.33), green: (0.30, 0.60), blue: (0.15, 0.06))
    static let displayP3 = ColorPrimaries(red: (0.680, 0.320), green: (0.265, 0.690), blue: (0.150, 0.060))
    static let bt2020 = ColorPrimaries(red: (0.708, 0.292), green: (0.170, 0.797), blue: (0.131, 0.046))
}

extension ColorPrimaries {
    /// Nil for values that are unspecified, reserved, or no primaries of red, green and blue.
    init?(codePoint: Int) {
        switch codePoint {
        case 1: self = .bt709
        case 4:
            self.init(red: (0.67, 0.33), green: (0.21, 0.71), blue: (0.14, 0.08), white: (0.310, 0.316))
        case 5: self.init(red: (0.64, 0.33), green: (0.29, 0.60), blue: (0.15, 0.06))
        case 6, 7: self.init(red: (0.630, 0.340), green: (0.310, 0.595), blue: (0.155, 0.070))
        case 9: self = .bt2020
        case 11: self.init(red: (0.680, 0.320), green: (0.265, 0.690), blue: (0.150, 0.060), white: (0.314, 0.351))
        case 12: self = .displayP3
        default: return nil
        }
    }
}

extension ColorMatrix {
    /// The matrix from linear red, green and blue to XYZ with the white point D50.
    init?(primaries: ColorPrimaries) {
        self.init(red: primaries.red, green: primaries.green, blue: primaries.blue, white: primaries.white)
    }
}

extension ToneCurve {
    /// A transfer function of H.273, table 3. The one of video (1, 6, 14, 15) counts as sRGB's, as viewers show it. Nil
    /// for values that are unspecified or reserved, and for high dynamic range (16, 18), which needs tone mapping.
    init?(codePoint: Int) {
        switch codePoint {
        case 1, 6, 13, 14, 15: self = .sRGB
        case 4: self = .gamma(2.2)
        case 5: self = .gamma(2.8)
        case 8: self = .gamma(1)
        default: return nil
        }
    }
}

/// A function from an encoded component to linear light, both 0...1.
enum ToneCurve: Equatable {
    /// Equidistant values, at least two, interpolated.
    case table([UInt16])
    /// The function (a·x + b)^g + e from x = d on, and c·x + f below.
    case parametric(g: Double, a: Double, b: Double, c: Double, d: Double, e: Double, f: Double)

    static func gamma(_ g: Double) -> ToneCurve { .parametric(g: g, a: 1, b: 0, c: 0, d: 0, e: 0, f: 0) }

    /// The curve of IEC 61966-2-1.
    static let sRGB = ToneCurve.parametric(
        g: 2.4, a: 1 / 1.055, b: 0.055 / 1.055, c: 1 / 12.92, d: 0.04045, e: 0, f: 0)

    /// The linear light of an encoded component: 0...1 for every x of 0...1, and 0 where the curve has no number.
    func linear(_ x: Double) -> Double {
        switch self {
        case .table(let values):
            let position = min(max(x, 0), 1) * Double(values.count - 1)
            let low = min(Int(position), values.count - 2)
            let part = position - Double(low)
            return (Double(values[low]) * (1 - part) + Double(values[low + 1]) * part) / 65_535
        case .parametric(let g, let a, let b, let c, let d, let e, let f):
            let y = x >= d ? pow(max(0, a * x + b), g) + e : c * x + f
            return y.isFinite ? min(max(y, 0), 1) : 0
        }
    }

    /// The inverse of sRGB's curve, clipped to 0...1.
    static func encodedSRGB(_ linear: Double) -> Double {
        if linear <= 0.003_130_8 { return 12.92 * max(0, linear) }
        return 1.055 * pow(min(1, linear), 1 / 2.4) - 0.055
    }

    /// Whether the tones between black and white become nearly one, as with an exponent next to zero.
    var isFlat: Bool {
        // The comparison leaves out black and white, which such an exponent keeps apart.
        let (dark, light) = (Self.encodedSRGB(linear(1.0 / 16)), Self.encodedSRGB(linear(15.0 / 16)))
        return light - dark <= 0.1
    }

    /// Whether bytes keep their value, to one step, in sRGB.
    var isNearSRGB: Bool {
        self == .sRGB
            || (0...16).allSatisfy { index in
                let x = Double(index) / 16
                return abs(Self.encodedSRGB(linear(x)) - x) <= 1.0 / 255
            }
    }
}
