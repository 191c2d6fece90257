import CKernels
import Foundation

/// Which tensors of a network are int8, and what their codes stand for.
///
/// The metadata of a file has the activation range of each tensor (``metadataKey``, JSON: name to
/// ``ActivationRange``), calibrated on images. A tensor is int8 if it has a range, a layer that can write codes writes
/// it, and only layers that can read them do. Tensors without a range, or with `null`, stay float32.
package struct Quantization: Sendable {
    /// The key of the ranges in a model file's metadata.
    package static let metadataKey = "lookalike.activation_ranges"

    /// Of the maps that are int8.
    let parameters: [String: QuantizationParameters]
    /// Of vectors, which are float32, and which a linear layer quantizes as it reads them.
    private let vectors: [String: QuantizationParameters]

    /// Nil if the file has no ranges.
    ///
    /// - Throws: `malformed` if a range is none; `unusableGraph` if no layer has a range's name.
    package init?(of file: SafeTensorsFile, graph: NetworkGraph) throws(ModelError.Reason) {
        guard let text = file.metadata[Self.metadataKey] else { return nil }
        guard let ranges = try? JSONDecoder().decode([String: ActivationRange?].self, from: Data(text.utf8)) else {
            throw .malformed("its “\(Self.metadataKey)” is not a map from names to ranges around 0")
        }
        let names = Set(graph.nodes.map(\.name))
        if let unknown = ranges.keys.filter({ !names.contains($0) }).min() {
            throw .unusableGraph("“\(Self.metadataKey)” has a range for “\(unknown)”, which no layer is called")
        }
        var parameters: [String: QuantizationParameters] = [:]
        let candidates = Set(Self.mapCandidates(in: graph))
        vectors = ranges.compactMapValues { $0.map { QuantizationParameters($0) } }
        for node in graph.nodes {
            if node.isMaximumPooling {
                parameters[node.name] = parameters[node.input]
            } else if candidates.contains(node.name), let range = ranges[node.name] ?? nil {
                parameters[node.name] = QuantizationParameters(node.convolution?.possible(range) ?? range)
            }
        }
        self.parameters = Self.computable(parameters, in: graph)
    }

    /// The tensors that layers read in int8 if they have a range.
    package static func candidates(in graph: NetworkGraph) -> [String] {
        mapCandidates(in: graph) + linearInputs(in: graph)
    }

    /// The vectors that linear layers read.
    package static func linearInputs(in graph: NetworkGraph) -> [String] {
        var vectors: Set<String> = []
        var inputs: [String] = []
        for node in graph.nodes {
            switch node.operation {
            case .generalizedMean: vectors.insert(node.name)
            case .rearrangement(let rearrangement):
                if rearrangement.shape.count == 2, rearrangement.shape[0] == 1 { vectors.insert(node.name) }
            case .linear, .activation:
                guard vectors.contains(node.input) else { break }
                vectors.insert(node.name)
                if case .linear = node.operation, !inputs.contains(node.input) { inputs.append(node.input) }
            default: break
            }
        }
        return inputs
    }

    /// The maps that are int8 if they have a range.
    private static func mapCandidates(in graph: NetworkGraph) -> [String] {
        var readers: [String: [NetworkGraph.Node]] = [:]
        for node in graph.nodes {
            for input in [node.input] + node.otherInputs { readers[input, default: []].append(node) }
        }
        let maps = maps(in: graph)
        // Nodes after those that they read, so the readers of a pooled tensor come first.
        var passesCodesOn: Set<String> = []
        var candidates: [String] = []
        for node in graph.nodes.reversed() {
            guard maps.contains(node.name), node.isMaximumPooling || node.writesCodes, let readers = readers[node.name],
                readers.allSatisfy({ $0.readsCodes || passesCodesOn.contains($0.name) })
            else { continue }
            if node.isMaximumPooling { passesCodesOn.insert(node.name) } else { candidates.append(node.name) }
        }
        return candidates.reversed()
    }

    /// The nodes that give maps; codes have no other layout.
    private static func maps(in graph: NetworkGraph) -> Set<String> {
        var maps: Set<String> = []
        for node in graph.nodes {
            switch node.operation {
            case .convolution, .maximumPooling, .averagePooling, .map, .channelSelection, .resizing:
                maps.insert(node.name)
            case .combination, .activation, .normalization:
                if maps.contains(node.input) { maps.insert(node.name) }
            default: break
            }
        }
        return maps
    }

    /// With a residual, a convolution of a float32 input uses float32 throughout. Maximum pooling has the same codes on
    /// both sides.
    private static func computable(
        _ parameters: [String: QuantizationParameters], in graph: NetworkGraph
    ) -> [String: QuantizationParameters] {
        var parameters = parameters
        var settled = false
        while !settled {
            settled = true
            for node in graph.nodes where parameters[node.input] == nil {
                guard let residual = node.residual, parameters[residual] != nil || parameters[node.name] != nil else {
                    continue
                }
                parameters[residual] = nil
                parameters[node.name] = nil
                settled = false
            }
            for node in graph.nodes where node.isMaximumPooling {
                guard (parameters[node.input] == nil) != (parameters[node.name] == nil) else { continue }
                parameters[node.input] = nil
                parameters[node.name] = nil
                settled = false
            }
        }
        return parameters
    }

    /// What the codes of a layer's tensors stand for; nil for a tensor in float32.
    struct LayerParameters: Sendable {
        /// Of the image, which is float32, and which a convolution that writes codes quantizes.
        let image: QuantizationParameters
        /// Of a vector, which is float32, and which a linear layer quantizes.
        let vector: QuantizationParameters?
        let input: QuantizationParameters?
        let residual: QuantizationParameters?
        let output: QuantizationParameters?
    }

    /// - Parameter image: the network's input, whose numbers have been checked.
    func parameters(for node: NetworkGraph.Node, image: NetworkGraph.Input) -> LayerParameters {
        let darkest = zip(image.mean, image.std).map { mean, std in (0 - mean) / std }
        let brightest = zip(image.mean, image.std).map { mean, std in (1 - mean) / std }
        return LayerParameters(
            image: QuantizationParameters(
                ActivationRange(lower: darkest.min() ?? 0, upper: brightest.max() ?? 1)),
            vector: vectors[node.input],
            input: parameters[node.input], residual: node.residual.flatMap { parameters[$0] },
            output: parameters[node.name])
    }
}

