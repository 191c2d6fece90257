#if ONNXImport
import Inference
import Lookalike

/// Turns the nodes of an ONNX graph into layers, one after another.
///
/// A network runs on one image at a time, so every shape is that for a batch of one. What can be computed without the
/// image is computed at once.
final class GraphImporter {
    var builder = GraphBuilder()
    var values: [String: ImportedValue] = [:]
    /// The operator set of the default domain.
    let opset: Int
    /// The files that hold constants beside the graph.
    let external: ExternalData
    /// What a padded tensor was before, by the name of the result: a convolution pads by itself.
    var paddings: [String: (source: ImportedTensor, padding: NetworkGraph.Padding)] = [:]
    /// Maps whose channels were reshaped to groups, and then transposed: two steps of a shuffle of channels.
    var shuffles: [String: (source: ImportedTensor, groups: Int, isTransposed: Bool)] = [:]
    /// Tensors that depend on the image and are integers in the file; their layers have the numbers that these are for.
    var quantized: [String: TensorQuantization] = [:]
    /// The tensors of a text that are whole numbers, or 0 and 1 for truth values; they are computed with as floats.
    var whole: Set<String> = []
    /// Whether a text is read and not an image.
    var readsTexts = false
    /// The types of the constants that the file stores.
    var elements: [String: ConstantTensor.Element] = [:]
    /// Layers that hold a tensor in another layout, by layer and layout.
    private var converted: [String: ImportedTensor] = [:]

    /// The input that is the image.
    var image = (name: "", isBytes: false, isChannelsLast: false)

    /// Elements of the constants that the file stores.
    var storedCount = 0
    /// Elements of the constants that nodes made.
    var foldedCount = 0

    init(opset: Int, external: ExternalData) { (self.opset, self.external) = (opset, external) }

    typealias Operator = @Sendable (GraphImporter, ONNXNode) throws -> Void

    /// The operators that are imported.
    static let operators: [String: Operator] = {
        let groups: [[String: Operator]] = [
            convolutionOperators, poolingOperators, elementOperators, shapeOperators, reductionOperators,
            normalizationOperators, matrixOperators, quantizationOperators, textOperators,
        ]
        return groups.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
    }()

    func run(_ node: ONNXNode) throws {
        guard node.domain.isEmpty || node.domain == "ai.onnx" else {
            throw node.problem("belongs to the domain “\(node.domain)”; only ONNX's own operators are imported")
        }
        try checkReadsIntegers(node)
        if try fold(node) { return }
        guard let run = Self.operators[node.opType] else {
            throw node.problem(
                "is not supported; supported are \(Self.operators.keys.sorted().joined(separator: ", "))")
        }
        try run(self, node)
        noteWhole(node)
        guard builder.weightCount <= Self.mostWeights else { throw node.problem("is where the weights exceed 4 GB") }
        for output in node.output {
            guard let extents = values[output]?.extents else { continue }
            let count = extents.reduce((partialValue: 1, overflow: false)) {
                let product = $0.partialValue.multipliedReportingOverflow(by: $1)
                return (product.partialValue, $0.overflow || product.overflow)
            }
            guard !count.overflow, (1...Self.mostElements).contains(count.partialValue) else {
                throw node.problem("makes a tensor of the shape \(extents), which is not supported")
            }
        }
    }

    static let mostWeights = 1 << 30
    /// As many floats as a pass over one image may have.
    private static let mostElements = 1 << 27

    // MARK: Inputs

    /// Nil for an optional input that is not given.
    func optional(_ node: ONNXNode, _ index: Int) throws -> ImportedValue? {
        guard index < node.input.count, !node.input[index].isEmpty else { return nil }
        guard let value = values[node.input[index]] else {
            throw node.problem("reads “\(node.input[index])”, which neither a node nor the file gives")
        }
        return value
    }

    func value(_ node: ONNXNode, _ index: Int) throws -> ImportedValue {
        guard let value = try optional(node, index) else { throw node.problem("lacks its input \(index)") }
        return value
    }

    func optionalConstant(_ node: ONNXNode, _ index: Int) throws -> ConstantTensor? {
        switch try optional(node, index) {
        case nil: return nil
        case .constant(let constant): return constant
        case .tensor:
            throw node.problem("has an input “\(node.input[index])” that depends on the image; it has to be constant")
        }
    }

    func constant(_ node: ONNXNode, _ index: Int) throws -> ConstantTensor {
        guard let constant = try optionalConstant(node, index) else { throw node.problem("lacks its input \(index)") }
        return constant
    }

    /// Integers that a node has as an attribute in older versions of ONNX, and as an input in newer ones.
    func integers(_ node: ONNXNode, _ attribute: String, input: Int) throws -> [Int]? {
        if let integers = node.integers(attribute) { return integers }
        guard let constant = try optionalConstant(node, input) else { return nil }
        guard let integers = constant.integers else { throw node.problem("has \(attribute) that are not integers") }
        return integers
    }

    /// An input in any layout; a constant becomes a layer.
    func tensor(_ node: ONNXNode, _ index: Int) throws -> ImportedTensor {
        tensor(try value(node, index), name: node.input[index])
    }

