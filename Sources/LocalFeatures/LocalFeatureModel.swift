import CKernels
package import Compute
import Digests
import FeaturePrints
public import Foundation
public import Inference

/// Turns raw descriptors into visual words and short codes: a projection, a vocabulary, and how far descriptors are
/// from their words.
///
/// Loaded from a safetensors file with the tensors `mean` [128], `projection` [64][128] and `deviations` [64] of
/// floats, and `coarse` [groups][64] and `words` [groups · words per group][64] of U8, whose unit and zero point are in
/// the metadata under `lookalike.local_descriptors`. A file that also has a graph has a network for dense descriptors:
/// an image to [25][cells] numbers, 24 components and the reliability of each cell; `dense.deviations` [24] are those
/// of the components of unit vectors. A model is immutable; share one between tasks and threads.
public final class LocalFeatureModel: Sendable {
    /// The components of a projected descriptor.
    public static let dimension = 64
    static let metadataKey = "lookalike.local_descriptors"
    private static let version = 2

    /// SHA-256 of the file, hexadecimal. Features of different models cannot be compared.
    public let digest: String
    /// The name in the file, for display.
    public let name: String

    let projection: DescriptorProjection
    let vocabulary: Vocabulary
    /// Nil if the file has no network for them.
    let dense: (network: ImageNetwork, quantizer: DenseQuantizer)?
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
            vocabulary = try Vocabulary(
                of: file, unit: description.unit, zero: description.zero,
                deviations: try Self.floats("deviations", of: file, shape: [Self.dimension], in: positive),
                kernels: simd)
            name = description.name
            // Packing the weights takes about as long as the digest.
            let (network, hash) = concurrently {
                Result { () throws(ModelError.Reason) in try Self.dense(of: file, simd) }
            } and: {
                SHA256.hash(data)
            }
            dense = try network.get()
            digest = hash.hexadecimal
        } catch {
            throw ModelError(subject: url.path, reason: error)
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

    private static func dense(
        of file: SafeTensorsFile, _ simd: SIMDTarget
    ) throws(ModelError.Reason) -> (network: ImageNetwork, quantizer: DenseQuantizer)? {
        guard file.metadata[NetworkGraph.metadataKey] != nil else { return nil }
        let network = try ImageNetwork(of: file, simd: simd)
        let length = DenseDescriptors.dimension + 1
        guard network.outputDimension % length == 0 else {
            throw .unusableGraph("its output has \(network.outputDimension) numbers, not \(length) for each cell")
        }
        let deviations = try floats(
            "dense.deviations", of: file, shape: [DenseDescriptors.dimension], in: smallest...largest)
        return (network, DenseQuantizer(deviations))
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

/// Projects raw descriptors to fewer components, by principal component analysis, and to unit length.
struct DescriptorProjection: Sendable {
    private let mean: [Float]
    /// Row-major, `LocalFeatureModel.dimension` rows of `KeypointDescriber.length`.
    private let rows: [Float]
    private let kernels: SIMDTarget

    init(mean: [Float], rows: [Float], kernels: SIMDTarget) {
        (self.mean, self.rows, self.kernels) = (mean, rows, kernels)
    }

    /// Projects one descriptor. O(rows · length).
    func project(_ descriptor: UnsafeMutableBufferPointer<Float>, into result: UnsafeMutableBufferPointer<Float>) {
        let length = mean.count
        precondition(
            descriptor.count == length && result.count * length == rows.count, "a descriptor has \(length) components")
        for index in 0..<length { descriptor[index] -= mean[index] }
        kernels.table.dot_products(descriptor.baseAddress, rows, length, result.count, length, result.baseAddress)
        var squares: Float = 1e-20
        for value in result { squares += value * value }
        let scale = 1 / squares.squareRoot()
        for index in result.indices { result[index] *= scale }
    }
}
