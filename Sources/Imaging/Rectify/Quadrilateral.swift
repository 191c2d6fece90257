/// Four corners in an image, as fractions of its width and height: (0, 0) is the image's top left
/// corner and (1, 1) its bottom right one. Corners may lie outside the image.
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

    /// Whether the corners are finite, go clockwise and are those of a convex shape.
    public var isConvex: Bool {
        let corners = corners
        guard corners.allSatisfy({ $0.x.isFinite && $0.y.isFinite }) else { return false }
        return (0..<4).allSatisfy { index in
            let (a, b, c) = (corners[index], corners[(index + 1) % 4], corners[(index + 2) % 4])
            return (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x) > 0
        }
    }
}