    func tensor(_ value: ImportedValue, name: String) -> ImportedTensor {
        switch value {
        case .tensor(let tensor): return tensor
        case .constant(let constant):
            var floats = constant.floats
            // What a mask adds where nothing may be seen; a model file has no infinity.
            if readsTexts { floats = floats.map { $0 == -.infinity ? -1e30 : $0 } }
            let weight = builder.addWeight(name, floats, shape: constant.extents)
            let layer = builder.add(
                name, input: "image", NetworkGraph.Constant(tensor: weight, shape: constant.extents))
            return ImportedTensor(node: layer, extents: constant.extents, layout: .array)
        }
    }

    /// An input as a map.
    func map(_ node: ONNXNode, _ index: Int) throws -> ImportedTensor {
        let tensor = try tensor(node, index)
        guard let map = try map(tensor) else {
            throw node.problem(
                "needs an input of the shape [1, channels, height, width], but “\(node.input[index])” is "
                    + "\(tensor.extents)")
        }
        return map
    }

    /// Nil for a shape that is not that of a map.
    func map(_ tensor: ImportedTensor) throws -> ImportedTensor? {
        switch tensor.layout {
        case .map: return tensor
        case .mapChannelsLast, .imageChannelsLast: return try map(array(tensor))
        case .image, .array:
            guard tensor.extents.count == 4, tensor.extents[0] == 1 else { return nil }
            return convert(tensor, "map") {
                ImportedTensor(
                    node: builder.add("\(tensor.node).map", input: tensor.node, NetworkGraph.ToMap()),
                    extents: tensor.extents,
                    layout: .map)
            }
        }
    }

    /// A map or the image, for a convolution.
    func convolutionInput(_ tensor: ImportedTensor) throws -> ImportedTensor? {
        if case .image = tensor.layout { return tensor }
        return try map(tensor)
    }

    /// A tensor in row-major order.
    func array(_ tensor: ImportedTensor) -> ImportedTensor {
        switch tensor.layout {
        case .array: return tensor
        case .image: return array(mapOfImage(tensor))
        case .imageChannelsLast: return array(rotated(mapOfImage(rotated(tensor))))
        case .map:
            return convert(tensor, "array") {
                rearranged(tensor, .init(shape: tensor.extents, strides: Self.strides(tensor.extents)), "array")
            }
        case .mapChannelsLast:
            return convert(tensor, "rows") {
                let (height, width, channels) = (tensor.extents[1], tensor.extents[2], tensor.extents[3])
                return rearranged(
                    tensor,
                    .init(shape: [1, height, width, channels], strides: [0, width, 1, height * width]), "rows")
            }
        }
    }

    /// A tensor as something that a layer for arrays reads: an array or a map in the order of its channels.
    func readable(_ tensor: ImportedTensor) -> ImportedTensor {
        switch tensor.layout {
        case .array, .map: tensor
        case .image: mapOfImage(tensor)
        case .mapChannelsLast, .imageChannelsLast: array(tensor)
        }
    }

    private func mapOfImage(_ tensor: ImportedTensor) -> ImportedTensor {
        convert(tensor, "map") {
            ImportedTensor(
                node: builder.add("\(tensor.node).map", input: tensor.node, NetworkGraph.ToMap()),
                extents: tensor.extents, layout: .map
            )
        }
    }

    /// The same tensor with its channels first, or last.
    func rotated(_ tensor: ImportedTensor) -> ImportedTensor {
        let extents = tensor.extents
        var result = tensor
        switch tensor.layout {
        case .map: result.layout = .mapChannelsLast
        case .image: result.layout = .imageChannelsLast
        case .mapChannelsLast: result.layout = .map
        case .imageChannelsLast: result.layout = .image
        case .array: preconditionFailure("an array has no channels")
        }
        switch tensor.layout {
        case .map, .image: result.extents = [extents[0], extents[2], extents[3], extents[1]]
        default: result.extents = [extents[0], extents[3], extents[1], extents[2]]
        }
        return result
    }

    /// Each tensor is converted once.
    private func convert(_ tensor: ImportedTensor, _ to: String, _ make: () -> ImportedTensor) -> ImportedTensor {
        let key = "\(tensor.node)\u{0}\(to)"
        if let known = converted[key], known.extents == tensor.extents { return known }
        let made = make()
        converted[key] = made
        return made
    }

    private func rearranged(
        _ tensor: ImportedTensor, _ rearrangement: NetworkGraph.Rearrangement, _ suffix: String
    ) -> ImportedTensor {
        ImportedTensor(
            node: builder.add("\(tensor.node).\(suffix)", input: tensor.node, rearrangement),
            extents: rearrangement.shape, layout: .array)
    }

    /// Distances between neighbors along each axis, in row-major order.
    static func strides(_ extents: [Int]) -> [Int] {
        var strides = extents
        var stride = 1
        for axis in extents.indices.reversed() {
            strides[axis] = stride
            stride *= extents[axis]
        }
        return strides
    }

    // MARK: Outputs

    func set(_ node: ONNXNode, _ value: ImportedValue, output: Int = 0) {
        guard output < node.output.count, !node.output[output].isEmpty else { return }
        values[node.output[output]] = value
    }

    /// Adds the layer that a node becomes, named after the node's output.
    func add(
        _ node: ONNXNode, input: ImportedTensor, _ operation: any LayerOperation, extents: [Int],
        layout: ImportedTensor.Layout, output: Int = 0
    ) {
        let name = output < node.output.count ? node.output[output] : node.displayName
        let layer = builder.add(name, input: input.node, operation)
        set(node, .tensor(ImportedTensor(node: layer, extents: extents, layout: layout)), output: output)
    }
}
#endif
