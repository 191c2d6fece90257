#if ONNXImport
import Inference
import Lookalike

extension GraphImporter {
    static let normalizationOperators: [String: Operator] = [
        "BatchNormalization": { try $0.batchNormalization($1) },
        "LayerNormalization": { try $0.layerNormalization($1) },
        "GroupNormalization": { try $0.groupNormalization($1) },
        "InstanceNormalization": { try $0.instanceNormalization($1) },
        "LpNormalization": { try $0.vectorNormalization($1) },
    ]

    private func batchNormalization(_ node: ONNXNode) throws {
        guard node.integer("training_mode", default: 0) == 0 else {
            throw node.problem("is in training mode; export the model for inference")
        }
        let (scale, shift) = (try constant(node, 1).floats, try constant(node, 2).floats)
        let (mean, variance) = (try constant(node, 3).floats, try constant(node, 4).floats)
        let epsilon = Double(node.float("epsilon", default: 1e-5))
        let input = try tensor(node, 0)
        guard input.extents.count >= 2, [scale, shift, mean, variance].allSatisfy({ $0.count == input.extents[1] })
        else { throw node.problem("has parameters that do not fit its input \(input.extents)") }
        let factors = zip(scale, variance).map { Double($0) / (Double($1) + epsilon).squareRoot() }
        let summands = factors.indices.map { Float(Double(shift[$0]) - Double(mean[$0]) * factors[$0]) }
        guard factors.allSatisfy(\.isFinite) else { throw node.problem("has a variance that is not positive") }
        let name = node.output.first ?? ""
        if let map = try map(input) {
            return set(
                node, .tensor(scaleChannels(name, map, scale: factors.map { Float($0) }, shift: summands)))
        }
        let source = array(input)
        let shape = [1, input.extents[1]] + Array(repeating: 1, count: input.extents.count - 2)
        let factor = tensor(.constant(.init(floats: factors.map { Float($0) }, extents: shape)), name: "\(name).scale")
        let summand = tensor(.constant(.init(floats: summands, extents: shape)), name: "\(name).shift")
        let product = builder.add(
            "\(name).scaled", input: source.node, NetworkGraph.Combination(.multiply, other: factor.node))
        let layer = builder.add(name, input: product, NetworkGraph.Combination(.add, other: summand.node))
        set(node, .tensor(ImportedTensor(node: layer, extents: input.extents, layout: .array)))
    }

    private func layerNormalization(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        let axis = try node.axis(node.integer("axis", default: -1), rank: input.extents.count)
        let shape = Array(input.extents[axis...])
        let count = shape.reduce(1, *)
        let weight = try constant(node, 1).floats
        let bias = try optionalConstant(node, 2)?.floats ?? [Float](repeating: 0, count: count)
        guard weight.count == count, bias.count == count else {
            throw node.problem("has parameters that do not fit its input \(input.extents)")
        }
        let epsilon = node.float("epsilon", default: 1e-5)
        if node.output.count > 1 { addStatistics(node, array(input), from: axis, epsilon) }
        if input.layout == .mapChannelsLast, axis == 3 {
            return normalize(node, input, .channels, weight, bias, [count], epsilon)
        }
        normalize(node, array(input), .axes(from: axis), weight, bias, shape, epsilon)
    }

    /// The mean, and the reciprocal of the deviation: outputs that few networks read.
    private func addStatistics(_ node: ONNXNode, _ input: ImportedTensor, from axis: Int, _ epsilon: Float) {
        let axes = Array(axis..<input.extents.count)
        let extents = input.extents.enumerated().map { $0.offset < axis ? $0.element : 1 }
        let name = node.output.first ?? ""
        add(
            node, input: input, NetworkGraph.Reduction(.mean, axes: axes), extents: extents, layout: .array, output: 1)
        guard node.output.count > 2 else { return }
        let mean = builder.add("\(name).mean", input: input.node, NetworkGraph.Reduction(.mean, axes: axes))
        let difference = builder.add(
            "\(name).difference", input: input.node, NetworkGraph.Combination(.subtract, other: mean))
        let square = builder.add(
            "\(name).square", input: difference, NetworkGraph.Combination(.multiply, other: difference))
        let variance = builder.add("\(name).variance", input: square, NetworkGraph.Reduction(.mean, axes: axes))
        let small = tensor(.constant(.init(floats: [epsilon], extents: [1])), name: "\(name).epsilon")
        let sum = builder.add("\(name).sum", input: variance, NetworkGraph.Combination(.add, other: small.node))
        let deviation = builder.add("\(name).deviation", input: sum, NetworkGraph.Activation(.sqrt))
        add(
            node, input: ImportedTensor(node: deviation, extents: extents, layout: .array),
            NetworkGraph.Activation(.reciprocal), extents: extents, layout: .array, output: 2)
    }

    private func normalize(
        _ node: ONNXNode, _ input: ImportedTensor, _ scope: NetworkGraph.Normalization.Scope, _ weight: [Float],
        _ bias: [Float], _ shape: [Int], _ epsilon: Float
    ) {
        let name = node.output.first ?? ""
        add(
            node, input: input,
            NetworkGraph.Normalization(
                scope, epsilon: epsilon, weight: builder.addWeight("\(name).weight", weight, shape: shape),
                bias: builder.addWeight("\(name).bias", bias, shape: shape)),
            extents: input.extents, layout: input.layout)
    }

    private func groupNormalization(_ node: ONNXNode) throws {
        let input = readable(try tensor(node, 0))
        let groups = node.integer("num_groups", default: 0)
        guard input.extents.count >= 2, input.extents[0] == 1, groups > 0, input.extents[1] % groups == 0 else {
            throw node.problem("has \(groups) groups for an input of \(input.extents)")
        }
        let channels = input.extents[1]
        // One parameter per group up to opset 20.
        func perChannel(_ values: [Float]) throws -> [Float] {
            if values.count == channels { return values }
            guard values.count == groups else { throw node.problem("has \(values.count) parameters") }
            return (0..<channels).map { values[$0 / (channels / groups)] }
        }
        normalize(
            node, input, .groups(groups), try perChannel(try constant(node, 1).floats),
            try perChannel(try constant(node, 2).floats), [channels], node.float("epsilon", default: 1e-5))
    }

    private func instanceNormalization(_ node: ONNXNode) throws {
        let input = readable(try tensor(node, 0))
        let (weight, bias) = (try constant(node, 1).floats, try constant(node, 2).floats)
        guard input.extents.count >= 3, input.extents[0] == 1, weight.count == input.extents[1],
            bias.count == input.extents[1]
        else { throw node.problem("has parameters that do not fit its input \(input.extents)") }
        normalize(
            node, input, .groups(weight.count), weight, bias, [weight.count], node.float("epsilon", default: 1e-5))
    }

    private func vectorNormalization(_ node: ONNXNode) throws {
        let input = array(try tensor(node, 0))
        let axis = try node.axis(node.integer("axis", default: -1), rank: input.extents.count)
        let order = node.integer("p", default: 2)
        guard order == 1 || order == 2 else { throw node.problem("has p = \(order); 1 and 2 are supported") }
        let norm = builder.add(
            "\(node.output.first ?? "").norm", input: input.node,
            NetworkGraph.Reduction(order == 1 ? .l1 : .l2, axes: [axis]))
        add(
            node, input: input, NetworkGraph.Combination(.divide, other: norm), extents: input.extents, layout: .array)
    }
}
#endif
