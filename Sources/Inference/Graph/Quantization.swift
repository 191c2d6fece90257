import Foundation

/// Which tensors of a network are int8, and what their codes stand for.
///
/// The metadata of a file has the activation range of each tensor (``metadataKey``, JSON: name to
/// ``ActivationRange``), calibrated on images. A tensor is int8 if it has a range, a layer that can write codes writes
/// it, and only layers that can read them do. Tensors without a range, or with `null`, stay float32.
package struct Quantization: Sendable {
    /// The key of the ranges in a model file's metadata.
    package static let metadataKey = "lookalike.activation_ranges"

    /// What the codes of the maps that are int8 stand for.
    let parameters: [String: QuantizationParameters]
    /// What the codes of vectors stand for; a linear layer quantizes them as it reads them. Of an array it says that
    /// the layer computes in int8: each line has a range of its own. Without parameters a vector has, too.
    private let vectors: [String: QuantizationParameters?]
    /// The network's input.
    private let image: NetworkGraph.Input

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
        image = graph.input
        var parameters: [String: QuantizationParameters] = [:]
        let candidates = Set(Self.mapCandidates(in: graph))
        vectors = ranges.compactMapValues { $0 }.mapValues { QuantizationParameters($0) }
        for node in graph.nodes {
            let rules = node.runnable.int8
            if rules.keepsCodes {
                parameters[node.name] = parameters[node.input]
            } else if candidates.contains(node.name), let range = ranges[node.name] ?? nil {
                parameters[node.name] = QuantizationParameters(range.clamped(to: rules.outputs))
            }
        }
        self.parameters = Self.computable(parameters, in: graph)
    }

    /// All linear layers of arrays in int8, each line with a range of its own.
    package init(linesOf graph: TextGraph) {
        // There is no image.
        let input = NetworkGraph.Input(width: 1, height: 1, mean: [0], std: [1])
        let nodes = NetworkGraph(name: "", input: input, nodes: graph.nodes)
        (image, parameters) = (input, [:])
        vectors = Dictionary(uniqueKeysWithValues: Self.linearArrays(in: nodes).map { ($0, nil) })
    }

    /// The tensors that layers read in int8 if they have a range.
    package static func candidates(in graph: NetworkGraph) -> [String] {
        mapCandidates(in: graph) + linearInputs(in: graph)
    }

    /// The vectors and arrays that linear layers read.
    package static func linearInputs(in graph: NetworkGraph) -> [String] { linearInputs(in: graph) { $0 != .map } }

    /// The arrays that linear layers read.
    package static func linearArrays(in graph: NetworkGraph) -> [String] { linearInputs(in: graph) { $0 == .other } }

    private static func linearInputs(in graph: NetworkGraph, where isOne: (TensorKind) -> Bool) -> [String] {
        let kinds = kinds(in: graph)
        var inputs: [String] = []
        for node in graph.nodes where node.runnable.int8.quantizesLines && isOne(kinds[node.input] ?? .other) {
            if !inputs.contains(node.input) { inputs.append(node.input) }
        }
        return inputs
    }

    /// The maps that are int8 if they have a range. Codes have no other layout.
    private static func mapCandidates(in graph: NetworkGraph) -> [String] {
        var readers: [String: [NetworkGraph.Node]] = [:]
        for node in graph.nodes {
            for input in [node.input] + node.otherInputs { readers[input, default: []].append(node) }
        }
        let kinds = kinds(in: graph)
        // Nodes come after the nodes that they read, so the readers of a pooled tensor come first here.
        var keepsCodes: Set<String> = []
        var candidates: [String] = []
        for node in graph.nodes.reversed() {
            let rules = node.runnable.int8
            guard kinds[node.name] == .map, rules.keepsCodes || rules.writesCodes, let readers = readers[node.name],
                readers.allSatisfy({ $0.runnable.int8.readsCodes || keepsCodes.contains($0.name) })
            else { continue }
            if rules.keepsCodes { keepsCodes.insert(node.name) } else { candidates.append(node.name) }
        }
        return candidates.reversed()
    }

    private static func kinds(in graph: NetworkGraph) -> [String: TensorKind] {
        var kinds: [String: TensorKind] = [:]
        for node in graph.nodes { kinds[node.name] = node.runnable.kind(of: kinds[node.input] ?? .other) }
        return kinds
    }

    /// With a residual, a convolution of a float32 input uses float32 throughout, unless the input is the image and the
    /// output has codes. Maximum pooling has the same codes on both sides.
    private static func computable(
        _ parameters: [String: QuantizationParameters], in graph: NetworkGraph
    ) -> [String: QuantizationParameters] {
        var parameters = parameters
        var settled = false
        while !settled {
            settled = true
            for node in graph.nodes where parameters[node.input] == nil {
                guard let residual = node.runnable.residual, parameters[residual] != nil || parameters[node.name] != nil
                else {
                    continue
                }
                if node.input == Network.imageName, node.runnable.int8.quantizesImage, parameters[node.name] != nil {
                    continue
                }
                parameters[residual] = nil
                parameters[node.name] = nil
                settled = false
            }
            for node in graph.nodes where node.runnable.int8.keepsCodes {
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
        /// The codes of the image, which is float32 and which a convolution that writes codes quantizes.
        let image: QuantizationParameters
        /// Whether a linear layer quantizes the vector, or the lines of an array, that it reads.
        let quantizesLines: Bool
        /// The codes of the vector; nil if it has a range of its own.
        let vector: QuantizationParameters?
        let input: QuantizationParameters?
        let residual: QuantizationParameters?
        let output: QuantizationParameters?
    }

    /// - Precondition: the numbers of the network's input have been checked.
    func parameters(for node: NetworkGraph.Node) -> LayerParameters {
        let darkest = zip(image.mean, image.std).map { mean, std in (0 - mean) / std }
        let brightest = zip(image.mean, image.std).map { mean, std in (1 - mean) / std }
        return LayerParameters(
            image: QuantizationParameters(
                ActivationRange(lower: darkest.min() ?? 0, upper: brightest.max() ?? 1)),
            quantizesLines: vectors.keys.contains(node.input), vector: vectors[node.input] ?? nil,
            input: parameters[node.input], residual: node.runnable.residual.flatMap { parameters[$0] },
            output: parameters[node.name])
    }
}

/// The range of a tensor's values that its int8 codes stand for; other values are clamped.
///
/// JSON has the upper bound alone if the lower one is 0, and [lower, upper] otherwise.
public struct ActivationRange: Sendable, Hashable, Codable {
    /// The smallest value; at most 0.
    public let lower: Float
    /// The largest value; at least 0, and above the lower bound.
    public let upper: Float

    /// A range that contains 0, which the padding of a convolution is.
    ///
    /// - Parameters:
    ///   - lower: the smallest value; 0 if it is above.
    ///   - upper: the largest value; 0 if it is below. The range is 0...1 for values that are all 0 or have no bounds.
    public init(lower: Float = 0, upper: Float) {
        let bounds = (min(lower, 0), max(upper, 0))
        (self.lower, self.upper) = Self.hasSteps(bounds.0, bounds.1) ? bounds : (0, 1)
    }

    /// Whether a range has 255 steps that float32 can tell apart.
    private static func hasSteps(_ lower: Float, _ upper: Float) -> Bool { ((upper - lower) / 255).isNormal }

    /// The part of the range within other bounds.
    func clamped(to bounds: ClosedRange<Float>) -> ActivationRange {
        ActivationRange(lower: max(lower, bounds.lowerBound), upper: min(upper, bounds.upperBound))
    }

    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        let bounds =
            if let upper = try? value.decode(Float.self) { [0, upper] } else { try value.decode([Float].self) }
        guard bounds.count == 2, bounds[0] <= 0, bounds[1] >= 0,
            Self.hasSteps(bounds[0], bounds[1])
        else {
            throw DecodingError.dataCorruptedError(in: value, debugDescription: "\(bounds) is not a range around 0")
        }
        (lower, upper) = (bounds[0], bounds[1])
    }

    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        if lower == 0 { try value.encode(upper) } else { try value.encode([lower, upper]) }
    }
}

/// How a tensor's unsigned 8-bit codes stand for numbers: `scale · (code − zeroPoint)`.
///
/// Jacob et al.: "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"
/// (CVPR 2018).
struct QuantizationParameters: Sendable, Equatable {
    /// The value of one step.
    let scale: Float
    /// The code of 0.
    let zeroPoint: UInt8

    init(scale: Float, zeroPoint: UInt8) { (self.scale, self.zeroPoint) = (scale, zeroPoint) }

    /// All codes for a range.
    init(_ range: ActivationRange) {
        scale = (range.upper - range.lower) / 255
        zeroPoint = UInt8((-range.lower / scale).rounded())
    }
}
