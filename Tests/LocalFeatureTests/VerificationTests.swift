import Foundation
import Imaging
import LocalFeatures
import TestSupport
import Testing

struct VerificationTests {
    private static func query(_ image: PixelBuffer) throws -> LocalFeatureQuery {
        let extractor = try FeatureFixture.extractor()
        return LocalFeatureQuery(extractor.queryFeatures(of: image), model: extractor.model)
    }

    /// The largest distance of a corner from its true place, as a share of the query's sides.
    private static func error(_ outline: Quadrilateral, _ corners: [SIMD2<Double>]) -> Double {
        zip(outline.corners, corners).map { hypot($0.x - $1.x, $0.y - $1.y) }.max() ?? .infinity
    }

    @Test(arguments: [
        (0.0, 1.0), (90, 1), (180, 1), (270, 1), (33, 1), (0, 0.6), (0, 1.5), (200, 0.8), (315, 0.5),
    ]) func anOutlineIsWhereTheImageIs(degrees: Double, scale: Double) throws {
        let (image, placement) = try FeatureFixture.placed(degrees: degrees, scale: scale, side: 540)
        let features = try FeatureFixture.extractor().features(of: FeatureFixture.image)
        let query = try Self.query(image)
        let found = try #require(query.verify(features))
        let error = Self.error(found.outline, placement.corners(width: 540, height: 540))
        #expect(error < 0.02 && found.inlierCount >= 12, "\(error), \(found.inlierCount) inliers")
        #expect(found.inlierCount <= found.matchCount && found.inlierCount <= 50, "two per 25th of the image at most")
        // Each keypoint of the query once, and inside what it is said to show.
        #expect(Set(found.inliers).count == found.inlierCount)
        #expect(found.inliers.allSatisfy { (0..<query.features.count).contains($0) })
    }

    @Test func aPartOfTheImageIsEnough() throws {
        // The lower right quarter is beyond the query's edges.
        let placement = Placement(of: FeatureFixture.image, degrees: 15, center: SIMD2(300, 300))
        let image = try FeatureFixture.gray(width: 340, height: 340).drawing(FeatureFixture.image, at: placement)
        let features = try FeatureFixture.extractor().features(of: FeatureFixture.image)
        let found = try #require(try Self.query(image).verify(features))
        #expect(Self.error(found.outline, placement.corners(width: 340, height: 340)) < 0.04)
    }

    @Test func anotherImageIsNotVerified() throws {
        let extractor = try FeatureFixture.extractor()
        let others = (20..<28).map { extractor.features(of: SampleImage.shapes(seed: UInt64($0))) }
        for seed: UInt64 in [1, 2, 3] {
            let query = try Self.query(SampleImage.shapes(seed: seed))
            for (index, other) in others.enumerated() {
                let count = query.verify(other)?.inlierCount ?? 0
                #expect(count < 7, "seed \(seed) against \(20 + index)")
            }
        }
    }

    /// No photograph of a flat object is mirrored.
    @Test func aMirroredImageIsNotVerified() throws {
        let image = FeatureFixture.image
        let mirrored = image.withUnsafeBytes { bytes in
            (0..<image.height).flatMap { y in
                (0..<image.width).reversed().flatMap { x in
                    (0..<3).map { bytes[y * image.bytesPerRow + x * 3 + $0] }
                }
            }
        }
        let query = try Self.query(
            PixelBuffer(mirrored, width: image.width, height: image.height, format: .rgb8))
        let found = query.verify(try FeatureFixture.extractor().features(of: image))
        #expect((found?.inlierCount ?? 0) < 7)
    }

    /// A fabric: no feature is distinctive, since the image repeats all of them.
    @Test func aPatternThatRepeatsIsVerified() throws {
        func pattern(_ seed: UInt64) throws -> PixelBuffer {
            let tile = SampleImage.shapes(seed: seed, width: 80, height: 80, count: 24)
            let pixels = tile.withUnsafeBytes { bytes in
                (0..<400).flatMap { y in
                    (0..<400).flatMap { x in (0..<3).map { bytes[y % 80 * tile.bytesPerRow + x % 80 * 3 + $0] } }
                }
            }
            return try PixelBuffer(pixels, width: 400, height: 400, format: .rgb8)
        }
        let extractor = try FeatureFixture.extractor()
        let fabric = try pattern(3)
        let photograph = try FeatureFixture.gray(width: 540, height: 540)
            .drawing(fabric, at: Placement(of: fabric, scale: 1.1, degrees: 10, center: SIMD2(270, 270)))
        let query = try Self.query(photograph)
        let found = try #require(query.verify(extractor.features(of: fabric)))
        #expect(found.inlierCount >= 20 && found.share > 0.2)
        for seed: UInt64 in 4..<8 {
            let count = query.verify(extractor.features(of: try pattern(seed)))?.inlierCount ?? 0
            #expect(count < 12, "seed \(seed)")
        }
    }

