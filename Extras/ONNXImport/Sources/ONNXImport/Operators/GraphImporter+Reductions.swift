#if ONNXImport
import Inference
import Lookalike

extension GraphImporter {
    static let reductionOperators: [String: Operator] = [
        "ReduceMean": { try $0.reduction($1, .mean) },
        "ReduceSum": { try $0.reduction($1, .sum) },
        "ReduceL1": { try $0.reduction($1, .l1) },
        "ReduceL2": { try $0.reduction($1, .l2) },
        "ReduceSumSquare": { try $0.reduction($1, .squares) },
        "ReduceMax": { try $0.reduction($1, .maximum) },
        "ReduceMin": { try $0.reduction($1, .minimum) },
        "Softmax": { try $0.softmax($1) },
        "LogSoftmax": { try $0.softmax($1) },
    ]

    private func reduction(_ node: ONNXNode, _ function: NetworkGraph.Reduction.Function) throws {
        let input = try tensor(node, 0)
        let rank = input.extents.count
        var axes = try (integers(node, "axes", input: 1) ?? []).map { try node.axis($0, rank: rank) }.sorted()
        if axes.isEmpty {
            if node.integer("noop_with_empty_axes", default: 0) != 0 { return set(node, .tensor(input)) }
            axes = Array(0..<rank)
        }
        let keeps = node.integer("keepdims", default: 1) != 0
        let reduced = input.extents.enumerated().map { axes.contains($0.offset) ? 1 : $0.element }
        let remaining = keeps ? reduced : input.extents.indices.filter { !axes.contains($0) }.map { input.extents[$0] }
        let name = node.output.first ?? ""
        var result: ImportedTensor
        let isPooling = function == .mean || function == .maximum
        if isPooling, input.layout == .map && axes == [2, 3] || input.layout == .mapChannelsLast && axes == [1, 2] {
            let map = input.layout == .map ? input : rotated(input)
            let layer = builder.add(
                keeps ? name : "\(name).pool", input: map.node,
                Self.globalPooling(map, mean: function == .mean))
            result = ImportedTensor(node: layer, extents: [1, map.extents[1], 1, 1], layout: .map)
            if input.layout == .mapChannelsLast { result = rotated(result) }
        } else {
            let source = readable(input)
            let layer = builder.add(
                keeps ? name : "\(name).reduced", input: source.node, NetworkGraph.Reduction(function, axes: axes))
            result = ImportedTensor(node: layer, extents: reduced, layout: .array)
        }
        if keeps { return set(node, .tensor(result)) }
        rearrange(node, result, shape: remaining, strides: Self.strides(remaining))
    }

    private func softmax(_ node: ONNXNode) throws {
        let input = readable(try tensor(node, 0))
        let extents = input.extents
        let axis = try node.axis(node.integer("axis", default: opset < 13 ? 1 : -1), rank: extents.count)
        let name = node.output.first ?? ""
        let isLog = node.opType == "LogSoftmax"
        let layer: String
        if opset < 13, extents[(axis + 1)...].contains(where: { $0 != 1 }) {
            // Older versions normalize over all axes from this one on.
            let rows = [extents[..<axis].reduce(1, *), extents[axis...].reduce(1, *)]
            let matrix = builder.add(
                "\(name).rows", input: input.node, NetworkGraph.Rearrangement(shape: rows, strides: Self.strides(rows)))
            layer = builder.add(
                name, input: softmax("\(name).softmax", of: matrix, axis: 1, isLog: isLog),
                NetworkGraph.Rearrangement(shape: extents, strides: Self.strides(extents)))
        } else {
            layer = softmax(name, of: input.node, axis: axis, isLog: isLog)
        }
        set(node, .tensor(ImportedTensor(node: layer, extents: extents, layout: .array)))
    }

    /// The logarithm is x − max x − log Σ exp(x − max x): that of a softmax would be lost where the softmax is 0 as a
    /// float.
    private func softmax(_ name: String, of input: String, axis: Int, isLog: Bool) -> String {
        guard isLog else { return builder.add(name, input: input, NetworkGraph.Softmax(axis: axis)) }
        let largest = builder.add("\(name).max", input: input, NetworkGraph.Reduction(.maximum, axes: [axis]))
        let below = builder.add("\(name).below", input: input, NetworkGraph.Combination(.subtract, other: largest))
        let powers = builder.add("\(name).exp", input: below, NetworkGraph.Activation(.exp))
        let sum = builder.add("\(name).sum", input: powers, NetworkGraph.Reduction(.sum, axes: [axis]))
        let log = builder.add("\(name).log", input: sum, NetworkGraph.Activation(.log))
        return builder.add(name, input: below, NetworkGraph.Combination(.subtract, other: log))
    }
}
#endif
