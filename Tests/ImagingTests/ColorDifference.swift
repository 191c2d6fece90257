import Foundation

/// CIEDE2000 between 8-bit sRGB colors (Sharma, Wu and Dalal, “The CIEDE2000 color-difference formula”, 2005).
enum ColorDifference {
    static func deltaE(_ a: [UInt8], _ b: [UInt8]) -> Double { deltaE(lab(a), lab(b)) }

    /// The difference between colors in L*a*b*.
    static func deltaE(_ p: [Double], _ q: [Double]) -> Double {
        func degrees(_ y: Double, _ x: Double) -> Double {
            let angle = atan2(y, x) * 180 / .pi
            return angle < 0 ? angle + 360 : angle
        }
        func cosine(_ angle: Double) -> Double { cos(angle * .pi / 180) }
        func saturation(_ c: Double) -> Double { (pow(c, 7) / (pow(c, 7) + pow(25, 7))).squareRoot() }
        let g = (1 - saturation((hypot(p[1], p[2]) + hypot(q[1], q[2])) / 2)) / 2
        let (a1, a2) = (p[1] * (1 + g), q[1] * (1 + g))
        let (c1, c2) = (hypot(a1, p[2]), hypot(a2, q[2]))
        let (h1, h2) = (degrees(p[2], a1), degrees(q[2], a2))
        var turn = c1 * c2 == 0 ? 0 : h2 - h1
        if turn > 180 { turn -= 360 }
        if turn < -180 { turn += 360 }
        let (dL, dC) = (q[0] - p[0], c2 - c1)
        let dH = 2 * (c1 * c2).squareRoot() * sin(turn / 2 * .pi / 180)
        let (meanL, meanC) = ((p[0] + q[0]) / 2, (c1 + c2) / 2)
        var hue = h1 + h2
        if c1 * c2 != 0 {
            if abs(h1 - h2) > 180 { hue += hue < 360 ? 360 : -360 }
            hue /= 2
        }
        let t =
            1 - 0.17 * cosine(hue - 30) + 0.24 * cosine(2 * hue) + 0.32 * cosine(3 * hue + 6)
            - 0.20 * cosine(4 * hue - 63)
        let offset = (meanL - 50) * (meanL - 50)
        let sL = 1 + 0.015 * offset / (20 + offset).squareRoot()
        let (sC, sH) = (1 + 0.045 * meanC, 1 + 0.015 * meanC * t)
        let rotation =
            -sin(60 * exp(-pow((hue - 275) / 25, 2)) * .pi / 180) * 2 * saturation(meanC)
        let (l, c, h) = (dL / sL, dC / sC, dH / sH)
        return (l * l + c * c + h * h + rotation * c * h).squareRoot()
    }

    private static func lab(_ color: [UInt8]) -> [Double] {
        let linear = color.map { byte in
            let x = Double(byte) / 255
            return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4)
        }
        let matrix = [
            [0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041],
        ]
        let f = zip(matrix, [0.95047, 1, 1.08883]).map { row, white in
            let x = zip(row, linear).map { $0 * $1 }.reduce(0, +) / white
            return x > 216.0 / 24_389 ? cbrt(x) : (24_389.0 / 27 * x + 16) / 116
        }
        return [116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])]
    }
}
