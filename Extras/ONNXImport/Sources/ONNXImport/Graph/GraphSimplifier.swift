#if ONNXImport
import Inference
import Lookalike

/// Makes fewer layers of a network: factors and activations move into the convolutions before them.
struct GraphSimplifier {
    private var nodes: [NetworkGraph.Node]
    private var weights: [String: GraphBuilder.Weight]
    private let sumsOfEqualMaps: Set<String>
    private let output: String

    init(_ builder: GraphBuilder, output: String) {
        nodes = builder.nodes
        weights = builder.weights
        sumsOfEqualMaps = builder.sumsOfEqualMaps
        self.output = output
    }

    /// The layers that the output needs, and their weights.
    mutating func simplified() -> (nodes: [NetworkGraph.Node], weights: [String: GraphBuilder.Weight]) {
        removeUnread()
        mergeScales()
        mergeBiases()
        mergeFactors()
        mergeActivations()
        mergeResiduals()
        // Activations behind a sum.
        mergeActivations()
        removeUnread()
        let used = Set(nodes.flatMap(\.tensorNames))
        return (nodes, weights.filter { used.contains($0.key) })
    }

    private mutating func removeUnread() {
        var needed: Set<String> = [output]
        for node in nodes.reversed() where needed.contains(node.name) {
            needed.formUnion([node.input] + node.otherInputs)
        }
        nodes.removeAll { !needed.contains($0.name) }
    }

    /// How often each node is read.
    private var readers: [String: Int] {
        var readers: [String: Int] = [output: 1]
        for node in nodes { for input in [node.input] + node.otherInputs { readers[input, default: 0] += 1 } }
        return readers
    }

    /// Merges each node into the one that makes its input, where `merge` can and nobody else reads it.
    private mutating func mergeIntoInputs(
        _ merge: (inout Self, _ into: NetworkGraph.Node, _ node: NetworkGraph.Node) -> (any LayerOperation)?
    ) {
        var readers = readers
        var places = Dictionary(uniqueKeysWithValues: nodes.enumerated().map { ($0.element.name, $0.offset) })
        var index = 0
        var merged: Set<Int> = []
        while index < nodes.count {
            let node = nodes[index]
            if let place = places[node.input], readers[node.input] == 1, node.input != output,
                let operation = merge(&self, nodes[place], node)
            {
                // The result takes the later place, where all that it reads is known.
                nodes[index] = NetworkGraph.Node(name: node.name, input: nodes[place].input, operation: operation)
                merged.insert(place)
                readers[node.input] = 0
                places[node.input] = nil
            }
            index += 1
        }
        nodes = nodes.enumerated().filter { !merged.contains($0.offset) }.map(\.element)
    }

    /// Batch normalization and the like: a factor and a summand per channel after a convolution.
    private mutating func mergeScales() {
        mergeIntoInputs { simplifier, before, node in
            guard var convolution = before.operation as? NetworkGraph.Convolution,
                let scale = node.operation as? NetworkGraph.Convolution,
                scale.groups == scale.outputs, scale.outputs == convolution.outputs, scale.kernel == 1,
                scale.stride == 1, scale.padding == 0, scale.residual == nil, !convolution.relu,
                convolution.activation == nil, convolution.residual == nil,
                let factors = simplifier.weights[scale.weight]?.values,
                let summands = simplifier.weights[scale.bias]?.values,
                var weight = simplifier.weights[convolution.weight], var bias = simplifier.weights[convolution.bias]
            else { return nil }
            let perOutput = weight.values.count / convolution.outputs
            for output in 0..<convolution.outputs {
                for index in (output * perOutput)..<((output + 1) * perOutput) {
                    weight.values[index] *= factors[output]
                }
                bias.values[output] = bias.values[output] * factors[output] + summands[output]
            }
            simplifier.weights[convolution.weight] = weight
            simplifier.weights[convolution.bias] = bias
            convolution.relu = scale.relu
            convolution.activation = scale.activation
            return convolution
        }
    }

