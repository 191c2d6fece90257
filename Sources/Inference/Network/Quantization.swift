import CKernels
import Foundation

/// Which tensors of a network are int8, and their scales.
///
/// The metadata of a file has the activation range of each tensor (``metadataKey``, JSON: name to number), calibrated
/// on training images; larger values are clamped. A tensor is int8 if a convolution with ReLU writes it and only
/// convolutions read it.
package struct Quantization: Sendable {
    package static let metadataKey = "lookalike.activation_ranges"

    /// The value of one step, by tensor.
    let scales: [String: Float]

    /// Nil if the file has no ranges.
    ///
    /// - Throws: `malformed` if a range is not a positive number; `unusableGraph` if the graph has a tensor without a
    ///   range, or mixes int8 and float32 in a way that no kernel supports.
    package init?(of file: SafeTensorsFile, graph: NetworkGraph) throws(ModelError.Reason) {
        guard let text = file.metadata[Self.metadataKey] else { return nil }
        guard let ranges = try? JSONDecoder().decode([String: Float].self, from: Data(text.utf8)),
            ranges.values.allSatisfy({ $0.isFinite && $0 > 0 })
        else { throw .malformed("its “\(Self.metadataKey)” is not a map from names to positive numbers") }
        var scales: [String: Float] = [:]
        for node in graph.nodes where node.convolution?.relu == true && node.hasInt8Kernel {
            let readers = graph.nodes.filter { $0.input == node.name || $0.otherInputs.contains(node.name) }
            guard !readers.isEmpty, readers.allSatisfy(\.hasInt8Kernel) else { continue }
            guard let range = ranges[node.name] else {
                throw .unusableGraph("“\(Self.metadataKey)” has no range for “\(node.name)”")
            }
            scales[node.name] = range / 255
        }
        for node in graph.nodes where node.convolution != nil && scales[node.input] == nil {
            guard node.residual == nil || scales[node.residual ?? ""] == nil && scales[node.name] == nil else {
                throw .unusableGraph("layer “\(node.name)” adds int8 to float32")
            }
        }
        self.scales = scales
    }

    /// The scales that a layer needs.
    struct Scales: Sendable {
        let input: Float?
        let residual: Float?
        let output: Float?
    }

    func scales(for node: NetworkGraph.Node) -> Scales {
        Scales(input: scales[node.input], residual: node.residual.flatMap { scales[$0] }, output: scales[node.name])
    }
}

extension NetworkGraph.Node {
    /// Whether the layer can read int8: a dense convolution without an activation other than ReLU.
    fileprivate var hasInt8Kernel: Bool {
        guard let convolution else { return false }
        // Weights are packed in blocks of at most so many taps.
        return convolution.groups == 1 && convolution.activation == nil
            && convolution.kernel.height * convolution.kernel.width <= Int(LK_MOST_TAPS)
    }
}
