import Foundation

/// From an encoded component to linear light, both 0...1.
enum ToneCurve: Equatable {
    /// Equidistant values, at least two, interpolated.
    case table([UInt16])
    /// (a·x + b)^g + e from x = d on, and c·x + f below.
    case parametric(g: Double, a: Double, b: Double, c: Double, d: Double, e: Double, f: Double)

    static func gamma(_ g: Double) -> ToneCurve { .parametric(g: g, a: 1, b: 0, c: 0, d: 0, e: 0, f: 0) }

    /// IEC 61966-2-1.
    static let sRGB = ToneCurve.parametric(
        g: 2.4, a: 1 / 1.055, b: 0.055 / 1.055, c: 1 / 12.92, d: 0.04045, e: 0, f: 0)

    /// 0...1 for every x of 0...1; 0 where the curve has no number.
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
        // Not from black to white, which such an exponent keeps apart.
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
