#if ONNXImport
import Inference
import Lookalike

extension GraphImporter {
    static let elementOperators: [String: Operator] = {
        var operators: [String: Operator] = [
            "Relu": { try $0.activation($1, .clamp(atLeast: 0)) },
            "Clip": { try $0.clip($1) },
            "LeakyRelu": { try $0.activation($1, .init(.leakyReLU, alpha: $1.float("alpha", default: 0.01))) },
            "Elu": { try $0.activation($1, .init(.elu, alpha: $1.float("alpha", default: 1))) },
            "HardSigmoid": {
                try $0.activation(
                    $1,
                    .init(.hardSigmoid, alpha: $1.float("alpha", default: 0.2), beta: $1.float("beta", default: 0.5)))
            },
            "Gelu": {
                try $0.activation(
                    $1, .init($1.string("approximate", default: "none") == "tanh" ? .geluTanh : .gelu))
            },
            "Identity": { $0.set($1, try $0.value($1, 0)) },
            "Dropout": { $0.set($1, try $0.value($1, 0)) },
            "Cast": { try $0.cast($1) },
            "IsNaN": { try $0.isNaN($1) },
            "Where": { try $0.choose($1) },
            "PRelu": { try $0.combination($1, .prelu) },
        ]
        let functions: [String: NetworkGraph.Activation.Kind] = [
            "Sigmoid": .sigmoid, "HardSwish": .hardSwish, silu: .silu, "Mish": .mish, "Softplus": .softplus,
            "Tanh": .tanh, "Erf": .erf, "Exp": .exp, "Log": .log, "Sqrt": .sqrt, "Abs": .abs, "Neg": .negate,
            "Reciprocal": .reciprocal,
        ]
        for (name, kind) in functions { operators[name] = { try $0.activation($1, .init(kind)) } }
        let combinations: [String: NetworkGraph.Combination.Operator] = [
            "Add": .add, "Sub": .subtract, "Mul": .multiply, "Div": .divide, "Pow": .power, "Max": .maximum,
            "Min": .minimum, "Sum": .add,
        ]
        for (name, kind) in combinations { operators[name] = { try $0.combination($1, kind) } }
        return operators
    }()

    /// The name that ``OperatorPatterns`` gives x · sigmoid(x), which ONNX has no operator for.
    static let silu = "Silu"

    func activation(_ node: ONNXNode, _ activation: NetworkGraph.Activation) throws {
        var input = try tensor(node, 0)
        if input.layout == .image { input = readable(input) }
        if input.layout == .imageChannelsLast { input = array(input) }
        guard activation.alpha.isFinite, activation.beta.isFinite else { throw node.problem("has infinite parameters") }
        add(node, input: input, activation, extents: input.extents, layout: input.layout)
    }

    private func clip(_ node: ONNXNode) throws {
        let (low, high) = (try optionalConstant(node, 1)?.scalar, try optionalConstant(node, 2)?.scalar)
        let limit = Float.greatestFiniteMagnitude
        try activation(node, .init(.clamp, alpha: max(low ?? -limit, -limit), beta: min(high ?? limit, limit)))
    }

    private func cast(_ node: ONNXNode) throws {
        guard quantized[node.input.first ?? ""]?.scale ?? 1 == 1 else {
            throw node.problem("makes numbers of quantized ones; that is not supported")
        }
        let type = node.integer("to", default: 0)
        if type == 9, readsTexts { return try compare(node, .unequal, with: 0) }
        // To float, half, double or bfloat16: all are computed in float32.
        guard [1, 10, 11, 16].contains(type) || whole.contains(node.input.first ?? "") else {
            throw node.problem("makes integers of what depends on the image; that is not supported")
        }
        set(node, try value(node, 0))
    }

    /// Exporters guard attention against rows that are masked altogether.
    private func isNaN(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        guard builder.nodes.last(where: { $0.name == input.node })?.operation is NetworkGraph.Softmax else {
            throw node.problem("is supported for the result of a softmax alone, which is always a number")
        }
        set(node, .constant(.init(integers: Array(repeating: 0, count: 1), extents: input.extents.map { _ in 1 })))
    }

