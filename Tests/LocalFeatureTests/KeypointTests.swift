import Foundation
import Imaging
import LocalFeatures
import TestSupport
import Testing

/// The same keypoints are found in an image that is turned, enlarged or reduced.
struct KeypointTests {
    @Test(arguments: [
        (0.0, 1.0, 0.9), (90, 1, 0.8), (180, 1, 0.8), (270, 1, 0.8), (33, 1, 0.75), (0, 0.6, 0.7), (0, 1.5, 0.6),
        (250, 1.3, 0.65),
    ]) func mostAreFoundAgain(degrees: Double, scale: Double, share: Double) throws {
        let extractor = try FeatureFixture.extractor()
        let original = extractor.queryFeatures(
            of: FeatureFixture.image, detail: .init(longSide: 320, keypointCount: 250))
        let (image, placement) = try FeatureFixture.placed(degrees: degrees, scale: scale, side: 500)
        let other = extractor.queryFeatures(of: image, detail: .init(longSide: 500, keypointCount: 900))
        // Neither image is resized, so positions are pixels of both.
        #expect((original.width, original.height, other.width, other.height) == (320, 320, 500, 500))
        // Without those that are too small there, and those whose patch reaches over the image's edge.
        let chosen = original.keypoints.filter { point in
            let margin = 6 * point.scale
            return point.scale * Float(scale) > 2.4 && (margin...(319 - margin)).contains(point.x)
                && (margin...(319 - margin)).contains(point.y)
        }
        #expect(chosen.count > 40)
        let again = chosen.count { point in
            let place = placement.project(SIMD2(Double(point.x) + 0.5, Double(point.y) + 0.5)) - 0.5
            return other.keypoints.contains { found in
                hypot(Double(found.x) - place.x, Double(found.y) - place.y) < 3
                    && abs(log2(found.scale / (point.scale * Float(scale)))) < 0.4
                    && angleBetween(found.angle, point.angle + Float(placement.angle)) < 0.35
            }
        }
        #expect(Double(again) >= share * Double(chosen.count), "\(again) of \(chosen.count)")
    }

    @Test func valuesAreInTheirRanges() throws {
        let found = try FeatureFixture.extractor().queryFeatures(of: FeatureFixture.image, detail: .fineQuery)
        #expect((found.width, found.height) == (640, 640), "enlarged to twice its size, not to the detail's")
        for point in found.keypoints {
            #expect((0...639).contains(point.x) && (0...639).contains(point.y))
            #expect((0..<(2 * Float.pi)).contains(point.angle) && point.scale > 1.5 && point.scale < 160)
        }
    }

    @Test func thereAreNoMoreThanWanted() throws {
        let extractor = try FeatureFixture.extractor()
        let all = extractor.queryFeatures(of: FeatureFixture.image, detail: .init(longSide: 384, keypointCount: 400))
        for count in [1, 7, 100] {
            let some = extractor.queryFeatures(
                of: FeatureFixture.image, detail: .init(longSide: 384, keypointCount: count))
            #expect(some.keypoints == Array(all.keypoints.prefix(count)), "the strongest come first")
        }
    }

    /// Sizes at which octaves vanish, and an image without any structure.
    @Test(arguments: [(1, 1), (1, 300), (300, 2), (15, 16), (33, 17), (700, 11)])
    func smallAndNarrowImagesHaveFewOrNone(width: Int, height: Int) throws {
        let extractor = try FeatureFixture.extractor()
        let gray = try FeatureFixture.gray(width: width, height: height)
        #expect(extractor.features(of: gray).count == 0)
        var random = SeededGenerator(seed: 4)
        let noise = try PixelBuffer(
            random.bytes(width * height * 3), width: width, height: height, format: .rgb8)
        let features = extractor.features(of: noise)
        #expect(features.count <= 200 && features.codes.count == features.count)
        #expect(LocalFeatures(encoded: features.encoded)?.count == features.count)
    }
}
