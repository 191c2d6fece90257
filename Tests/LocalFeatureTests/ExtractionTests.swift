import Compute
import Foundation
import Imaging
import LocalFeatures
import TestSupport
import Testing

/// The same features on every run, thread and SIMD target.
struct ExtractionTests {
    /// One extractor's memory serves images of different sizes in turn, and several threads.
    @Test func areTheSameEveryTimeAndOnEveryThread() throws {
        let extractor = try FeatureFixture.extractor()
        let images = (0..<6).map { SampleImage.shapes(seed: UInt64($0), width: 90 + 60 * $0, height: 300 - 40 * $0) }
        let alone = try images.map { try FeatureFixture.extractor().features(of: $0) }
        #expect(alone.allSatisfy { $0.count > 10 })
        for _ in 0..<2 { #expect(images.map { extractor.features(of: $0) } == alone) }
        let together = concurrentMap(48, threads: 8) { extractor.features(of: images[$0 * 5 % 6]) }
        for (index, features) in together.enumerated() { #expect(features == alone[index * 5 % 6]) }
    }

    private static func largestDifference(_ a: ArraySlice<Float>, _ b: ArraySlice<Float>) -> Float {
        zip(a, b).reduce(0) { max($0, abs($1.0 - $1.1)) }
    }

    @Test func agreeOnEverySIMDTarget() throws {
        let portable = SIMDTarget.available[0]
        func extract(_ simd: SIMDTarget) throws -> (LocalFeatures, raw: [Float]) {
            let model = try LocalFeatureModel(contentsOf: FeatureFixture.file, simd: simd)
            let extractor = LocalFeatureExtractor(model, simd: simd)
            let image = FeatureFixture.image
            return (extractor.features(of: image), extractor.rawDescriptors(of: image))
        }
        let (expected, raw) = try extract(portable)
        let others = SIMDTarget.available.dropFirst()
        #expect(!others.isEmpty, "this CPU has no SIMD target to compare with the portable one")
        for simd in others {
            let (found, otherRaw) = try extract(simd)
            #expect(abs(found.count - expected.count) <= expected.count / 50, "\(simd.name)")
            var (same, sameWords) = (0, 0)
            for (index, point) in expected.keypoints.enumerated() {
                let other = found.keypoints.firstIndex { (candidate: Keypoint) -> Bool in
                    let (dx, dy) = (abs(candidate.x - point.x), abs(candidate.y - point.y))
                    let growth: Float = abs(candidate.scale / point.scale - 1)
                    guard max(dx, dy) < 0.05, growth < 0.01 else { return false }
                    return angleBetween(candidate.angle, point.angle) < 0.02
                }
                guard let other else { continue }
                same += 1
                if found.words[other] == expected.words[index] { sameWords += 1 }
                let (first, second) = (raw[(index * 128)...].prefix(128), otherRaw[(other * 128)...].prefix(128))
                #expect(Self.largestDifference(first, second) < 0.05, "\(simd.name), descriptor \(index)")
            }
            #expect(same * 100 >= expected.count * 97, "\(simd.name): \(same) of \(expected.count)")
            #expect(sameWords * 100 >= same * 95, "\(simd.name): \(sameWords) of \(same)")
        }
    }

    @Test func rawDescriptorsAreSquareRootsOfHistograms() throws {
        let raw = try FeatureFixture.extractor().rawDescriptors(of: FeatureFixture.image)
        #expect(raw.count > 100 * 128 && raw.count % 128 == 0)
        for start in stride(from: 0, to: raw.count, by: 128) {
            // The squares are a histogram with the L1 norm 1.
            let squares = raw[start..<(start + 128)].reduce(0) { $0 + Double($1) * Double($1) }
            #expect(abs(squares - 1) < 1e-4 && raw[start..<(start + 128)].allSatisfy { $0 >= 0 })
        }
    }
}