    /// A choice that is the same for all images.
    private func choose(_ node: ONNXNode) throws {
        guard case .constant(let mask) = try value(node, 0) else { return try chooseByElement(node) }
        let chosen = Set(mask.floats.map { $0 != 0 })
        guard chosen.count == 1, let takesFirst = chosen.first else {
            if readsTexts { return try chooseByElement(node) }
            throw node.problem("mixes elements of two tensors of which one depends on the image; that is not supported")
        }
        let result = try value(node, takesFirst ? 1 : 2)
        let other = try value(node, takesFirst ? 2 : 1)
        guard let extents = Self.broadcast(result.extents, other.extents).flatMap({ Self.broadcast($0, mask.extents) }),
            extents == result.extents
        else { throw node.problem("repeats \(result.extents); that is not supported") }
        set(node, result)
    }

    // MARK: Two operands

    private func combination(_ node: ONNXNode, _ kind: NetworkGraph.Combination.Operator) throws {
        var result = try value(node, 0)
        if node.input.count == 1 { return set(node, result) }
        for index in 1..<node.input.count {
            let name = index == node.input.count - 1 ? node.output.first ?? "" : "\(node.displayName).\(index)"
            result = .tensor(try combine(node, name, kind, result, try value(node, index), index))
        }
        set(node, result)
    }

    private func combine(
        _ node: ONNXNode, _ name: String, _ kind: NetworkGraph.Combination.Operator, _ left: ImportedValue,
        _ right: ImportedValue, _ index: Int
    ) throws -> ImportedTensor {
        guard let extents = Self.broadcast(left.extents, right.extents) else {
            throw node.problem("combines \(left.extents) with \(right.extents)")
        }
        switch (left, right) {
        case (.tensor(let tensor), .constant(let constant)):
            if let scaled = try scaled(name, kind, tensor, constant, constantFirst: false) { return scaled }
        case (.constant(let constant), .tensor(let tensor)):
            if let scaled = try scaled(name, kind, tensor, constant, constantFirst: true) { return scaled }
        default: break
        }
        let pair = try aligned(
            operand(left, beside: right, "\(name).left"), operand(right, beside: left, "\(name).right"))
        let layer = builder.add(
            name, input: pair.left.node, NetworkGraph.Combination(kind, other: pair.right.node))
        if kind == .add, pair.left.layout != .array, pair.left.extents == pair.right.extents {
            builder.sumsOfEqualMaps.insert(layer)
        }
        return ImportedTensor(node: layer, extents: extents, layout: pair.left.layout)
    }

    /// A constant beside a map gets the map's axes, so that it can become a map.
    private func operand(_ value: ImportedValue, beside other: ImportedValue, _ name: String) -> ImportedTensor {
        if case .constant(let constant) = value, case .tensor(let tensor) = other, tensor.layout != .array,
            let shape = Self.mapShape(constant.extents, beside: tensor)
        {
            let channelsFirst = Self.isChannelsLast(tensor) ? Self.channelsFirst(constant.reshaped(shape)) : constant
            let array = self.tensor(
                .constant(channelsFirst.reshaped(Self.isChannelsLast(tensor) ? channelsFirst.extents : shape)),
                name: name)
            var map = ImportedTensor(
                node: builder.add("\(name).map", input: array.node, NetworkGraph.ToMap()), extents: array.extents,
                layout: .map)
            if Self.isChannelsLast(tensor) { map = rotated(map) }
            return map
        }
        return tensor(value, name: name)
    }

    private static func isChannelsLast(_ tensor: ImportedTensor) -> Bool {
        tensor.layout == .mapChannelsLast || tensor.layout == .imageChannelsLast
    }

