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
            projection = DescriptorProjection(
                mean: try file.floats("mean", shape: [length]),
                rows: try file.floats("projection", shape: [Self.dimension, length]), kernels: simd)
            quantizer = DescriptorQuantizer(steps: try file.floats("steps", shape: [Self.dimension]))
            vocabulary = try Vocabulary(of: file, unit: description.unit, zero: description.zero, kernels: simd)
            name = description.name
            digest = SHA256.hash(data[file.base...]).map { String(format: "%02x", $0) }.joined()
        } catch {
            throw ModelError(source: url.path, reason: error)
        }
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
        guard description.unit.isFinite, description.unit > 0, (0...255).contains(description.zero) else {
            throw .malformed("its “\(metadataKey)” has an impossible unit or zero point")
        }
        return description
    }
}
