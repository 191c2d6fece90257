/// The projective map that takes the unit square to a quadrilateral.
///
/// Heckbert, "Fundamentals of Texture Mapping and Image Warping" (1989), section 2.2.3.
struct ProjectiveTransform {
    private let a, b, c, d, e, f, g, h: Double

    /// - Precondition: the quadrilateral is convex.
    init(unitSquareTo quadrilateral: Quadrilateral) {
        let (p0, p1) = (quadrilateral.topLeft, quadrilateral.topRight)
        let (p2, p3) = (quadrilateral.bottomRight, quadrilateral.bottomLeft)
        let (dx1, dy1, dx2, dy2) = (p1.x - p2.x, p1.y - p2.y, p3.x - p2.x, p3.y - p2.y)
        let (sx, sy) = (p0.x - p1.x + p2.x - p3.x, p0.y - p1.y + p2.y - p3.y)
        let determinant = dx1 * dy2 - dx2 * dy1
        precondition(determinant != 0, "a convex quadrilateral has no straight corner")
        g = (sx * dy2 - sy * dx2) / determinant
        h = (dx1 * sy - dy1 * sx) / determinant
        (a, b, c) = (p1.x - p0.x + g * p1.x, p3.x - p0.x + h * p3.x, p0.x)
        (d, e, f) = (p1.y - p0.y + g * p1.y, p3.y - p0.y + h * p3.y, p0.y)
    }

    /// The matrix by rows, homogeneous.
    var rows: [[Double]] { [[a, b, c], [d, e, f], [g, h, 1]] }

    /// Positive on this side of the horizon.
    func depth(_ u: Double, _ v: Double) -> Double { g * u + h * v + 1 }

    @inline(__always)
    func callAsFunction(_ u: Double, _ v: Double) -> (x: Double, y: Double) {
        let w = 1 / (g * u + h * v + 1)
        return ((a * u + b * v + c) * w, (d * u + e * v + f) * w)
    }
}

extension Quadrilateral {
    /// Maps a quadrilateral from the rectified view of this one to the image.
    ///
    /// - Returns: nil if `inner` is not convex or reaches beyond the horizon of this one.
    ///
    /// - Precondition: this quadrilateral is convex.
    public func projecting(_ inner: Quadrilateral) -> Quadrilateral? {
        let transform = ProjectiveTransform(unitSquareTo: self)
        guard inner.corners.allSatisfy({ transform.depth($0.x, $0.y) > 0 }) else { return nil }
        let points = inner.corners.map { corner in
            let (x, y) = transform(corner.x, corner.y)
            return Point(x: x, y: y)
        }
        let projected = Quadrilateral(
            topLeft: points[0], topRight: points[1], bottomRight: points[2], bottomLeft: points[3])
        return projected.isConvex ? projected : nil
    }
}
