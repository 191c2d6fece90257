import Imaging
import LocalFeatures
import TestSupport
import Testing

struct TemplateComparisonTests {
    private static func picture(_ seed: UInt64) -> PixelBuffer {
        SampleImage.shapes(seed: seed, width: 256, height: 192, count: 60)
    }

    /// The likeness of a picture and a photograph of another one at its place, which is known up to a few pixels.
    private static func likeness(of shown: PixelBuffer, with picture: PixelBuffer, scale: Double) throws -> Double? {
        let placement = Placement(of: shown, scale: scale, degrees: 9, center: SIMD2(322, 238))
        let photograph = SampleImage.blocks(seed: 1, width: 640, height: 480).drawing(shown, at: placement)
        let query = try PixelBuffer(decoding: photograph.jpegData(quality: 60))
        let points = placement.corners(width: 640, height: 480).enumerated().map { index, corner in
            Quadrilateral.Point(x: corner.x + (index == 0 ? 0.003 : 0), y: corner.y - (index == 2 ? 0.004 : 0))
        }
        let near = Quadrilateral(
            topLeft: points[0], topRight: points[1], bottomRight: points[2], bottomLeft: points[3])
        return TemplateComparison.likeness(of: query, with: picture, at: near)
    }

    @Test(arguments: 0..<6 as Range<UInt64>) func aPictureLooksLikeItsPhotograph(seed: UInt64) throws {
        for scale in [0.5, 1, 1.8] {
            let same = try #require(
                try Self.likeness(of: Self.picture(seed), with: Self.picture(seed), scale: scale))
            #expect(same > 0.8, "seed \(seed), scale \(scale)")
            let other = try #require(
                try Self.likeness(of: Self.picture(seed + 100), with: Self.picture(seed), scale: scale))
            #expect(other < 0.5, "seed \(seed), scale \(scale)")
        }
    }

    @Test func fewPixelsSayNothing() throws {
        #expect(try Self.likeness(of: Self.picture(3), with: Self.picture(3), scale: 0.1) == nil)
        let even = try PixelBuffer([UInt8](repeating: 90, count: 256 * 192 * 3), width: 256, height: 192, format: .rgb8)
        #expect(try Self.likeness(of: Self.picture(3), with: even, scale: 1) == nil)
    }
}
