/// A matrix of 3×3, by rows.
struct ColorMatrix: Equatable {
    var rows: [[Double]]

    static let identity = ColorMatrix(rows: [[1, 0, 0], [0, 1, 0], [0, 0, 1]])

    /// From linear sRGB to XYZ with the white point D50, as ICC profiles of sRGB have it.
    static let sRGBToXYZ = ColorMatrix(rows: [
        [0.436_065_7, 0.385_151_5, 0.143_078_4], [0.222_488_4, 0.716_873_1, 0.060_617_0],
        [0.013_916_0, 0.097_076_4, 0.714_096_1],
    ])
    /// From XYZ with the white point D50 to linear sRGB.
    static let xyzToSRGB = sRGBToXYZ.inverse ?? .identity

    /// How sharpened cone responses follow from XYZ (Bradford; ICC.1:2022, annex E).
    private static let cones = ColorMatrix(rows: [
        [0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296],
    ])
    private static let conesInverse = cones.inverse ?? .identity
    private static let d50 = [0.9642, 1, 0.8249]

    init(rows: [[Double]]) { self.rows = rows }

    /// From linear red, green and blue of these chromaticities to XYZ with the white point D50.
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
        // With a white on a side of their triangle, a primary adds nothing.
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
