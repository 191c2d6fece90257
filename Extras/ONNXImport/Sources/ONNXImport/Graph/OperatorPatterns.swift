#if ONNXImport
/// Operators that exporters write as several nodes, put together again: x · sigmoid(x), hard swish, GELU and Mish.
///
/// The nodes that are not needed anymore stay; what nobody reads is left out later.
struct OperatorPatterns {
    private var nodes: [ONNXNode]
    /// The node that makes a name.
    private var makers: [String: Int] = [:]
    /// Scalars of the graph: initializers and constants.
    private let scalars: [String: Float]

    /// - Parameter scalars: the names of tensors of one element, with their values.
    init(_ nodes: [ONNXNode], scalars: [String: Float]) {
        self.nodes = nodes
        self.scalars = scalars
        for (index, node) in nodes.enumerated() {
            for output in node.output where !output.isEmpty { makers[output] = index }
        }
    }

    /// The nodes, with one operator at the end of each pattern.
    func simplified() -> [ONNXNode] {
        nodes.map { node in
            guard let (kind, input) = match(node) else { return node }
            var single = ONNXNode()
            single.name = node.name
            single.opType = kind
            single.input = [input]
            single.output = node.output
            return single
        }
    }

    private func match(_ node: ONNXNode) -> (kind: String, input: String)? {
        product(node) ?? hardSwish(node) ?? gelu(node)
    }

    private func maker(_ name: String, _ kind: String) -> ONNXNode? {
        makers[name].map { nodes[$0] }.flatMap { $0.opType == kind && $0.domain.isEmpty ? $0 : nil }
    }

    /// The other input of a node of this kind that has the scalar as an input.
    private func partner(_ name: String, _ kind: String, of scalar: Float) -> String? {
        guard let node = maker(name, kind), node.input.count == 2 else { return nil }
        return partner(node, of: scalar)
    }

    private func partner(_ node: ONNXNode, of scalar: Float) -> String? {
        func isScalar(_ name: String) -> Bool {
            // As near as half precision stores it.
            scalars[name].map { abs($0 - scalar) <= 0x1p-11 * abs(scalar) } ?? false
        }
        if isScalar(node.input[1]) { return node.input[0] }
        return node.opType != "Div" && isScalar(node.input[0]) ? node.input[1] : nil
    }

    /// x · sigmoid(x), x · hard sigmoid(x), and x · tanh(softplus(x)).
    private func product(_ node: ONNXNode) -> (String, String)? {
        guard node.opType == "Mul", node.input.count == 2 else { return nil }
        for (x, function) in [(node.input[0], node.input[1]), (node.input[1], node.input[0])] {
            if let sigmoid = maker(function, "Sigmoid"), sigmoid.input.first == x { return (GraphImporter.silu, x) }
            if let sigmoid = maker(function, "HardSigmoid"), sigmoid.input.first == x,
                abs(sigmoid.float("alpha", default: 0.2) - 1 / 6) < 1e-5,
                sigmoid.float("beta", default: 0.5) == 0.5
            {
                return ("HardSwish", x)
            }
            if let tanh = maker(function, "Tanh"), let softplus = tanh.input.first.flatMap({ maker($0, "Softplus") }),
                softplus.input.first == x
            {
                return ("Mish", x)
            }
        }
        return nil
    }

    /// x · clip(x + 3, 0, 6) / 6
    private func hardSwish(_ node: ONNXNode) -> (String, String)? {
        guard node.opType == "Div", node.input.count == 2, let numerator = partner(node, of: 6),
            let product = maker(numerator, "Mul"), product.input.count == 2
        else { return nil }
        for (x, function) in [(product.input[0], product.input[1]), (product.input[1], product.input[0])] {
            guard let clip = maker(function, "Clip"), clip.input.count == 3, scalars[clip.input[1]] == 0,
                scalars[clip.input[2]] == 6, partner(clip.input[0], "Add", of: 3) == x
            else { continue }
            return ("HardSwish", x)
        }
        return nil
    }

    /// x · (1 + erf(x / √2)) / 2, in the orders in which the factors are written.
    private func gelu(_ node: ONNXNode) -> (String, String)? {
        guard node.opType == "Mul", node.input.count == 2 else { return nil }
        if let product = partner(node, of: 0.5), let mul = maker(product, "Mul"), mul.input.count == 2 {
            for (x, factor) in [(mul.input[0], mul.input[1]), (mul.input[1], mul.input[0])]
            where isOnePlusErf(factor, x) {
                return ("Gelu", x)
            }
        }
        for (half, factor) in [(node.input[0], node.input[1]), (node.input[1], node.input[0])] {
            if let x = partner(half, "Mul", of: 0.5), isOnePlusErf(factor, x) { return ("Gelu", x) }
        }
        return nil
    }

    private func isOnePlusErf(_ name: String, _ x: String) -> Bool {
        guard let sum = partner(name, "Add", of: 1), let erf = maker(sum, "Erf"), let scaled = erf.input.first else {
            return false
        }
        return partner(scaled, "Div", of: Float(2.0.squareRoot())) == x
            || partner(scaled, "Mul", of: Float(0.5.squareRoot())) == x
    }
}
#endif
