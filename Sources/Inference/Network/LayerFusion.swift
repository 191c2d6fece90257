/// Makes fewer layers of those of a transformer, which read and write less memory: attention as one, and functions and
/// sums within the linear layer before them.
///
/// Weights were packed before, and are shared. Names of tensors that linear layers read stay, so that their ranges can
/// be measured.
struct LayerFusion {
    private var layers: [NetworkLayer]
    /// Each layer that is still there by its name, and how often it is read.
    private var places: [String: Int] = [:]
    private var readers: [String: Int] = [:]

    init(_ layers: [NetworkLayer]) {
        self.layers = layers
        for (index, layer) in layers.enumerated() { places[layer.name] = index }
        for input in layers.flatMap(\.inputs) { readers[input, default: 0] += 1 }
    }

    /// - Parameter kept: what is read besides by layers.
    func fused(keeping kept: Set<String>) -> [NetworkLayer] {
        var copy = self
        for name in kept { copy.readers[name, default: 0] += 1 }
        copy.fuse()
        return copy.layers
    }

    private mutating func fuse() {
        let unread = Set(layers.map(\.name)).filter { readers[$0] == nil }
        for index in layers.indices {
            if let fused = attention(index) ?? function(index) ?? sum(index) {
                for input in layers[index].inputs { readers[input, default: 0] -= 1 }
                for input in fused.inputs { readers[input, default: 0] += 1 }
                layers[index] = fused
            }
        }
        // What nobody reads anymore.
        layers = layers.reversed().filter { layer in
            guard readers[layer.name, default: 0] > 0 || unread.contains(layer.name) else {
                for input in layer.inputs { readers[input, default: 0] -= 1 }
                return false
            }
            return true
        }.reversed()
    }

    private func layer<Kind: Layer>(_ name: String, _: Kind.Type) -> (inputs: [String], layer: Kind)? {
        guard let place = places[name], let layer = layers[place].layer as? Kind else { return nil }
        return (layers[place].inputs, layer)
    }

    /// The linear layer that alone makes a tensor for one reader, perhaps in another shape.
    private func linear(_ name: String) -> (inputs: [String], layer: LinearLayer)? {
        guard readers[name] == 1 else { return nil }
        if let reshaped = layer(name, RearrangementLayer.self), reshaped.layer.isReshape {
            return linear(reshaped.inputs[0])
        }
        return layer(name, LinearLayer.self)
    }

    private func function(_ index: Int) -> NetworkLayer? {
        let node = layers[index]
        guard let function = node.layer as? ActivationLayer, let before = linear(node.inputs[0]),
            before.layer.outputShape == function.outputShape,
            let fused = before.layer.applying(function.activation)
        else { return nil }
        return NetworkLayer(name: node.name, inputs: before.inputs, layer: fused)
    }

    private func sum(_ index: Int) -> NetworkLayer? {
        let node = layers[index]
        guard let sum = node.layer as? CombinationLayer, sum.combination.operator == .add else { return nil }
        for (side, other) in [(node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])] {
            guard let before = linear(side), let place = places[other],
                layers[place].layer.outputShape.elementCount == sum.outputShape.elementCount,
                let fused = before.layer.addingInput(as: sum.outputShape)
            else { continue }
            return NetworkLayer(name: node.name, inputs: before.inputs + [other], layer: fused)
        }
        return nil
    }

    /// A tensor that is made of another by rearranging it, and by a factor.
    private struct Operand {
        var name: String
        var view: ArrayView
        var factor: Float = 1
    }

    /// The value of a constant of one element.
    private func scalar(_ name: String) -> Float? {
        guard let place = places[name], let constant = layers[place].layer.constant,
            layers[place].layer.outputShape.elementCount == 1
        else { return nil }
        return constant.pointer[0]
    }

    /// A factor, and what is multiplied by it.
    private func product(_ name: String) -> (input: String, factor: Float)? {
        guard let product = layer(name, CombinationLayer.self), let place = places[product.inputs[0]],
            layers[place].layer.outputShape == product.layer.outputShape, let value = scalar(product.inputs[1])
        else { return nil }
        switch product.layer.combination.operator {
        case .multiply: return (product.inputs[0], value)
        case .divide: return (product.inputs[0], 1 / value)
        default: return nil
        }
    }

    private func operand(_ name: String) -> Operand? {
        guard let place = places[name], layers[place].layer.outputShape.isRowMajor else { return nil }
        if let product = product(name), var operand = operand(product.input) {
            operand.factor *= product.factor
            return operand
        }
        if let rearranged = layer(name, RearrangementLayer.self), var operand = operand(rearranged.inputs[0]),
            let view = rearranged.layer.view.of(operand.view)
        {
            operand.view = view
            return operand
        }
        return Operand(name: name, view: ArrayView(extents: layers[place].layer.outputShape.extents))
    }

    /// softmax(factor · q · k + mask) · v, where all but the end of it is read by nobody else. What rearranges the
    /// result is part of it. It multiplies in int8 where linear layers do whose results it reads.
    private func attention(_ index: Int) -> NetworkLayer? {
        let node = layers[index]
        if let rearranged = node.layer as? RearrangementLayer, !rearranged.isReshape, readers[node.inputs[0]] == 1,
            let place = places[node.inputs[0]], let attention = layers[place].layer as? AttentionLayer,
            let fused = attention.writing(as: rearranged)
        {
            return NetworkLayer(name: node.name, inputs: layers[place].inputs, layer: fused)
        }
        guard let end = node.layer as? MatrixProductLayer, readers[node.inputs[0]] == 1,
            let softmax = layer(node.inputs[0], SoftmaxLayer.self), softmax.layer.inner == 1,
            let (scores, mask) = scores(softmax.inputs[0]),
            scores.shape.elementCount == softmax.layer.outputShape.elementCount,
            let q = operand(scores.inputs[0]), let k = operand(scores.inputs[1]), let v = operand(node.inputs[1]),
            v.factor == 1,
            let fused = AttentionLayer(
                q: q.view, k: k.view, v: v.view, factor: scores.factor * q.factor * k.factor,
                quantizes: [q, k, v].allSatisfy { layer($0.name, LinearLayer.self)?.layer.isQuantized == true },
                mask: mask.flatMap { name in places[name].map { layers[$0].layer.outputShape.extents } },
                outputShape: end.outputShape)
        else { return nil }
        return NetworkLayer(
            name: node.name, inputs: [q.name, k.name, v.name] + (mask.map { [$0] } ?? []), layer: fused)
    }

    /// A matrix product that nobody else reads, and a factor.
    private struct Scores {
        var inputs: [String]
        var shape: TensorShape
        var factor: Float
    }

    /// The scores of attention, perhaps with a mask that is added to them.
    private func scores(_ name: String) -> (scores: Scores, mask: String?)? {
        if let scores = maskless(name) { return (scores, nil) }
        guard let sum = layer(name, CombinationLayer.self), sum.layer.combination.operator == .add,
            readers[name] == 1
        else { return nil }
        for (side, mask) in [(sum.inputs[0], sum.inputs[1]), (sum.inputs[1], sum.inputs[0])] {
            if let scores = maskless(side) { return (scores, mask) }
        }
        return nil
    }

    private func maskless(_ name: String) -> Scores? {
        guard readers[name] == 1 else { return nil }
        if let product = product(name), var scores = maskless(product.input) {
            scores.factor *= product.factor
            return scores
        }
        return layer(name, MatrixProductLayer.self).map {
            Scores(inputs: $0.inputs, shape: $0.layer.outputShape, factor: 1)
        }
    }
}
