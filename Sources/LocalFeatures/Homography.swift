import Compute

/// A projective map of the plane: where the points of one image of a flat object lie in another.
struct Homography: Sendable, Equatable {
    /// Row by row; the last is 1.
    var elements: [Double]

    /// Where a point goes; nil if it lies on or behind the horizon.
    func project(_ x: Double, _ y: Double) -> (x: Double, y: Double)? {
        let e = elements
        let w = e[6] * x + e[7] * y + e[8]
        guard w > Self.nearestToHorizon else { return nil }
        return ((e[0] * x + e[1] * y + e[2]) / w, (e[3] * x + e[4] * y + e[5]) / w)
    }

    /// How a point moves by a step across and a step down where it comes from.
    ///
    /// - Precondition: the point has a projection.
    func derivative(at point: SIMD2<Double>) -> (x: SIMD2<Double>, y: SIMD2<Double>) {
        let e = elements
        let w = e[6] * point.x + e[7] * point.y + e[8]
        let place = SIMD2(e[0] * point.x + e[1] * point.y + e[2], e[3] * point.x + e[4] * point.y + e[5]) / w
        return ((SIMD2(e[0], e[3]) - e[6] * place) / w, (SIMD2(e[1], e[4]) - e[7] * place) / w)
    }

    /// A camera sees no point of an object ten times as near as its center.
    private static let nearestToHorizon = 0.1
}

extension Homography {
    /// The map of least squares from weighted pairs of points: an affine one, or a projective one.
    ///
    /// The direct linear transformation with the last element fixed to 1 (Hartley and Zisserman, "Multiple View
    /// Geometry", section 4.1.2). Points should be centered, and about as large as 1.
    /// - Returns: nil if the points do not determine a map.
    /// - Complexity: O(pairs).
    static func fitting(
        _ pairs: some Sequence<(from: SIMD2<Double>, to: SIMD2<Double>)>, isProjective: Bool
    ) -> Homography? {
        let size = isProjective ? 8 : 6
        var products = [SIMD8<Double>](repeating: .zero, count: 8)
        var sums = SIMD8<Double>.zero
        for (from, to) in pairs {
            let across = SIMD8(from.x, from.y, 1, 0, 0, 0, -to.x * from.x, -to.x * from.y)
            let down = SIMD8(0, 0, 0, from.x, from.y, 1, -to.y * from.x, -to.y * from.y)
            for row in 0..<size { products[row] += across[row] * across + down[row] * down }
            sums += to.x * across + to.y * down
        }
        var matrix = [Double](repeating: 0, count: size * size)
        for row in 0..<size { for column in 0..<size { matrix[row * size + column] = products[row][column] } }
        let right = (0..<size).map { sums[$0] }
        // A little weight against strong perspective, which few points would otherwise make up.
        for p in 0..<size { matrix[p * size + p] += p < 6 ? 1e-9 : 1e-3 }
        guard let solution = solution(of: matrix, right) else { return nil }
        return Homography(elements: solution + (isProjective ? [1] : [0, 0, 1]))
    }
}
