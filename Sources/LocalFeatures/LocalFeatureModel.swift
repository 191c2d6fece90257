import CKernels
package import Compute
import Digests
import FeaturePrints
public import Foundation
public import Inference

/// Turns raw descriptors into short codes and visual words: a projection, quantization steps and a vocabulary.
///
/// Loaded from a safetensors file with the tensors `mean` [128], `projection` [64][128] and `steps` [64] of floats, and
/// `coarse` [groups][d] and `words` [groups · words per group][d] of U8, whose unit and zero point are in the metadata
/// under `lookalike.local_descriptors`. A file that also has a graph has the network of ``DenseDescriptors``: an image
/// to [25][cells] numbers, 24 components and the reliability of each cell. A model is immutable; share one
/// between tasks and threads.
public final class LocalFeatureModel: Sendable {
    /// The components of a projected descriptor.
    public static let dimension = 64
    static let metadataKey = "lookalike.local_descriptors"
    private static let version = 1

    /// SHA-256 of the file, hexadecimal. Features of different models cannot be compared.
    public let digest: String
    /// The name in the file, for display.
    public let name: String

    let projection: DescriptorProjection
    let quantizer: DescriptorQuantizer
    let vocabulary: Vocabulary
    /// The network of dense descriptors; nil if the file has none.
    let denseNetwork: ImageNetwork?
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
            // Packing the weights takes about as long as the digest.
            let (network, hash) = concurrently {
                Result { () throws(ModelError.Reason) in try Self.denseNetwork(of: file, simd) }
            } and: {
                SHA256.hash(data)
            }
            denseNetwork = try network.get()
            digest = hash.map { String(format: "%02x", $0) }.joined()
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

    private static func denseNetwork(
        of file: SafeTensorsFile, _ simd: SIMDTarget
    ) throws(ModelError.Reason) -> ImageNetwork? {
        guard file.metadata[NetworkGraph.metadataKey] != nil else { return nil }
        let network = try ImageNetwork(of: file, simd: simd)
        let length = DenseDescriptors.dimension + 1
        guard network.outputDimension % length == 0 else {
            throw .unusableGraph("its output has \(network.outputDimension) numbers, not \(length) for each cell")
        }
        return network
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

/// Quantizes the components of projected descriptors to 4 bits, each with its own step.
///
/// A code c stands for (c − 7.5) · step. Two components share a byte, the first in its low half.
struct DescriptorQuantizer: Sendable {
    /// Bytes of a quantized descriptor.
    static let byteCount = LocalFeatureModel.dimension / 2

    let steps: [Float]

    /// Appends the codes of a descriptor.
    func append(_ descriptor: UnsafeBufferPointer<Float>, to bytes: inout [UInt8]) {
        func code(_ index: Int) -> UInt8 {
            UInt8(min(max((descriptor[index] / steps[index]).rounded(.down) + 8, 0), 15))
        }
        for pair in 0..<Self.byteCount { bytes.append(code(2 * pair) | code(2 * pair + 1) << 4) }
    }

    /// Writes the codes 0...15 of `count` descriptors, one per byte.
    static func unpack(_ bytes: UnsafeBufferPointer<UInt8>, into codes: UnsafeMutableBufferPointer<UInt8>) {
        precondition(codes.count >= 2 * bytes.count, "two codes per byte")
        for index in bytes.indices {
            codes[2 * index] = bytes[index] & 15
            codes[2 * index + 1] = bytes[index] >> 4
        }
    }

    /// The component that a code stands for.
    func value(_ code: UInt8, component: Int) -> Float { (Float(code) - 7.5) * steps[component] }

    /// The unit vector that the codes of a descriptor stand for.
    func restore(_ codes: ArraySlice<UInt8>, into descriptor: UnsafeMutableBufferPointer<Float>) {
        var squares: Float = 1e-20
        for (pair, byte) in codes.enumerated() {
            for (index, code) in [(2 * pair, byte & 15), (2 * pair + 1, byte >> 4)] {
                let value = value(code, component: index)
                descriptor[index] = value
                squares += value * value
            }
        }
        let scale = 1 / squares.squareRoot()
        for index in descriptor.indices { descriptor[index] *= scale }
    }
}
