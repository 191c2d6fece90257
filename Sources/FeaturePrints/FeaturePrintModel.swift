package import Compute
public import Foundation
public import Imaging
public import Inference

/// A network with its weights that turns images into feature prints.
///
/// Loaded from one safetensors file that holds the weights and, in its metadata, the layer graph (`NetworkGraph`). A
/// model is immutable; share one between tasks and threads.
public final class FeaturePrintModel: Sendable {
    /// The name and the digest of the network.
    public let identity: ModelIdentity
    /// The number format that this model computes in.
    public let precision: Precision
    /// The match threshold before score normalization, a distance in 0...2; nil if the file has none.
    ///
    /// ``matchThreshold(for:beside:)`` gives the threshold of a query.
    public let matchThreshold: Double?
    /// The coefficients of the confidence of matches; ``ConfidenceCoefficients/general`` if the file has none.
    public let confidence: ConfidenceCoefficients
    /// Whether a catalog with this model has local features by default.
    ///
    /// False for an imported network: the confidence of verified matches, and how much nearer a print has to be beside
    /// them, were fitted to the default model's distances.
    public let usesLocalFeatures: Bool
    /// The version of the package that wrote the file; nil if the file does not say.
    public let writtenBy: String?
    /// The bytes of the file, so that a catalog can keep a copy.
    public let fileData: Data

    let scoreNormalization: ScoreNormalization?
    let images: ImageNetwork
    let texts: TextTower.Source
    var network: Network { images.network }

    /// Reads a model file.
    ///
    /// - Parameter precision: the fastest that the file and the CPU support, by default.
    /// - Throws: `ModelError` that says what is wrong with the file.
    public convenience init(contentsOf url: URL, precision: Precision? = nil) throws(ModelError) {
        try self.init(contentsOf: url, precision: precision, simd: .selected)
    }

    package convenience init(contentsOf url: URL, precision: Precision? = nil, simd: SIMDTarget) throws(ModelError) {
        try self.init(
            contents(ofModelFile: url), named: url.path, precision: precision, simd: simd)
    }

    /// Reads a model from the bytes of its file.
    ///
    /// - Parameters:
    ///   - source: what errors call the file.
    ///   - precision: the fastest that the file and the CPU support, by default.
    /// - Throws: `ModelError` that says what is wrong with the file.
    public convenience init(_ data: Data, named source: String, precision: Precision? = nil) throws(ModelError) {
        try self.init(data, named: source, precision: precision, simd: .selected)
    }

    package init(_ data: Data, named source: String, precision: Precision? = nil, simd: SIMDTarget) throws(ModelError) {
        do throws(ModelError.Reason) {
            let file = try ModelFile(SafeTensorsFile(data))
            let quantization = file.quantization
            if precision == .int8, quantization == nil { throw ModelError.Reason.noActivationRanges }
            let chosen = precision ?? (quantization != nil && simd.hasFastInt8DotProduct ? .int8 : .float32)
            self.precision = chosen
            let background = try ScoreNormalization.Description(of: file.tensors)
            // Packing the weights takes about as long as the rest.
            let (packed, rest) = concurrently {
                Result { () throws(ModelError.Reason) in
                    try Network(
                        graph: file.graph, file: file.tensors, quantization: chosen == .int8 ? quantization : nil)
                }
            } and: {
                Result { () throws(ModelError.Reason) in
                    (
                        identity: file.identity(excluding: background?.tensor),
                        scoreNormalization: try background.map { description throws(ModelError.Reason) in
                            try ScoreNormalization(description, of: file.tensors, simd: simd)
                        }
                    )
                }
            }
            let network = try packed.get()
            images = ImageNetwork(network, of: file.graph, simd: simd)
            texts = try TextTower.Source(of: file.tensors, simd: simd)
            (identity, scoreNormalization) = try rest.get()
            try scoreNormalization?.check(dimension: network.outputDimension)
            matchThreshold = file.matchThreshold
            confidence = file.confidence ?? .general
            usesLocalFeatures = file.usesLocalFeatures
            writtenBy = file.tensors.metadata[ModelFile.versionKey]
        } catch {
            throw ModelError(subject: source, reason: error)
        }
        fileData = data
    }

    /// The number of components of a print.
    public var dimension: Int { network.outputDimension }

    /// The size of the images that the network takes, in pixels.
    public var inputSize: (width: Int, height: Int) { (images.graph.input.width, images.graph.input.height) }

    /// How an image becomes the network's input.
    public var input: NetworkGraph.Input { images.graph.input }

    /// The sides that a network needs of an image, in pixels: those of the input, or the shortest side of images whose
    /// center becomes the input.
    package var neededSize: (width: Int, height: Int) {
        images.graph.input.shortestSide.map { ($0, $0) } ?? inputSize
    }

    /// Decodes no more of a large JPEG file than this model needs.
    public var decodingOptions: DecodingOptions { DecodingOptions(neededSize: neededSize) }

    /// The layers with their costs.
    public var summary: ModelSummary { network.summary }
}

extension FeaturePrintModel {
    /// The number format that a network is computed in.
    public enum Precision: String, Sendable, CaseIterable {
        /// 32-bit floats.
        case float32
        /// int8 weights and int8 maps between layers, with 32-bit integer sums; prints are float32.
        ///
        /// int8 and float32 prints differ slightly (the model card has the figures) and can be compared with each
        /// other. Depthwise convolutions, pooling and activations other than ReLU compute in float32 between int8 maps.
        /// Needs a file with activation ranges.
        case int8
    }
}

extension FeaturePrintModel {
    /// Checks a print that comes from outside, as from a file or a request, before it is compared with this model's.
    ///
    /// - Throws: ``FeaturePrintError`` if another model made it, if it has another number of components, or if its
    ///   norm differs from 1 by more than rounding explains.
    /// - Complexity: O(dimension).
    public func check(_ print: FeaturePrint) throws(FeaturePrintError) {
        guard print.model == identity else { throw .differentModels(identity, print.model) }
        guard print.vector.count == dimension else {
            throw .wrongDimension(print.vector.count, expected: dimension)
        }
        // Distances are computed from products; of long vectors they overflow, too.
        let norm = Self.norm(of: print.vector)
        guard abs(norm - 1) <= Self.normTolerance else { throw .notNormalized(norm: norm) }
    }

    package static func norm(of vector: [Float]) -> Double {
        vector.reduce(0) { $0 + Double($1) * Double($1) }.squareRoot()
    }

    /// The rounding error of a norm that is computed from single precision, with a margin.
    package static let normTolerance = 1e-3
}