    /// A constant that is added to the result of a linear layer.
    private mutating func mergeBiases() {
        let constants = Dictionary(
            uniqueKeysWithValues: nodes.compactMap { node -> (String, NetworkGraph.Constant)? in
                if let constant = node.operation as? NetworkGraph.Constant { (node.name, constant) } else { nil }
            })
        // The linear layer may be either side of the sum.
        for (index, node) in nodes.enumerated() {
            if let sum = node.operation as? NetworkGraph.Combination, sum.operator == .add, constants[node.input] != nil
            {
                nodes[index] = NetworkGraph.Node(
                    name: node.name, input: sum.other, operation: NetworkGraph.Combination(.add, other: node.input))
            }
        }
        mergeIntoInputs { simplifier, before, node in
            guard let linear = before.operation as? NetworkGraph.Linear,
                let sum = node.operation as? NetworkGraph.Combination,
                sum.operator == .add, let constant = constants[sum.other], constant.shape.last == linear.outputs,
                constant.shape.reduce(1, *) == linear.outputs, constant.shape.count <= 2,
                let values = simplifier.weights[constant.tensor]?.values,
                var bias = simplifier.weights[linear.bias]
            else { return nil }
            for index in values.indices { bias.values[index] += values[index] }
            simplifier.weights[linear.bias] = bias
            return linear
        }
    }

    /// Constants that the results of a linear layer are multiplied by, as LayerScale does (Touvron et al.: "Going
    /// Deeper with Image Transformers", ICCV 2021).
    private mutating func mergeFactors() {
        let constants = Dictionary(
            uniqueKeysWithValues: nodes.compactMap { node -> (String, NetworkGraph.Constant)? in
                if let constant = node.operation as? NetworkGraph.Constant { (node.name, constant) } else { nil }
            })
        var shared: [String: Int] = [:]
        for name in nodes.flatMap(\.tensorNames) { shared[name, default: 0] += 1 }
        mergeIntoInputs { simplifier, before, node in
            guard let linear = before.operation as? NetworkGraph.Linear,
                let product = node.operation as? NetworkGraph.Combination, product.operator == .multiply,
                let constant = constants[product.other], constant.shape.last == linear.outputs,
                constant.shape.reduce(1, *) == linear.outputs, constant.shape.count <= 2,
                shared[linear.weight] == 1, shared[linear.bias] == 1,
                let factors = simplifier.weights[constant.tensor]?.values,
                var weight = simplifier.weights[linear.weight], var bias = simplifier.weights[linear.bias]
            else { return nil }
            let inputs = weight.values.count / linear.outputs
            for output in factors.indices {
                for index in (output * inputs)..<((output + 1) * inputs) { weight.values[index] *= factors[output] }
                bias.values[output] *= factors[output]
            }
            simplifier.weights[linear.weight] = weight
            simplifier.weights[linear.bias] = bias
            return linear
        }
    }

    private mutating func mergeActivations() {
        mergeIntoInputs { _, before, node in
            guard var convolution = before.operation as? NetworkGraph.Convolution,
                let activation = node.operation as? NetworkGraph.Activation,
                !convolution.relu, convolution.activation == nil
            else { return nil }
            if activation == .clamp(atLeast: 0) { convolution.relu = true } else { convolution.activation = activation }
            return convolution
        }
    }

    /// A sum of which one side is a convolution that nobody else reads.
    private mutating func mergeResiduals() {
        var readers = readers
        var places: [String: Int] = [:]
        var merged: Set<Int> = []
        for index in nodes.indices {
            let node = nodes[index]
            defer { places[nodes[index].name] = index }
            guard let sum = node.operation as? NetworkGraph.Combination, sum.operator == .add, node.input != sum.other,
                sumsOfEqualMaps.contains(node.name)
            else { continue }
            // The later of both, since the other one is known there.
            let sides = [(node.input, sum.other), (sum.other, node.input)].sorted {
                (places[$0.0] ?? -1) > (places[$1.0] ?? -1)
            }
            for (side, other) in sides {
                guard let place = places[side], readers[side] == 1, side != output, places[other] != nil,
                    var convolution = nodes[place].operation as? NetworkGraph.Convolution, !convolution.relu,
                    convolution.activation == nil, convolution.residual == nil, convolution.groups == 1
                else { continue }
                convolution.residual = other
                nodes[index] = NetworkGraph.Node(
                    name: node.name, input: nodes[place].input, operation: convolution)
                merged.insert(place)
                readers[side] = 0
                break
            }
        }
        nodes = nodes.enumerated().filter { !merged.contains($0.offset) }.map(\.element)
    }
}
#endif
