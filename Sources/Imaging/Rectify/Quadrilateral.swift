import Compute

/// Four corners in an image, as fractions of its width and height: (0, 0) is the image's top left corner and (1, 1) its
/// bottom right one. Corners may lie outside the image.
///
/// A flat, rectangular object that is photographed at an angle fills such a shape. The corners go clockwise from the
/// object's own top left, which is elsewhere in the image if the object is turned.
public struct Quadrilateral: Sendable, Hashable, Codable {
    /// A point in an image, as fractions of its width and height.
    public struct Point: Sendable, Hashable, Codable {
        /// 0 at the left edge, 1 at the right edge.
        public var x: Double
        /// 0 at the top edge, 1 at the bottom edge.
        public var y: Double

        /// A point, inside the image or outside.
        public init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }
    }

    /// The object's top left corner.
    public var topLeft: Point
    /// The object's top right corner.
    public var topRight: Point
    /// The object's bottom right corner.
    public var bottomRight: Point
    /// The object's bottom left corner.
    public var bottomLeft: Point

    /// Four corners. They need not be convex; see ``isConvex``.
    public init(topLeft: Point, topRight: Point, bottomRight: Point, bottomLeft: Point) {
        self.topLeft = topLeft
        self.topRight = topRight
        self.bottomRight = bottomRight
        self.bottomLeft = bottomLeft
    }

    /// The corners, clockwise from the top left.
    public var corners: [Point] { [topLeft, topRight, bottomRight, bottomLeft] }

    /// The area as a share of the image's, positive if the corners go clockwise.
    public var area: Double {
        let corners = corners
        return (0..<4).reduce(0) { sum, index in
            let (a, b) = (corners[index], corners[(index + 1) % 4])
            return sum + (a.x * b.y - b.x * a.y) / 2
        }
    }

    /// The quadrilateral grown or shrunk around the mean of its corners.
    public func scaled(by factor: Double) -> Quadrilateral {
        let corners = corners
        let (x, y) = (corners.reduce(0) { $0 + $1.x } / 4, corners.reduce(0) { $0 + $1.y } / 4)
        func moved(_ corner: Point) -> Point { Point(x: x + (corner.x - x) * factor, y: y + (corner.y - y) * factor) }
        return Quadrilateral(
            topLeft: moved(topLeft), topRight: moved(topRight), bottomRight: moved(bottomRight),
            bottomLeft: moved(bottomLeft))
    }

    /// Whether the corners are finite, go clockwise and make a convex shape.
    public var isConvex: Bool {
        let corners = corners
        guard corners.allSatisfy({ $0.x.isFinite && $0.y.isFinite }) else { return false }
        return (0..<4).allSatisfy { index in
            let (a, b, c) = (corners[index], corners[(index + 1) % 4], corners[(index + 2) % 4])
            return (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x) > 0
        }
    }
}

/// The projective map that takes the unit square to a quadrilateral.
///
/// Heckbert, "Fundamentals of Texture Mapping and Image Warping" (1989), section 2.2.3.
package struct ProjectiveTransform {
    private let a, b, c, d, e, f, g, h: Double

    /// - Precondition: the quadrilateral is convex.
    package init(unitSquareTo quadrilateral: Quadrilateral) {
        let (p0, p1) = (quadrilateral.topLeft, quadrilateral.topRight)
        let (p2, p3) = (quadrilateral.bottomRight, quadrilateral.bottomLeft)
        let (dx1, dy1, dx2, dy2) = (p1.x - p2.x, p1.y - p2.y, p3.x - p2.x, p3.y - p2.y)
        let (sx, sy) = (p0.x - p1.x + p2.x - p3.x, p0.y - p1.y + p2.y - p3.y)
        let determinant = dx1 * dy2 - dx2 * dy1
        require(determinant != 0, "a convex quadrilateral has no straight corner")
        g = (sx * dy2 - sy * dx2) / determinant
        h = (dx1 * sy - dy1 * sx) / determinant
        (a, b, c) = (p1.x - p0.x + g * p1.x, p3.x - p0.x + h * p3.x, p0.x)
        (d, e, f) = (p1.y - p0.y + g * p1.y, p3.y - p0.y + h * p3.y, p0.y)
    }

    /// The homogeneous matrix, by rows.
    var rows: [[Double]] { [[a, b, c], [d, e, f], [g, h, 1]] }

    /// The divisor of a point, positive on this side of the horizon.
    func depth(_ u: Double, _ v: Double) -> Double { g * u + h * v + 1 }

    @inline(__always)
    package func callAsFunction(_ u: Double, _ v: Double) -> (x: Double, y: Double) {
        let w = 1 / (g * u + h * v + 1)
        return ((a * u + b * v + c) * w, (d * u + e * v + f) * w)
    }
}

extension Quadrilateral {
    /// Maps a quadrilateral from the rectified view of this one to the image.
    ///
    /// - Returns: nil if `inner` is not convex or reaches beyond the horizon of this one.
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

extension Quadrilateral {
    /// The whole image.
    package static let unit = Quadrilateral(
        topLeft: Point(x: 0, y: 0), topRight: Point(x: 1, y: 0), bottomRight: Point(x: 1, y: 1),
        bottomLeft: Point(x: 0, y: 1))

    /// The share of the area that lies within the image, 0...1, for a convex quadrilateral (Sutherland and Hodgman,
    /// "Reentrant Polygon Clipping", 1974).
    package var visibleShare: Double {
        var points = corners
        let inside: [(Point) -> Double] = [{ $0.x }, { 1 - $0.x }, { $0.y }, { 1 - $0.y }]
        for distance in inside {
            var clipped: [Point] = []
            for (index, b) in points.enumerated() {
                let a = points[(index + points.count - 1) % points.count]
                let (before, after) = (distance(a), distance(b))
                if before * after < 0 {
                    let t = before / (before - after)
                    clipped.append(Point(x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y)))
                }
                if after >= 0 { clipped.append(b) }
            }
            points = clipped
        }
        let doubled = points.indices.reduce(0.0) { sum, index in
            let (a, b) = (points[index], points[(index + 1) % points.count])
            return sum + a.x * b.y - b.x * a.y
        }
        return area > 0 ? min(max(doubled / 2 / area, 0), 1) : 0
    }

    /// The upright box around what lies within the image; itself if nothing does.
    package var box: Quadrilateral {
        func range(_ values: [Double]) -> (low: Double, high: Double) {
            (max(values.min() ?? 0, 0), min(values.max() ?? 1, 1))
        }
        let (x, y) = (range(corners.map(\.x)), range(corners.map(\.y)))
        guard x.low < x.high, y.low < y.high else { return self }
        return Quadrilateral(
            topLeft: Point(x: x.low, y: y.low), topRight: Point(x: x.high, y: y.low),
            bottomRight: Point(x: x.high, y: y.high), bottomLeft: Point(x: x.low, y: y.high))
    }

    /// The corners as in a mirror; they go counterclockwise if they went clockwise.
    package var mirrored: Quadrilateral {
        func mirrored(_ point: Point) -> Point { Point(x: 1 - point.x, y: point.y) }
        return Quadrilateral(
            topLeft: mirrored(topLeft), topRight: mirrored(topRight), bottomRight: mirrored(bottomRight),
            bottomLeft: mirrored(bottomLeft))
    }

    /// Whether all corners are within a hundredth of the image of another one's.
    package func isClose(to other: Quadrilateral) -> Bool {
        zip(corners, other.corners).allSatisfy { abs($0.x - $1.x) < 0.01 && abs($0.y - $1.y) < 0.01 }
    }
}