    @Test func someOfTheFeaturesKeepTheirNumbers() throws {
        let (image, _) = try FeatureFixture.placed(degrees: 20, scale: 1, side: 540)
        let extractor = try FeatureFixture.extractor()
        let features = extractor.features(of: FeatureFixture.image)
        let all = extractor.queryFeatures(of: image)
        let numbers = Array(stride(from: 1, to: all.count, by: 2))
        let some = all.selecting(numbers)
        #expect(some.keypoints == numbers.map { all.keypoints[$0] })
        let found = try #require(LocalFeatureQuery(some, model: extractor.model).verify(features)).renumbered(numbers)
        #expect(found.inlierCount >= 12 && Set(found.inliers).isSubset(of: numbers))
        #expect(Set(found.inliers).isSubset(of: found.explained) && Set(found.explained).isSubset(of: numbers))
        // The same keypoints match if all are there.
        let whole = try #require(LocalFeatureQuery(all, model: extractor.model).verify(features))
        #expect(Set(whole.explained).intersection(numbers).count >= found.inlierCount)
    }

    @Test func nothingIsVerifiedWithoutFeatures() throws {
        let extractor = try FeatureFixture.extractor()
        let none = extractor.features(of: try FeatureFixture.gray(width: 100, height: 100))
        #expect(try Self.query(FeatureFixture.image).verify(none) == nil)
        let empty = try Self.query(FeatureFixture.gray(width: 100, height: 100))
        #expect(empty.features.count == 0 && empty.verify(extractor.features(of: FeatureFixture.image)) == nil)
    }

