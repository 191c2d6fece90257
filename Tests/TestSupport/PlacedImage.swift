import Foundation
public import Imaging

/// Where an image is drawn in another: scaled, turned clockwise about its center, and moved.
public struct Placement: Sendable {
    public let width: Int
    public let height: Int
    public let scale: Double
    /// In radians, clockwise.
    public let angle: Double
    /// Of the image's middle, in pixels of the other; (0, 0) is its top left corner.
    public let center: SIMD2<Double>

    public init(of image: PixelBuffer, scale: Double = 1, degrees: Double = 0, center: SIMD2<Double>) {
        (width, height, self.scale, self.center) = (image.width, image.height, scale, center)
        angle = degrees * .pi / 180
    }

    /// Where a point of the image goes; (0, 0) is its top left corner.
    public func project(_ point: SIMD2<Double>) -> SIMD2<Double> {
        let (x, y) = (point.x - Double(width) / 2, point.y - Double(height) / 2)
        return center + scale * SIMD2(cos(angle) * x - sin(angle) * y, sin(angle) * x + cos(angle) * y)
    }

    /// Where a point of the other comes from.
    public func origin(of point: SIMD2<Double>) -> SIMD2<Double> {
        let d = (point - center) / scale
        return SIMD2(
            cos(angle) * d.x + sin(angle) * d.y + Double(width) / 2,
            cos(angle) * d.y - sin(angle) * d.x + Double(height) / 2)
    }

    /// The image's corners, clockwise from its own top left, as fractions of the other's sides.
    public func corners(width otherWidth: Int, height otherHeight: Int) -> [SIMD2<Double>] {
        let (w, h) = (Double(width), Double(height))
        return [SIMD2(0, 0), SIMD2(w, 0), SIMD2(w, h), SIMD2(0, h)].map {
            project($0) / SIMD2(Double(otherWidth), Double(otherHeight))
        }
    }
}

extension PixelBuffer {
    /// Draws an image into this one, both RGB, with bilinear sampling of 2 × 2 points per pixel.
    public func drawing(_ image: PixelBuffer, at placement: Placement) -> PixelBuffer {
        precondition(format == .rgb8 && image.format == .rgb8)
        var pixels = withUnsafeBytes { bytes in
            (0..<height).flatMap { y in Array(bytes[(y * bytesPerRow)..<(y * bytesPerRow + width * 3)]) }
        }
        image.withUnsafeBytes { source in
            for y in 0..<height {
                for x in 0..<width {
                    var (sum, inside) = (SIMD3<Double>.zero, 0.0)
                    for sample in 0..<4 {
                        let point = SIMD2(
                            Double(x) + 0.25 + 0.5 * Double(sample % 2), Double(y) + 0.25 + 0.5 * Double(sample / 2))
                        let from = placement.origin(of: point)
                        guard from.x >= 0, from.y >= 0, from.x < Double(image.width), from.y < Double(image.height)
                        else { continue }
                        sum += image.bilinear(source, from)
                        inside += 1
                    }
                    guard inside > 0 else { continue }
                    for channel in 0..<3 {
                        let at = (y * width + x) * 3 + channel
                        let value = (sum[channel] + (4 - inside) * Double(pixels[at])) / 4
                        pixels[at] = UInt8(min(max(value.rounded(), 0), 255))
                    }
                }
            }
        }
        guard let result = try? PixelBuffer(pixels, width: width, height: height, format: .rgb8) else {
            preconditionFailure("the pixels fit their shape")
        }
        return result
    }

    private func bilinear(_ source: UnsafeRawBufferPointer, _ point: SIMD2<Double>) -> SIMD3<Double> {
        let (x, y) = (
            min(max(point.x - 0.5, 0), Double(width - 1)), min(max(point.y - 0.5, 0), Double(height - 1))
        )
        let (left, top) = (Int(x), Int(y))
        let (right, bottom) = (min(left + 1, width - 1), min(top + 1, height - 1))
        func pixel(_ x: Int, _ y: Int) -> SIMD3<Double> {
            let at = y * bytesPerRow + x * 3
            return SIMD3(Double(source[at]), Double(source[at + 1]), Double(source[at + 2]))
        }
        let (fx, fy) = (x - Double(left), y - Double(top))
        let above = pixel(left, top) * (1 - fx) + pixel(right, top) * fx
        let below = pixel(left, bottom) * (1 - fx) + pixel(right, bottom) * fx
        return above * (1 - fy) + below * fy
    }
}