    /// The shape of four axes of a constant that is combined with a map.
    private static func mapShape(_ extents: [Int], beside tensor: ImportedTensor) -> [Int]? {
        guard extents.count <= 4, tensor.extents.count == 4 else { return nil }
        let shape = Array(repeating: 1, count: 4 - extents.count) + extents
        return shape[0] == 1 ? shape : nil
    }

    private static func channelsFirst(_ constant: ConstantTensor) -> ConstantTensor {
        let e = constant.extents
        var places: [Int] = []
        for channel in 0..<e[3] { for pixel in 0..<(e[1] * e[2]) { places.append(pixel * e[3] + channel) } }
        return constant.picking(places, extents: [1, e[3], e[1], e[2]])
    }

    /// A map times or plus a constant per channel, as a layer that can be merged into a convolution before it.
    private func scaled(
        _ name: String, _ kind: NetworkGraph.Combination.Operator, _ tensor: ImportedTensor,
        _ constant: ConstantTensor, constantFirst: Bool
    ) throws -> ImportedTensor? {
        guard tensor.layout != .array, var shape = Self.mapShape(constant.extents, beside: tensor) else { return nil }
        let isLast = Self.isChannelsLast(tensor)
        if isLast { shape = [1, shape[3], shape[1], shape[2]] }
        let input = isLast ? rotated(tensor) : tensor
        guard let map = try map(input) else { return nil }
        let channels = map.extents[1]
        guard shape[2] == 1, shape[3] == 1, shape[1] == 1 || shape[1] == channels else { return nil }
        let values = shape[1] == 1 ? [Float](repeating: constant.floats[0], count: channels) : constant.floats
        let ones = [Float](repeating: 1, count: channels)
        let zeros = [Float](repeating: 0, count: channels)
        var result: ImportedTensor
        switch (kind, constantFirst) {
        case (.add, _): result = scaleChannels(name, map, scale: ones, shift: values)
        case (.subtract, false): result = scaleChannels(name, map, scale: ones, shift: values.map { -$0 })
        case (.subtract, true): result = scaleChannels(name, map, scale: ones.map { -$0 }, shift: values)
        case (.multiply, _): result = scaleChannels(name, map, scale: values, shift: zeros)
        case (.divide, false) where values.allSatisfy { $0 != 0 }:
            result = scaleChannels(name, map, scale: values.map { 1 / $0 }, shift: zeros)
        default: return nil
        }
        if isLast { result = rotated(result) }
        return result
    }

    /// Both operands as maps, or both as arrays.
    private func aligned(
        _ left: ImportedTensor, _ right: ImportedTensor
    ) throws -> (left: ImportedTensor, right: ImportedTensor) {
        switch (left.layout, right.layout) {
        case (.map, .map), (.mapChannelsLast, .mapChannelsLast), (.array, .array): return (left, right)
        case (.map, _) where Self.isMapShape(right), (_, .map) where Self.isMapShape(left),
            (.image, _) where Self.isMapShape(right), (_, .image) where Self.isMapShape(left):
            guard let a = try map(left), let b = try map(right) else { break }
            return (a, b)
        default: break
        }
        return (array(left), array(right))
    }

    private static func isMapShape(_ tensor: ImportedTensor) -> Bool {
        tensor.extents.count == 4 && tensor.extents[0] == 1
    }

    /// The shape of a combination; nil if the shapes do not fit each other.
    static func broadcast(_ a: [Int], _ b: [Int]) -> [Int]? {
        let rank = max(a.count, b.count)
        let left = Array(repeating: 1, count: rank - a.count) + a
        let right = Array(repeating: 1, count: rank - b.count) + b
        guard zip(left, right).allSatisfy({ $0 == $1 || $0 == 1 || $1 == 1 }) else { return nil }
        return zip(left, right).map { $0 == 1 ? $1 : $0 }
    }
}

extension NetworkGraph.Activation {
    /// For 0 this is ReLU: no finite number exceeds the upper limit.
    static func clamp(atLeast low: Float) -> Self { .init(.clamp, alpha: low, beta: .greatestFiniteMagnitude) }
}
#endif
