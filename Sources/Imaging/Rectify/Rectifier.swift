import CKernels
package import Compute

/// Rectifies a quadrilateral of an image: warps it to a rectangle of a fixed size.
///
/// The part of the image around the quadrilateral is first resized, antialiased (``Resizer``), to about one pixel per
/// pixel of the result, and then sampled bilinearly through the projective map. Outside the image its edge is repeated.
/// O(pixels around the quadrilateral + output pixels).
public struct Rectifier: Sendable {
    /// The width of the result in pixels.
    public let width: Int
    /// The height of the result in pixels.
    public let height: Int
    private let simd: SIMDTarget

    /// The smallest area, as a share of the image's. At 0.1 % a square in 3,000 × 4,000 pixels has sides of about a
    /// hundred.
    private static let smallestArea = 0.001
    /// How far outside the image a corner may lie, as a share of the sides.
    private static let farthestOutside = 1.0

    /// - Precondition: `width` and `height` are positive.
    public init(width: Int, height: Int) { self.init(width: width, height: height, simd: .selected) }

    package init(width: Int, height: Int, simd: SIMDTarget) {
        require(width > 0 && height > 0, "an image of \(width)×\(height) has no pixels")
        self.width = width
        self.height = height
        self.simd = simd
    }

    /// Whether a quadrilateral can be rectified: convex, at least a thousandth of the image's area, and no corner
    /// farther outside than the length of a side.
    public func canRectify(_ quadrilateral: Quadrilateral) -> Bool {
        let reach = -Self.farthestOutside...1 + Self.farthestOutside
        return quadrilateral.isConvex && quadrilateral.area >= Self.smallestArea
            && quadrilateral.corners.allSatisfy { reach.contains($0.x) && reach.contains($0.y) }
            && quadrilateral.corners.contains { $0.x > 0 } && quadrilateral.corners.contains { $0.x < 1 }
            && quadrilateral.corners.contains { $0.y > 0 } && quadrilateral.corners.contains { $0.y < 1 }
    }

    /// The rectified view as red, green, blue floats in 0...1, rows from the top.
    ///
    /// - Precondition: ``canRectify(_:)``.
    public func rectify(_ quadrilateral: Quadrilateral, of image: PixelBuffer) -> [Float] {
        var result = [Float](repeating: 0, count: width * height * 3)
        result.withUnsafeMutableBufferPointer {
            rectify(quadrilateral, of: image, into: $0, layout: .interleaved(width: width))
        }
        return result
    }

    /// Writes the rectified view into `output`.
    ///
    /// - Precondition: ``canRectify(_:)``, and `layout` stays inside `output`.
    public func rectify(
        _ quadrilateral: Quadrilateral, of image: PixelBuffer,
        into output: UnsafeMutableBufferPointer<Float>, layout: FloatImageLayout
    ) {
        require(canRectify(quadrilateral), "\(quadrilateral) cannot be rectified")
        let last = layout.offset + (height - 1) * layout.rowStride + (width - 1) * layout.pixelStride + 2
        require(layout.offset >= 0 && last < output.count, "the layout reaches outside the output")

        let surroundings = Self.surroundings(of: quadrilateral, in: image)
        guard let part = try? image.cropped(to: surroundings) else {
            preconditionFailure("\(surroundings) lies inside an image of \(image.width)×\(image.height)")
        }
        let sides = spans(of: quadrilateral, in: image)
        let reduced = Resizer(
            width: Self.reducedSize(surroundings.width, pixelsPerOutput: sides.x),
            height: Self.reducedSize(surroundings.height, pixelsPerOutput: sides.y), simd: simd)
        var source = [Float](repeating: 0, count: reduced.width * reduced.height * 4)
        source.withUnsafeMutableBufferPointer {
            reduced.resize(part, into: $0, layout: FloatImageLayout(rowStride: reduced.width * 4, pixelStride: 4))
        }
        var projection = projection(
            to: quadrilateral, of: image, in: surroundings, reduced: (reduced.width, reduced.height))
        var pixels = lk_pixel_layout(.rgb8, premultiplied: false, scale: 1, layout: layout)
        guard let out = output.baseAddress else { return }
        withUnsafeTemporaryAllocation(of: Float.self, capacity: width * 4) { line in
            guard let line = line.baseAddress else { return }
            for row in 0..<height {
                simd.table.sample(
                    source, Int32(reduced.width), Int32(reduced.height), &projection, Int32(row), Int32(width), line)
                simd.table.write_pixels(line, Int32(width), &pixels, out + layout.offset + row * layout.rowStride)
            }
        }
    }

