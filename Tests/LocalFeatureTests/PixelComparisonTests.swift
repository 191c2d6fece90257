import Foundation
import Imaging
import LocalFeatures
import TestSupport
import Testing

/// What the pixels say of an image and one that was made of it, over all of which it lies.
struct PixelComparisonTests {
    private static let (width, height) = (320, 240)

    private static func picture(_ seed: UInt64) -> PixelBuffer {
        SampleImage.shapes(seed: seed, width: width, height: height, count: 60)
    }

    /// The picture with other colors, by their places.
    private static func changed(
        _ image: PixelBuffer, _ color: (_ x: Int, _ y: Int, SIMD3<Double>) -> SIMD3<Double>
    ) throws -> PixelBuffer {
        let bytes = image.withUnsafeBytes { bytes in
            (0..<height * width).flatMap { pixel -> [UInt8] in
                let (x, y) = (pixel % width, pixel / width)
                let at = y * image.bytesPerRow + x * 3
                let found = color(x, y, SIMD3(Double(bytes[at]), Double(bytes[at + 1]), Double(bytes[at + 2])))
                return (0..<3).map { UInt8(max(0, min(found[$0], 255))) }
            }
        }
        return try PixelBuffer(bytes, width: width, height: height, format: .rgb8)
    }

    private static func difference(_ a: PixelBuffer, _ b: PixelBuffer) -> PixelComparison.Difference? {
        PixelComparison(a, b, at: .unit)?.difference
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func copiesDifferInWhatWasChanged(seed: UInt64) throws {
        let picture = Self.picture(seed)
        #expect(Self.difference(picture, picture) == .nothing)
        let poor = try PixelBuffer(decoding: picture.jpegData(quality: 40))
        #expect(Self.difference(picture, poor) == .nothing)
        let half = Resizer(width: Self.width / 2, height: Self.height / 2).resizedPixels(of: picture)
        #expect(Self.difference(picture, half) == .nothing)
        let gray = try Self.changed(picture) { _, _, color in
            SIMD3(repeating: (color * SIMD3(0.299, 0.587, 0.114)).sum())
        }
        #expect(Self.difference(picture, gray) == .color)
        let turnedColors = try Self.changed(picture) { _, _, color in SIMD3(color[1], color[2], color[0]) }
        #expect(Self.difference(picture, turnedColors) == .color)
        // Half transparent strokes all over it.
        let marked = try Self.changed(picture) { x, y, color in
            (x + y) % 60 < 6 && y % 80 < 40 ? (color + 255) / 2 : color
        }
        #expect(Self.difference(picture, marked) == .mark)
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func aThingThatMovedIsOtherContent(seed: UInt64) throws {
        let picture = Self.picture(seed)
        func withBall(at center: Int) throws -> PixelBuffer {
            try Self.changed(picture) { x, y, color in
                (x - center) * (x - center) + (y - 120) * (y - 120) < 30 * 30 ? SIMD3(250, 10, 250) : color
            }
        }
        #expect(try Self.difference(withBall(at: 120), withBall(at: 200)) == .content)
    }

    @Test func tooSmallAPartSaysNothing() {
        let picture = Self.picture(1)
        #expect(PixelComparison(picture, Resizer(width: 20, height: 15).resizedPixels(of: picture), at: .unit) == nil)
    }
}