extension NetworkGraph.Node {
    fileprivate var isMaximumPooling: Bool { if case .maximumPooling = operation { true } else { false } }

    /// Whether the layer can write codes of its own.
    fileprivate var writesCodes: Bool {
        switch operation {
        // A convolution applies an activation to a copy of its result, which a residual does not lie beside.
        case .convolution(let convolution): convolution.residual == nil || convolution.appliedActivation == nil
        case .combination(let combination): combination.operator.keepsRange
        default: false
        }
    }

    /// Whether the layer can read codes; maximum pooling only if it passes them on.
    fileprivate var readsCodes: Bool {
        switch operation {
        case .convolution(let convolution):
            // Weights are packed in blocks of at most so many taps. Nothing of the graph has been checked yet.
            let (kernel, taps) = (convolution.kernel, 1...Int(LK_MOST_TAPS))
            return taps.contains(kernel.height) && taps.contains(kernel.width)
                && taps.contains(kernel.height * kernel.width)
        case .combination(let combination): return combination.operator.keepsRange
        case .averagePooling, .generalizedMean, .reduction, .rearrangement: return true
        default: return false
        }
    }
}

extension NetworkGraph.Convolution {
    /// The activation, unless clamping to the range of the codes is the same.
    var appliedActivation: NetworkGraph.Activation? { isBoundedReLU ? nil : activation }

    /// ReLU6 and the like, whose largest value is the upper bound of the codes' range.
    var isBoundedReLU: Bool { activation.map { $0.kind == .clamp && $0.alpha == 0 && $0.beta > 0 } ?? false }

    /// The part of a range that the activation gives values in.
    fileprivate func possible(_ range: ActivationRange) -> ActivationRange {
        if relu { return ActivationRange(upper: range.upper) }
        guard let activation, isBoundedReLU else { return range }
        return ActivationRange(upper: min(range.upper, activation.beta))
    }
}

extension NetworkGraph.Combination.Operator {
    /// Whether codes are fine enough: not for quotients and powers, whose values may differ by orders of magnitude.
    fileprivate var keepsRange: Bool {
        switch self {
        case .add, .subtract, .multiply, .maximum, .minimum: true
        case .divide, .power, .prelu: false
        }
    }
}
