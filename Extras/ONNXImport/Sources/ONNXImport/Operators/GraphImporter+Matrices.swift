#if ONNXImport
import Inference
import Lookalike

extension GraphImporter {
    static let matrixOperators: [String: Operator] = [
        "MatMul": { try $0.matrixProduct($1) },
        "Gemm": { try $0.generalMatrixProduct($1) },
    ]

    private func matrixProduct(_ node: ONNXNode) throws {
        let left = try tensor(node, 0)
        let right = try value(node, 1)
        let (a, b) = (left.extents, right.extents)
        guard a.count >= 2, b.count >= 2, a[a.count - 1] == b[b.count - 2],
            b.allSatisfy({ $0 > 0 }),
            let outer = Self.broadcast(Array(a.dropLast(2)), Array(b.dropLast(2)))
        else { throw node.problem("multiplies \(a) by \(b)") }
        let extents = outer + [a[a.count - 2], b[b.count - 1]]
        if case .constant(let constant) = right, constant.extents.count == 2 {
            let columns = constant.extents[1]
            let weight = Self.transposed(constant)
            let bias = [Float](repeating: 0, count: columns)
            return try linear(node, left, weight: weight, bias: bias, outputs: columns, extents: extents)
        }
        let (x, y) = (array(left), array(try tensor(node, 1)))
        add(node, input: x, NetworkGraph.MatrixProduct(other: y.node), extents: extents, layout: .array)
    }

    /// - Parameter weight: [outputs][inputs]
    private func linear(
        _ node: ONNXNode, _ input: ImportedTensor, weight: [Float], bias: [Float], outputs: Int, extents: [Int]
    ) throws {
        let name = node.output.first ?? ""
        let inputs = weight.count / outputs
        let biasName = builder.addWeight("\(name).bias", bias, shape: [outputs])
        guard input.layout == .mapChannelsLast else {
            let weightName = builder.addWeight("\(name).weight", weight, shape: [outputs, inputs])
            return add(
                node, input: array(input), NetworkGraph.Linear(weight: weightName, bias: biasName, outputs: outputs),
                extents: extents, layout: .array)
        }
        // A convolution of the pixels.
        let weightName = builder.addWeight("\(name).weight", weight, shape: [outputs, inputs, 1, 1])
        add(
            node, input: input,
            NetworkGraph.Convolution(
                weight: weightName, bias: biasName, outputs: outputs, kernel: 1, stride: 1, padding: 0),
            extents: extents, layout: .mapChannelsLast)
    }

    private static func transposed(_ constant: ConstantTensor) -> [Float] {
        let (rows, columns) = (constant.extents[0], constant.extents[1])
        let values = constant.floats
        var result = [Float](repeating: 0, count: values.count)
        for row in 0..<rows {
            for column in 0..<columns { result[column * rows + row] = values[row * columns + column] }
        }
        return result
    }

    private func generalMatrixProduct(_ node: ONNXNode) throws {
        var left = try tensor(node, 0)
        let right = try value(node, 1)
        guard left.extents.count == 2, right.extents.count == 2 else {
            throw node.problem("multiplies \(left.extents) by \(right.extents)")
        }
        let name = node.output.first ?? ""
        if node.integer("transA", default: 0) != 0 {
            let source = readable(left)
            let (rows, columns) = (left.extents[0], left.extents[1])
            let layer = builder.add(
                "\(name).left", input: source.node,
                NetworkGraph.Rearrangement(shape: [columns, rows], strides: [1, columns]))
            left = ImportedTensor(node: layer, extents: [columns, rows], layout: .array)
        }
        let isTransposed = node.integer("transB", default: 0) != 0
        let (alpha, beta) = (node.float("alpha", default: 1), node.float("beta", default: 1))
        let outputs = right.extents[isTransposed ? 0 : 1]
        guard left.extents[1] == right.extents[isTransposed ? 1 : 0], outputs > 0 else {
            throw node.problem("multiplies \(left.extents) by \(right.extents)")
        }
        guard case .constant(let constant) = right else {
            throw node.problem("multiplies by “\(node.input[1])”, which depends on the image; that is not supported")
        }
        let weight = (isTransposed ? constant.floats : Self.transposed(constant)).map { alpha * $0 }
        let extents = [left.extents[0], outputs]
        let addend = try optional(node, 2)
        var bias = [Float](repeating: 0, count: outputs)
        if case .constant(let constant)? = addend,
            constant.count == 1 || constant.count == outputs && constant.extents.last == outputs
        {
            let values = constant.floats
            bias = bias.indices.map { beta * values[values.count == 1 ? 0 : $0] }
            return try linear(node, left, weight: weight, bias: bias, outputs: outputs, extents: extents)
        }
        try linear(node, left, weight: weight, bias: bias, outputs: outputs, extents: extents)
        guard let addend else { return }
        guard beta == 1, Self.broadcast(extents, addend.extents) == extents else {
            throw node.problem("adds \(beta) times \(addend.extents) to \(extents); that is not supported")
        }
        let product = array(tensor(values[name] ?? addend, name: name))
        let summand = array(tensor(addend, name: "\(name).addend"))
        let sum = builder.add(
            "\(name).sum", input: product.node, NetworkGraph.Combination(.add, other: summand.node))
        set(node, .tensor(ImportedTensor(node: sum, extents: extents, layout: .array)))
    }
}
#endif
