import CKernels
import Foundation

/// Which tensors of a network are int8, and their scales.
///
/// The metadata of a file has the activation range of each tensor (``metadataKey``, JSON: name to number), calibrated
/// on training images; larger values are clamped. A tensor is int8 if a dense convolution with ReLU writes it, only
/// dense convolutions read it, and a kernel exists for each of them. Between them, maximum pooling passes the codes on.
/// Instead of a number a tensor may have `null`: it stays float32, because int8 is not exact enough there.
package struct Quantization: Sendable {
    /// The key of the ranges in a model file's metadata.
    package static let metadataKey = "lookalike.activation_ranges"

    /// The value of one step, by tensor.
    let scales: [String: Float]

    /// Nil if the file has no ranges.
    ///
    /// - Throws: `malformed` if a range is not a positive number; `unusableGraph` if the graph has a tensor without a
    ///   range. Tensors that are pooled may have none.
    package init?(of file: SafeTensorsFile, graph: NetworkGraph) throws(ModelError.Reason) {
        guard let text = file.metadata[Self.metadataKey] else { return nil }
        guard let ranges = try? JSONDecoder().decode([String: Float?].self, from: Data(text.utf8)),
            ranges.values.allSatisfy({ $0.map { $0.isFinite && $0 > 0 } ?? true })
        else { throw .malformed("its “\(Self.metadataKey)” is not a map from names to positive numbers") }
        var scales: [String: Float] = [:]
        let pooled = Set(graph.nodes.filter(\.isMaximumPooling).map(\.input))
        for name in Self.candidates(in: graph) {
            guard let range = ranges[name] else {
                if pooled.contains(name) { continue }
                throw .unusableGraph("“\(Self.metadataKey)” has no range for “\(name)”")
            }
            if let range { scales[name] = range / 255 }
        }
        for node in graph.nodes where node.isMaximumPooling { scales[node.name] = scales[node.input] }
        self.scales = Self.computable(scales, in: graph)
    }

    /// The tensors that need a range.
    package static func candidates(in graph: NetworkGraph) -> [String] {
        var readers: [String: [NetworkGraph.Node]] = [:]
        for node in graph.nodes {
            for input in [node.input] + node.otherInputs { readers[input, default: []].append(node) }
        }
        // Nodes after those that they read, so the readers of a pooled tensor come first.
        var takesCodes: Set<String> = []
        var candidates: [String] = []
        for node in graph.nodes.reversed() {
            guard node.isMaximumPooling || node.hasInt8Kernel, let readers = readers[node.name],
                readers.allSatisfy({ $0.hasInt8Kernel || takesCodes.contains($0.name) })
            else { continue }
            if node.isMaximumPooling {
                takesCodes.insert(node.name)
            } else if node.convolution?.relu == true {
                candidates.append(node.name)
            }
        }
        return candidates.reversed()
    }

    /// With a residual, a convolution of a float32 input uses float32 throughout. Pooling has the same type on both
    /// sides.
    private static func computable(_ scales: [String: Float], in graph: NetworkGraph) -> [String: Float] {
        var scales = scales
        var settled = false
        while !settled {
            settled = true
            for node in graph.nodes where scales[node.input] == nil {
                guard let residual = node.residual, scales[residual] != nil || scales[node.name] != nil else {
                    continue
                }
                scales[residual] = nil
                scales[node.name] = nil
                settled = false
            }
            for node in graph.nodes where node.isMaximumPooling {
                guard (scales[node.input] == nil) != (scales[node.name] == nil) else { continue }
                scales[node.input] = nil
                scales[node.name] = nil
                settled = false
            }
        }
        return scales
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
    fileprivate var isMaximumPooling: Bool { if case .maximumPooling = operation { true } else { false } }

    /// Whether the layer can read and write int8: a dense convolution without an activation other than ReLU.
    fileprivate var hasInt8Kernel: Bool {
        guard let convolution else { return false }
        // Weights are packed in blocks of at most so many taps. Nothing of the graph has been checked yet.
        let (kernel, taps) = (convolution.kernel, 1...Int(LK_MOST_TAPS))
        return convolution.groups == 1 && convolution.activation == nil && taps.contains(kernel.height)
            && taps.contains(kernel.width) && taps.contains(kernel.height * kernel.width)
    }
}
