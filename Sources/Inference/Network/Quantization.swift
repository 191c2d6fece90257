import Foundation

/// Which tensors of a network are kept as bytes, and what a byte stands for.
///
/// A file tells the largest value of each tensor that is worth keeping (``metadataKey``, JSON: name to
/// number; larger ones are clamped), found on training images. Kept as bytes is what a convolution with
/// ReLU makes and convolutions alone read.
package struct Quantization: Sendable {
    package static let metadataKey = "lookalike.activation_ranges"

    /// What a byte stands for, by tensor.
    let scales: [String: Float]

    /// Nil where the file tells no ranges.
    ///
    /// - Throws: `malformed` where they are no positive numbers; `unusableGraph` where the graph has a
    ///   tensor without one, or mixes bytes and floats as no kernel does.
    package init?(of file: SafeTensorsFile, graph: NetworkGraph) throws(ModelError.Reason) {
        guard let text = file.metadata[Self.metadataKey] else { return nil }
        guard let ranges = try? JSONDecoder().decode([String: Float].self, from: Data(text.utf8)),
            ranges.values.allSatisfy({ $0.isFinite && $0 > 0 })
        else { throw .malformed("its “\(Self.metadataKey)” are not positive numbers by name") }
        var scales: [String: Float] = [:]
        for node in graph.nodes where node.convolution?.relu == true {
            let readers = graph.nodes.filter { $0.input == node.name || $0.residual == node.name }
            guard !readers.isEmpty, readers.allSatisfy({ $0.convolution != nil }) else { continue }
            guard let range = ranges[node.name] else {
                throw .unusableGraph("“\(Self.metadataKey)” tells nothing of “\(node.name)”")
            }
            scales[node.name] = range / 255
        }
        for node in graph.nodes where node.convolution != nil && scales[node.input] == nil {
            guard node.residual == nil || scales[node.residual ?? ""] == nil && scales[node.name] == nil else {
                throw .unusableGraph("layer “\(node.name)” would add bytes to floats")
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
