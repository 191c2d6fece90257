import Foundation
import Lookalike
import ONNXImport
import Testing

/// Activation ranges for int8, and what becomes of a network that has no layer for it.
struct CalibrationTests {
    private static func network(_ name: String) throws -> ImportedNetwork {
        let url = try #require(Bundle.module.resourceURL).appendingPathComponent("Fixtures/\(name).onnx")
        return try ImportedNetwork(contentsOf: url, options: ImportOptions(name: name))
    }

    /// Waves of different lengths, directions and colors.
    private static func images(_ count: Int) throws -> [PixelBuffer] {
        try (0..<count).map { index in
            let (across, down) = (1 + index % 3, 1 + index / 3 % 4)
            let length = Double(2 + index % 5)
            var bytes: [UInt8] = []
            for y in 0..<32 {
                for x in 0..<32 {
                    let phase = Double(x * across + y * down) / length
                    for channel in 0..<3 {
                        let value: Double = sin(phase + Double(channel * index))
                        bytes.append(UInt8(128 + 120 * value))
                    }
                }
            }
            return try PixelBuffer(bytes, width: 32, height: 32, format: .rgb8)
        }
    }

    @Test func aResidualNetworkIsComputedInInt8() throws {
        let network = try Self.network("residual")
        let images = try Self.images(12)
        let calibration = try Calibration(of: network, images: images, matchThreshold: 0.7)
        let cosines = try #require(calibration.cosines)
        #expect(cosines.mean >= Calibration.targetCosine && cosines.smallest > 0.98 && cosines.smallest < 1)
        // These can be int8: the stem, the first convolution and the sum of both blocks, and what the classifier reads.
        #expect(calibration.quantizedTensors + calibration.float32Tensors.count == 6)
        #expect(calibration.quantizedTensors > 0)

        let int8 = try FeaturePrintModel(calibration.modelFile, named: "int8", precision: .int8)
        let float32 = try FeaturePrintModel(calibration.modelFile, named: "float32", precision: .float32)
        #expect(int8.precision == .int8 && int8.identity == float32.identity && int8.matchThreshold == 0.7)
        for (one, other) in zip(try int8.featurePrints(for: images), try float32.featurePrints(for: images)) {
            let cosine = zip(one.vector, other.vector).reduce(0) { $0 + $1.0 * $1.1 }
            #expect(cosine > 0.98 && one.vector != other.vector)
        }
    }

    @Test(arguments: ["mobile", "attention", "channels-last"]) func othersAreInPart(name: String) throws {
        let images = try Self.images(12)
        let calibration = try Calibration(of: Self.network(name), images: images)
        let cosines = try #require(calibration.cosines)
        #expect(cosines.mean >= Calibration.targetCosine && calibration.quantizedTensors > 0)
        let int8 = try FeaturePrintModel(calibration.modelFile, named: name, precision: .int8)
        let float32 = try FeaturePrintModel(calibration.modelFile, named: name, precision: .float32)
        for (one, other) in zip(try int8.featurePrints(for: images), try float32.featurePrints(for: images)) {
            #expect(one.vector != other.vector)
        }
    }

    /// The covers of the demo.
    private static func covers() throws -> [PixelBuffer] {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<5 { folder.deleteLastPathComponent() }
        let items = try ImageSource.items(at: folder.appendingPathComponent("Examples/Demo/covers")).items
        return try items.map { try PixelBuffer(contentsOf: URL(fileURLWithPath: $0.entity.image)) }
    }

    @Test func aThresholdIsFittedToDrawnViews() throws {
        let model = try FeaturePrintModel.default(precision: .float32)
        let images = try Self.covers()
        let threshold = try #require(try DrawnThreshold(of: model, images: images + images.prefix(3)))
        #expect((0.2...1.2).contains(threshold.matchThreshold), "\(threshold.matchThreshold)")
        #expect(threshold.recall >= 0.8 && threshold.falseAcceptRate <= 0.1, "\(threshold)")
        let again = try #require(try DrawnThreshold(of: model, images: images))
        #expect(again.matchThreshold == threshold.matchThreshold)

        let plain = try FeaturePrintModel(Self.network("residual").modelFile(), named: "plain")
        #expect(plain.matchThreshold == nil)
        let fitted = try FeaturePrintModel(threshold.fileData(of: plain), named: "fitted")
        let stored = try #require(fitted.matchThreshold)
        #expect(abs(stored - threshold.matchThreshold) < 1e-3 && fitted.identity == plain.identity)
        // Copies say nothing of how near others come, and no threshold tells noise from noise.
        #expect(try DrawnThreshold(of: model, images: Array(images.prefix(15) + images.prefix(10))) == nil)
        let mean = ProtocolBuffer.model([
            .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "out"),
        ]).data
        let blind = try ImportedNetwork(mean, named: "mean.onnx", options: ImportOptions(name: "mean"))
        #expect(
            try DrawnThreshold(
                of: FeaturePrintModel(blind.modelFile(), named: "mean", precision: .float32), images: Self.images(24))
                == nil)
    }

    @Test func aNetworkWithoutWeightsStaysFloat32() throws {
        let file = ProtocolBuffer.model([
            .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "out"),
        ]).data
        let network = try ImportedNetwork(file, named: "mean.onnx", options: ImportOptions(name: "mean"))
        let calibration = try Calibration(of: network, images: Self.images(2))
        #expect(calibration.cosines == nil && calibration.quantizedTensors == 0)
        #expect(try FeaturePrintModel(calibration.modelFile, named: "mean").precision == .float32)
        let error = #expect(throws: ModelError.self) {
            try FeaturePrintModel(calibration.modelFile, named: "mean", precision: .int8)
        }
        #expect(error?.reason == .noActivationRanges)
    }
}
