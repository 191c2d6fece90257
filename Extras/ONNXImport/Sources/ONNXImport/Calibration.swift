#if ONNXImport
public import Foundation
import Inference
public import Lookalike

/// A model file with activation ranges, and how near its int8 prints are to those in float32.
public struct Calibration: Sendable {
    /// The bytes of the model file; without ranges if no layer is computed in int8.
    public let modelFile: Data
    /// Tensors that are int8.
    public let quantizedTensors: Int
    /// Tensors that could be, and stay float32 because int8 is not exact enough there.
    public let float32Tensors: [String]
    /// The smallest and the mean cosine between an image's int8 and float32 prints; nil without int8.
    public let cosines: (smallest: Double, mean: Double)?

    /// The target mean cosine. Below it, searches return different neighbors.
    public static let targetCosine = 0.995

    /// Measures activation ranges on images.
    ///
    /// If the mean cosine is below ``targetCosine``, each tensor is tried alone, and those that harm most stay float32,
    /// one after another, until it is reached.
    ///
    /// - Throws: `ImportError` and `ModelError` as the network and its model do.
    /// - Complexity: a forward pass per image, in float32 and in int8; if tensors are tried alone, one more per tensor
    ///   and image of the first eight.
    public init(of network: ImportedNetwork, images: [PixelBuffer], matchThreshold: Double? = nil) throws {
        let name = network.graph.name
        let plain = try network.modelFile(matchThreshold: matchThreshold)
        let model = try FeaturePrintModel(plain, named: name, precision: .float32)
        let measured = try model.activationRanges(for: images)
        guard !measured.isEmpty else {
            (modelFile, quantizedTensors, float32Tensors) = (plain, 0, [])
            cosines = nil
            return
        }
        let expected = try model.featurePrints(for: images)
        func compare(_ ranges: [String: ActivationRange?], of count: Int) throws -> [Double] {
            let data = try network.modelFile(activationRanges: ranges)
            let quantized = try FeaturePrintModel(data, named: name, precision: .int8)
            return try zip(quantized.featurePrints(for: Array(images.prefix(count))), expected).map { one, other in
                zip(one.vector, other.vector).reduce(0) { $0 + Double($1.0) * Double($1.1) }
            }
        }
        func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(values.count) }

        var ranges = measured.mapValues { Optional($0) }
        var found = try compare(ranges, of: images.count)
        var excluded: [String] = []
        if mean(found) < Self.targetCosine {
            var alone: [(name: String, cosine: Double)] = []
            for name in measured.keys.sorted() {
                let single = measured.keys.map { ($0, $0 == name ? measured[$0] : nil) }
                alone.append((name, mean(try compare(Dictionary(uniqueKeysWithValues: single), of: 8))))
            }
            for (name, _) in alone.sorted(by: { $0.cosine < $1.cosine }) where mean(found) < Self.targetCosine {
                ranges.updateValue(nil, forKey: name)
                excluded.append(name)
                found = try compare(ranges, of: images.count)
            }
        }
        quantizedTensors = ranges.values.count { $0 != nil }
        guard quantizedTensors > 0 else {
            // Not in the ranges of a quantized file, either.
            modelFile =
                network.quantizedTensors == 0
                ? plain
                : try network.modelFile(
                    matchThreshold: matchThreshold, activationRanges: measured.mapValues { _ in nil })
            (float32Tensors, cosines) = (excluded.sorted(), nil)
            return
        }
        float32Tensors = excluded.sorted()
        cosines = (found.min() ?? 1, mean(found))
        modelFile = try network.modelFile(matchThreshold: matchThreshold, activationRanges: ranges)
    }
}
#endif
