import DefaultModel
import FeaturePrints
import Foundation
import Imaging
import Inference
import TestSupport
import Testing

struct ModelFileTests {
    @Test func theRecommendedDistanceIsNoPartOfTheIdentity() throws {
        var builder = SafeTensorsBuilder.tiny()
        let plain = try FeaturePrintModel(builder.data, named: "a")
        builder.metadata["lookalike.recommended_max_distance"] = "0.5"
        let advised = try FeaturePrintModel(builder.data, named: "b")
        #expect(advised.matchThreshold == 0.5 && advised.identity == plain.identity)
        builder.add("c.bias", [0, 1], shape: [2])
        #expect(try FeaturePrintModel(builder.data, named: "c").identity != plain.identity)
    }

    @Test func theVersionIsReadAndNoPartOfTheIdentity() throws {
        var builder = SafeTensorsBuilder.tiny()
        let plain = try FeaturePrintModel(builder.data, named: "a")
        builder.metadata["lookalike.version"] = "0.1.0"
        let versioned = try FeaturePrintModel(builder.data, named: "b")
        #expect(plain.writtenBy == nil && versioned.writtenBy == "0.1.0")
        #expect(versioned.identity == plain.identity)
    }

    @Test func theUseOfLocalFeaturesIsReadAndNoPartOfTheIdentity() throws {
        var builder = SafeTensorsBuilder.tiny()
        let plain = try FeaturePrintModel(builder.data, named: "a")
        builder.metadata["lookalike.local_features"] = "none"
        let without = try FeaturePrintModel(builder.data, named: "b")
        #expect(plain.usesLocalFeatures && !without.usesLocalFeatures && without.identity == plain.identity)
        builder.metadata["lookalike.local_features"] = "default"
        #expect(try FeaturePrintModel(builder.data, named: "c").usesLocalFeatures)
    }

    private static let confidence = ConfidenceCoefficients(
        verifiedBias: -5, perLogInlier: 2, perInlier: 1, mostInliers: 20, perShare: 3, perLogMatch: -1,
        perInlierLead: 0, perLikeness: 2, perDenseMatch: 0.04, perDenseLead: 0, perVerifiedDistance: 9,
        resemblingBias: -4, perResemblingMatch: 0.15, perResemblingLead: 0, perResemblingDistance: 6, perDistance: 8,
        perUnverifiedDistance: 7, unverifiedMargin: 0.25)

    @Test func theConfidenceIsReadAndNoPartOfTheIdentity() throws {
        var builder = SafeTensorsBuilder.tiny()
        let plain = try FeaturePrintModel(builder.data, named: "a")
        builder.metadata[ConfidenceCoefficients.metadataKey] = String(
            decoding: try JSONEncoder().encode(Self.confidence), as: UTF8.self)
        let fitted = try FeaturePrintModel(builder.data, named: "b")
        #expect(
            plain.confidence == .general && fitted.confidence == Self.confidence && fitted.identity == plain.identity)
        #expect(try FeaturePrintModel.default().confidence.mostInliers == 25)
    }

    @Test(arguments: [
        ("per_inlier", "-1"), ("per_inlier", "null"), ("most_inliers", "1e5"), ("per_log_match", "1"),
        ("per_resembling_match", "-1"), ("per_dense_lead", "-1"), ("per_likeness", "-1"),
        ("verified_bias", "1e4"), ("per_share", "1e4"), ("per_distance", "0"), ("unverified_margin", "1e999"),
        ("unverified_margin", "\"1\""),
    ])
    func aCoefficientOutOfItsRangeIsRefused(key: String, value: String) throws {
        var builder = SafeTensorsBuilder.tiny()
        let json = String(decoding: try JSONEncoder().encode(Self.confidence), as: UTF8.self)
        let damaged = json.replacing(try Regex("\"\(key)\":[-0-9.]+"), with: "\"\(key)\":\(value)")
        #expect(damaged != json)
        builder.metadata[ConfidenceCoefficients.metadataKey] = damaged
        let error = #expect(throws: ModelError.self) { try FeaturePrintModel(builder.data, named: "x") }
        #expect(error?.description.contains("“lookalike.confidence”") == true)
    }

    @Test(arguments: [
        ("local_features", "edges", "is “edges”, not “default” or “none”"),
        ("recommended_max_distance", "far", "not a distance"),
        ("recommended_max_distance", "1e308", "not a distance in 0…2"),
    ])
    func aValueThatMeansNothingIsRefused(key: String, value: String, says: String) {
        var builder = SafeTensorsBuilder.tiny()
        builder.metadata["lookalike.\(key)"] = value
        let error = #expect(throws: ModelError.self) { try FeaturePrintModel(builder.data, named: "bad.safetensors") }
        let words = error?.description ?? ""
        #expect(words.hasPrefix("bad.safetensors: ") && words.contains(says), "\(words)")
    }

    @Test func aNetworkWithoutNormalizationIsRefusedAtItsFirstImage() throws {
        var builder = SafeTensorsBuilder.tiny()
        builder.add("l.weight", [30, 0, 0, 40], shape: [2, 2])
        builder.metadata["lookalike.graph"] = builder.metadata["lookalike.graph"]?.replacingOccurrences(
            of: ",\n{\"name\":\"n\",\"op\":\"l2_normalize\",\"input\":\"l\"}", with: "")
        let model = try FeaturePrintModel(builder.data, named: "x")
        let white = try PixelBuffer([UInt8](repeating: 255, count: 48), width: 4, height: 4, format: .rgb8)
        let error = #expect(throws: ModelError.self) { try model.featurePrint(for: white) }
        #expect(error?.reason == .notNormalized(norm: 50))
        #expect(error?.description.contains("l2_normalize") == true)
    }

    @Test func aMissingFileIsNamed() {
        let error = #expect(throws: ModelError.self) {
            try FeaturePrintModel(contentsOf: URL(fileURLWithPath: "/nowhere/m.safetensors"))
        }
        #expect(error?.description.hasPrefix("/nowhere/m.safetensors: cannot be read") == true)
    }
}
