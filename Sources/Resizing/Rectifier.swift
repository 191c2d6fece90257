import Kernels
import PixelBuffers

/// Looks straight at a quadrilateral of an image: warps it to a rectangle of a fixed size.
///
/// The part of the image around the quadrilateral is first resized, antialiased (``Resizer``), to
/// about one pixel for each of the result, and then sampled bilinearly along the projective map.
/// What lies outside the image repeats its edge. O(pixels around the quadrilateral + output pixels).
public struct Rectifier: Sendable {
    public let width: Int
    public let height: Int
    private let tier: KernelTier

    /// A smaller share of the image is taken for no thing at all: at 0.1 % one of 3,000 × 4,000 pixels
    /// has a side of some hundred.
    private static let smallestArea = 0.001
    /// How far outside the image a corner may lie, in its sides.
    private static let farthestOutside = 1.0

    /// - Precondition: `width` and `height` are positive.
    public init(width: Int, height: Int, tier: KernelTier = .selected) {
        precondition(width > 0 && height > 0, "an image of \(width)×\(height) has no pixels")
        self.width = width
        self.height = height
        self.tier = tier
    }

    /// Whether a quadrilateral can be looked at: convex, at least a thousandth of the image's area,
    /// and no corner farther outside than the image is large.
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
        result.withUnsafeMutableBufferPointer { rectify(quadrilateral, of: image, into: $0, layout: .interleaved(width: width)) }
        return result
    }

    /// Writes the rectified view into `output`.
    ///
    /// - Precondition: ``canRectify(_:)``, and `layout` stays inside `output`.
    public func rectify(
        _ quadrilateral: Quadrilateral, of image: PixelBuffer,
        into output: UnsafeMutableBufferPointer<Float>, layout: FloatImageLayout
    ) {
        precondition(canRectify(quadrilateral), "\(quadrilateral) cannot be looked at")
        let last = layout.offset + (height - 1) * layout.rowStride + (width - 1) * layout.pixelStride + 2
        precondition(layout.offset >= 0 && last < output.count, "the layout reaches outside the output")

        let surroundings = Self.surroundings(of: quadrilateral, in: image)
        guard let part = try? image.cropped(to: surroundings) else {
            preconditionFailure("\(surroundings) lies inside an image of \(image.width)×\(image.height)")
        }
        let sides = spans(of: quadrilateral, in: image)
        let reduced = Resizer(
            width: Self.reducedSize(surroundings.width, pixelsPerOutput: sides.x),
            height: Self.reducedSize(surroundings.height, pixelsPerOutput: sides.y), tier: tier)
        let source = reduced.resize(part)
        let toReducedX = Double(reduced.width) / Double(surroundings.width)
        let toReducedY = Double(reduced.height) / Double(surroundings.height)
        let transform = ProjectiveTransform(unitSquareTo: quadrilateral)
        let (rightmost, lowest) = (Float(reduced.width - 1), Float(reduced.height - 1))
        let rowLength = reduced.width * 3
        source.withUnsafeBufferPointer { pixels in
            for row in 0..<height {
                let v = (Double(row) + 0.5) / Double(height)
                for column in 0..<width {
                    let (x, y) = transform((Double(column) + 0.5) / Double(width), v)
                    // Positions of pixel centres, kept inside the image.
                    let px = min(max(Float((x * Double(image.width) - Double(surroundings.x)) * toReducedX - 0.5), 0), rightmost)
                    let py = min(max(Float((y * Double(image.height) - Double(surroundings.y)) * toReducedY - 0.5), 0), lowest)
                    let (left, top) = (Int(px), Int(py))
                    let (fx, fy) = (px - Float(left), py - Float(top))
                    let first = top * rowLength + left * 3
                    let right = left + 1 < reduced.width ? 3 : 0
                    let below = top + 1 < reduced.height ? rowLength : 0
                    let target = layout.offset + row * layout.rowStride + column * layout.pixelStride
                    @inline(__always) func sample(_ channel: Int) -> Float {
                        let at = first + channel
                        let upper = pixels[at] + (pixels[at + right] - pixels[at]) * fx
                        let lower = pixels[at + below] + (pixels[at + below + right] - pixels[at + below]) * fx
                        return upper + (lower - upper) * fy
                    }
                    output[target] = sample(0) * layout.multiply.red + layout.add.red
                    output[target + 1] = sample(1) * layout.multiply.green + layout.add.green
                    output[target + 2] = sample(2) * layout.multiply.blue + layout.add.blue
                }
            }
        }
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

    /// Source pixels, along the image's axes, that go by for each pixel of the result, on average.
    private func spans(of q: Quadrilateral, in image: PixelBuffer) -> (x: Double, y: Double) {
        let across = (q.topRight.x - q.topLeft.x + q.bottomRight.x - q.bottomLeft.x) / 2 / Double(width)
        let down = (q.bottomLeft.x - q.topLeft.x + q.bottomRight.x - q.topRight.x) / 2 / Double(height)
        let acrossY = (q.topRight.y - q.topLeft.y + q.bottomRight.y - q.bottomLeft.y) / 2 / Double(width)
        let downY = (q.bottomLeft.y - q.topLeft.y + q.bottomRight.y - q.topRight.y) / 2 / Double(height)
        return (max(abs(across), abs(down)) * Double(image.width), max(abs(acrossY), abs(downY)) * Double(image.height))
    }

    /// Never larger than the source: what is too small is only interpolated.
    private static func reducedSize(_ size: Int, pixelsPerOutput: Double) -> Int {
        min(size, max(1, Int((Double(size) / max(1, pixelsPerOutput)).rounded(.up))))
    }
}
