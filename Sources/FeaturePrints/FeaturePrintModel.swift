import Compute
import Foundation
import Imaging
import Inference

/// A network with its weights, ready to turn images into feature prints.
///
/// Loaded from one safetensors file that holds both the weights and, in its metadata, the layer graph
/// (`NetworkGraph`). A model is immutable; share one between tasks and threads.
public final class FeaturePrintModel: Sendable {
    public let identity: ModelIdentity
    /// What this model computes in.
    public let precision: Precision
    /// Up to this distance a match is taken to show what a query shows, where the file says so: of a query that
    /// resembles things in general as much as most do.
    public let recommendedMaxDistance: Double?
    /// The bytes of the file, so that a catalog can keep a copy.
    public let fileData: Data

    let background: BackgroundPrints?
    let network: Network
    let kernels: KernelTier
    let input: NetworkInput
    let workspaces = WorkspacePool()

    /// Reads a model file.
    ///
    /// - Parameter precision: the fastest that the file and the CPU allow, by default.
    /// - Throws: `ModelError` that says what is wrong with the file.
    public convenience init(contentsOf url: URL, precision: Precision? = nil, tier: KernelTier = .selected) throws(ModelError) {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            throw ModelError(source: url.path, reason: .unreadable((error as NSError).localizedDescription))
        }
        try self.init(data, named: url.path, precision: precision, tier: tier)
    }

    /// Reads a model from the bytes of its file; `source` stands for it in errors.
    public init(_ data: Data, named source: String, precision: Precision? = nil, tier: KernelTier = .selected) throws(ModelError) {
        do throws(ModelError.Reason) {
            let file = try ModelFile(data)
            let quantization = file.quantization
            if precision == .int8, quantization == nil { throw ModelError.Reason.noActivationRanges }
            self.precision = precision ?? (quantization != nil && tier.isFastWithBytes ? .int8 : .float32)
            network = try Network(
                graph: file.graph, file: file.tensors, quantization: self.precision == .int8 ? quantization : nil)
            background = try BackgroundPrints(of: file.tensors, printLength: network.outputLength, tier: tier)
            recommendedMaxDistance = file.recommendedMaxDistance
            identity = file.identity(excluding: background?.tensor)
        } catch {
            throw ModelError(source: source, reason: error)
        }
        fileData = data
        kernels = tier
        input = NetworkInput(of: network, tier: tier)
    }

    /// Components of a print.
    public var printLength: Int { network.outputLength }

    /// The size that images are resized to, in pixels.
    public var inputSize: (width: Int, height: Int) { (network.graph.input.width, network.graph.input.height) }

    /// Decoding that keeps what this model needs of a large JPEG file, and no more.
    public var decodingOptions: DecodingOptions { DecodingOptions(neededSize: inputSize) }

    /// The layers with their costs.
    public var summary: ModelSummary { network.summary }
}
