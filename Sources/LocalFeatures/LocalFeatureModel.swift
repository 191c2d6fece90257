import Compute
import Foundation
import Inference

/// Turns raw descriptors into short codes and visual words: a projection, quantization steps and a vocabulary.
///
/// Loaded from a safetensors file with the tensors `mean` [128], `projection` [64][128] and `steps` [64] of floats, and
/// `coarse` [groups][d] and `words` [groups · words per group][d] of U8, whose unit and zero point are in the metadata
/// under `lookalike.local_features`. A model is immutable; share one between tasks and threads.
public final class LocalFeatureModel: Sendable {
    /// The components of a projected descriptor.
    public static let dimension = 64
    static let metadataKey = "lookalike.local_features"
    private static let version = 1

    /// SHA-256 of the tensors, hexadecimal. Features of different models cannot be compared.
    public let digest: String
    /// The name in the file, for display.
    public let name: String

    let projection: DescriptorProjection
    let quantizer: DescriptorQuantizer
    let vocabulary: Vocabulary
    /// The number of visual words.
    package var wordCount: Int { vocabulary.wordCount }

    private struct Description: Decodable {
        let version: Int
        let name: String
        let unit: Float
        let zero: Int
    }

    /// Reads a model file.
    ///
    /// - Throws: `ModelError` that says what is wrong with the file.
    public convenience init(contentsOf url: URL) throws(ModelError) {
        try self.init(contentsOf: url, simd: .selected)
    }

    package init(contentsOf url: URL, simd: SIMDTarget) throws(ModelError) {
        let data = try contents(ofModelFile: url)
        do throws(ModelError.Reason) {
            let file = try SafeTensorsFile(data)
            let description = try Self.description(of: file)
            let length = KeypointDescriber.length
            let (symmetric, positive) = (-Self.largest...Self.largest, Self.smallest...Self.largest)
            projection = DescriptorProjection(
                mean: try Self.floats("mean", of: file, shape: [length], in: symmetric),
                rows: try Self.floats("projection", of: file, shape: [Self.dimension, length], in: symmetric),
                kernels: simd)
            quantizer = DescriptorQuantizer(
                steps: try Self.floats("steps", of: file, shape: [Self.dimension], in: positive))
            vocabulary = try Vocabulary(of: file, unit: description.unit, zero: description.zero, kernels: simd)
            name = description.name
            digest = SHA256.hash(data[file.base...]).map { String(format: "%02x", $0) }.joined()
        } catch {
            throw ModelError(source: url.path, reason: error)
        }
    }

    /// Components of descriptors are at most 1. With values in between, no product of them overflows or is lost.
    private static let (smallest, largest): (Float, Float) = (1e-6, 1e6)

    private static func floats(
        _ name: String, of file: SafeTensorsFile, shape: [Int], in range: ClosedRange<Float>
    ) throws(ModelError.Reason) -> [Float] {
        let values = try file.floats(name, shape: shape)
        guard let (index, value) = values.enumerated().first(where: { !range.contains($1) }) else { return values }
        throw .unusableTensor(
            name: name, "has the value \(value) at position \(index), not in \(range.lowerBound)…\(range.upperBound)")
    }

    private static func description(of file: SafeTensorsFile) throws(ModelError.Reason) -> Description {
        guard let text = file.metadata[metadataKey] else {
            throw .malformed("the file's metadata has no “\(metadataKey)”")
        }
        let description: Description
        do {
            description = try JSONDecoder().decode(Description.self, from: Data(text.utf8))
        } catch {
            throw .malformed("its “\(metadataKey)” cannot be decoded (\(describe(error)))")
        }
        guard description.version == version else {
            throw .malformed(
                "its local features have version \(description.version); this program reads version \(version)")
        }
        guard (smallest...largest).contains(description.unit), (0...255).contains(description.zero) else {
            throw .malformed("its “\(metadataKey)” has an impossible unit or zero point")
        }
        return description
    }
}