    /// The map from the result's pixels to the pixels of the reduced part, both counted from the center of the first.
    private func projection(
        to quadrilateral: Quadrilateral, of image: PixelBuffer, in surroundings: PixelRegion,
        reduced: (width: Int, height: Int)
    ) -> lk_projection {
        let transform = ProjectiveTransform(unitSquareTo: quadrilateral).rows
        let scale = (
            x: Double(reduced.width) / Double(surroundings.width),
            y: Double(reduced.height) / Double(surroundings.height)
        )
        let factor = (x: Double(image.width) * scale.x, y: Double(image.height) * scale.y)
        let shift = (x: -Double(surroundings.x) * scale.x - 0.5, y: -Double(surroundings.y) * scale.y - 0.5)
        // x' = factor x + shift, with x a quotient: the shift is times the divisor.
        let rows = [
            zip(transform[0], transform[2]).map { factor.x * $0 + shift.x * $1 },
            zip(transform[1], transform[2]).map { factor.y * $0 + shift.y * $1 },
            transform[2],
        ]
        // Pixel i is at (i + 1/2) / size.
        let m = rows.flatMap { row in
            let (a, b) = (row[0] / Double(width), row[1] / Double(height))
            return [Float(a), Float(b), Float(row[2] + a / 2 + b / 2)]
        }
        return lk_projection(m: (m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]))
    }

    /// The pixels that the quadrilateral and a bilinear sample at its edge need.
    private static func surroundings(of quadrilateral: Quadrilateral, in image: PixelBuffer) -> PixelRegion {
        func range(_ values: [Double], _ size: Int) -> Range<Int> {
            let low = (values.min() ?? 0) * Double(size), high = (values.max() ?? 1) * Double(size)
            let margin = 2 + (high - low) / 64
            let first = min(max(0, Int(low - margin)), size - 1)
            return first..<max(first + 1, min(size, Int(high + margin) + 1))
        }
        let columns = range(quadrilateral.corners.map(\.x), image.width)
        let rows = range(quadrilateral.corners.map(\.y), image.height)
        return PixelRegion(x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
    }

    /// The average number of source pixels per pixel of the result, along the image's axes.
    private func spans(of q: Quadrilateral, in image: PixelBuffer) -> (x: Double, y: Double) {
        let across = (q.topRight.x - q.topLeft.x + q.bottomRight.x - q.bottomLeft.x) / 2 / Double(width)
        let down = (q.bottomLeft.x - q.topLeft.x + q.bottomRight.x - q.topRight.x) / 2 / Double(height)
        let acrossY = (q.topRight.y - q.topLeft.y + q.bottomRight.y - q.bottomLeft.y) / 2 / Double(width)
        let downY = (q.bottomLeft.y - q.topLeft.y + q.bottomRight.y - q.topRight.y) / 2 / Double(height)
        return (max(abs(across), abs(down)) * Double(image.width), max(abs(acrossY), abs(downY)) * Double(image.height))
    }

    /// The size of the reduced part: never larger than the source, which is interpolated where it has too few pixels.
    private static func reducedSize(_ size: Int, pixelsPerOutput: Double) -> Int {
        min(size, max(1, Int((Double(size) / max(1, pixelsPerOutput)).rounded(.up))))
    }
}