    /// Exact pairs: the query's own features, moved by the inverse of a known map. Perspective included.
    /// A query of 400 × 400 pixels that shows an image of 300 × 300 under a projective map, by moving its features.
    private static func query(
        under map: [Double], change: (_ feature: Int, inout Keypoint) -> Void = { _, _ in }
    ) throws -> (query: LocalFeatureQuery, image: LocalFeatures) {
        let extractor = try FeatureFixture.extractor()
        let detail = LocalFeatureExtractor.Detail(longSide: 400, keypointCount: 300)
        let image = SampleImage.shapes(seed: 8, width: 400, height: 400, count: 160)
        let query = LocalFeatureQuery(
            extractor.queryFeatures(of: image, detail: detail), model: extractor.model)
        /// Newton's method, from a start in the middle.
        func origin(_ x: Double, _ y: Double) -> SIMD2<Double> {
            var at = SIMD2(150.0, 150.0)
            for _ in 0..<60 {
                let here = project(at, map)
                let across = (project(at + SIMD2(0.01, 0), map) - here) / 0.01
                let down = (project(at + SIMD2(0, 0.01), map) - here) / 0.01
                let d = SIMD2(x, y) - here
                let determinant = across.x * down.y - down.x * across.y
                at += SIMD2(down.y * d.x - down.x * d.y, across.x * d.y - across.y * d.x) / determinant
            }
            return at
        }
        let features = extractor.features(of: image, detail: detail)
        var stored = StoredFeatures(features)
        (stored.width, stored.height) = (300, 300)
        var kept: [Int] = []
        for (index, point) in features.keypoints.enumerated() {
            let at = origin(Double(point.x), Double(point.y))
            guard (0...300).contains(at.x), (0...300).contains(at.y) else { continue }
            kept.append(index)
            let angle = Double(point.angle)
            let ahead = origin(Double(point.x) + 0.1 * cos(angle), Double(point.y) + 0.1 * sin(angle)) - at
            let ratio = (ahead * ahead).sum().squareRoot() / 0.1
            stored.keypoints[index] = Keypoint(
                x: Float(at.x), y: Float(at.y), scale: point.scale * Float(ratio),
                angle: Float(atan2(ahead.y, ahead.x)))
            change(index, &stored.keypoints[index])
        }
        #expect(kept.count > 30)
        stored.keypoints = kept.map { stored.keypoints[$0] }
        stored.words = kept.map { stored.words[$0] }
        stored.codes = kept.map { features.codes[$0] }
        return (query, try #require(LocalFeatures(encoded: stored.data)))
    }

    private static func project(_ point: SIMD2<Double>, _ map: [Double]) -> SIMD2<Double> {
        let w = map[6] * point.x + map[7] * point.y + 1
        return SIMD2(map[0] * point.x + map[1] * point.y + map[2], map[3] * point.x + map[4] * point.y + map[5]) / w
    }

    @Test(
        arguments: [
            [1, 0, 0, 0, 1, 0, 0, 0], [0.7, -0.5, 180, 0.5, 0.7, -20, 0, 0], [0.9, 0.25, 10, -0.1, 0.7, 60, 0, 0],
            [0.8, 0.1, 30, 0.05, 0.9, 20, 0.0006, 0], [0.9, -0.2, 80, 0.2, 0.8, 0, 0.0004, -0.0005],
        ] as [[Double]]) func aKnownMapIsRecovered(map: [Double]) throws
    {
        let (query, image) = try Self.query(under: map)
        let found = try #require(query.verify(image))
        let corners = [SIMD2(0.0, 0), SIMD2(300, 0), SIMD2(300, 300), SIMD2(0, 300)].map { Self.project($0, map) / 400 }
        let error = Self.error(found.outline, corners)
        #expect(error < 0.01 && found.inlierCount > 15, "\(error), \(found.inlierCount) inliers")
    }

    /// The corner (300, 300) is beyond the horizon, as where a drone looks ahead over a field.
    @Test func aPlaneThatReachesTheHorizonIsVerified() throws {
        let map = [0.5, 0, 0, 0, 0.5, 0, -0.0017, -0.0017]
        let (query, image) = try Self.query(under: map)
        let found = try #require(query.verify(image))
        #expect(found.inlierCount >= 12)
        let visible = image.keypoints.count {
            let place = Self.project(SIMD2(Double($0.x), Double($0.y)), map)
            return (0...400).contains(place.x) && (0...400).contains(place.y)
        }
        #expect(abs(found.visibleCount - visible) <= 2, "\(found.visibleCount) of \(visible)")
        // Where the features are, the outline is near their place.
        let center = image.keypoints.reduce(.zero) { $0 + SIMD2(Double($1.x), Double($1.y)) } / Double(image.count)
        let place = ProjectiveTransform(unitSquareTo: found.outline)(center.x / 300, center.y / 300)
        let right = Self.project(center, map) / 400
        #expect(hypot(place.x - right.x, place.y - right.y) < 0.05)
    }

    /// A ninth of the image fills the query, and has as many places for inliers as the whole has.
    @Test func aCloseUpHasManyInliers() throws {
        let (query, image) = try Self.query(under: [3, 0, -300, 0, 3, -300, 0, 0])
        let found = try #require(query.verify(image))
        #expect(found.inlierCount > 2 * 9, "\(found.inlierCount)")
    }

    @Test func featuresOfAnotherScaleOrAngleAreNoInliers() throws {
        let (query, image) = try Self.query(under: [1, 0, 0, 0, 1, 0, 0, 0]) { feature, point in
            if feature % 4 == 0 { point.angle += point.angle < .pi ? 1 : -1 }
            if feature % 4 == 1 { point.scale *= 2 }
        }
        let found = try #require(query.verify(image))
        #expect(found.inlierCount >= 12)
        #expect(found.explained.allSatisfy { $0 % 4 > 1 })
    }

    @Test func featuresThatAreUnlikeAllOfTheQueryAreNoMatches() async {
        await #expect(processExitsWith: .success) {
            let extractor = try FeatureFixture.extractor()
            let detail = LocalFeatureExtractor.Detail(longSide: 384, keypointCount: 200)
            let features = extractor.features(of: FeatureFixture.image, detail: detail)
            var stored = StoredFeatures(features)
            stored.keypoints = Array(features.keypoints.prefix(15))
            let reference = try ReferenceModel()
            let raw = extractor.rawDescriptors(of: FeatureFixture.image, detail: detail)
            let descriptor = reference.projected(raw[..<128])
            let opposite = reference.nearestWord(descriptor.map { -$0 }).word
            stored.words = Array(repeating: UInt16(opposite), count: 15)
            stored.codes = Array(features.codes.prefix(15))
            guard let image = LocalFeatures(encoded: stored.data) else { exit(2) }
            let query = LocalFeatureQuery(
                extractor.queryFeatures(of: FeatureFixture.image, detail: detail), model: extractor.model)
            guard query.verify(image) == nil else { exit(3) }
        }
    }
}
