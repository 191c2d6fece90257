#if ONNXImport
import Inference
import Lookalike

/// What networks for texts have besides: whole numbers and truth values that depend on the text.
extension GraphImporter {
    static let textOperators: [String: Operator] = [
        "ArgMax": { try $0.placeOfMaximum($1) },
        "GatherND": { try $0.lookUpPlaces($1) },
        "Equal": { try $0.compare($1, .equal) },
        "Less": { try $0.compare($1, .less) },
        "LessOrEqual": { try $0.compare($1, .atMost) },
        "Greater": { try $0.compare($1, .less, isSwapped: true) },
        "GreaterOrEqual": { try $0.compare($1, .atMost, isSwapped: true) },
        "Not": { try $0.compare($1, .equal, with: 0) },
        "And": { try $0.combineArrays($1, .multiply) },
        "Or": { try $0.combineArrays($1, .maximum) },
    ]

    /// Finds the inputs that are a text: its numbers, which of them are the text's own, and what is the same for all.
    ///
    /// - Parameter likelyLength: the length where the graph gives none.
    /// - Returns: how many numbers a text has.
    func addText(_ graph: ONNXGraph, length likelyLength: Int?) throws -> Int {
        readsTexts = true
        // Constants of the file become layers later.
        builder.weightPrefix = TextGraph.tensorPrefix + "network."
        var length: Int?
        let inputs = graph.input.filter { values[$0.name] == nil }
        for input in inputs {
            let shape = input.type.tensorType.shape.dim
            let element = ConstantTensor.Element(rawValue: input.type.tensorType.elemType)
            guard let element, [.int32, .int64].contains(element), shape.count == 2 else {
                throw ImportError.Reason.graph(
                    "its input “\(input.name)” is not the numbers of texts: a matrix of integers is needed. "
                        + "--text-tensor names an output that needs no other input")
            }
            func extent(_ axis: Int) -> Int? {
                if case .dimValue(let value)? = shape[axis].value, value > 0 {
                    Int(truncatingIfNeeded: value)
                } else {
                    nil
                }
            }
            guard extent(0) ?? 1 == 1 else {
                throw ImportError.Reason.graph(
                    "its input “\(input.name)” takes \(extent(0) ?? 0) texts; export the network with a batch of one, "
                        + "or of any size")
            }
            guard length == nil || extent(1) == nil || length == extent(1) else {
                throw ImportError.Reason.graph("its inputs take texts of different lengths")
            }
            length = length ?? extent(1)
        }
        guard let length = length ?? likelyLength else {
            throw ImportError.Reason.graph("it takes texts of any length; --text-length gives the one to use")
        }
        guard (1...4096).contains(length) else {
            throw ImportError.Reason.graph("it takes texts of \(length) numbers; 1…4096 are supported")
        }
        var hasNumbers = false
        for input in inputs {
            let name = input.name.lowercased()
            if name.contains("position") {
                values[input.name] = .constant(.init(integers: Array(0..<length), extents: [1, length]))
            } else if name.contains("type") || name.contains("segment") {
                values[input.name] = .constant(
                    .init(integers: Array(repeating: 0, count: length), extents: [1, length]))
            } else {
                let isMask = name.contains("mask")
                guard isMask || !hasNumbers else {
                    throw ImportError.Reason.graph(
                        "its inputs “\(inputs.map(\.name))” are more than a text and its mask")
                }
                if !isMask { hasNumbers = true }
                let layer = builder.add(
                    input.name, input: "image",
                    NetworkGraph.Rearrangement(
                        shape: [1, length], strides: [length, 1], offset: isMask ? length : 0))
                values[input.name] = .tensor(ImportedTensor(node: layer, extents: [1, length], layout: .array))
                whole.insert(input.name)
            }
        }
        guard hasNumbers else { throw ImportError.Reason.graph("it has no input for the numbers of texts") }
        return length
    }

    /// Whole numbers stay whole when they are moved, added and multiplied.
    func noteWhole(_ node: ONNXNode) {
        guard readsTexts else { return }
        let keeps: Set = [
            "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Concat", "Expand", "Gather",
            "GatherND", "Identity", "Cast", "Add", "Sub", "Mul", "Max", "Min", "Sum", "Abs", "Neg", "ReduceSum",
            "ReduceMax", "ReduceMin", "Where", "Tile", "Clip",
        ]
        let areWhole = node.input.enumerated().allSatisfy { index, name in
            switch values[name] {
            case .constant(let constant)?: constant.integers != nil
            case .tensor?: whole.contains(name)
            case nil: name.isEmpty
            }
        }
        let makes: Set = [
            "ArgMax", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or",
        ]
        let castsToWhole = node.opType == "Cast" && ![1, 10, 11, 16].contains(node.integer("to", default: 0))
        if makes.contains(node.opType) || castsToWhole || keeps.contains(node.opType) && areWhole {
            whole.formUnion(node.output)
        }
    }

    // MARK: Places

    private func placeOfMaximum(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        let axis = try node.axis(node.integer("axis", default: 0), rank: input.extents.count)
        guard node.integer("select_last_index", default: 0) == 0 else {
            throw node.problem("takes the last of several places; that is not supported")
        }
        let layer = builder.add(
            "\(node.output.first ?? "").place", input: array(input).node,
            NetworkGraph.Reduction(.placeOfMaximum, axes: [axis]))
        var extents = input.extents
        extents[axis] = 1
        let result = ImportedTensor(node: layer, extents: extents, layout: .array)
        if node.integer("keepdims", default: 1) == 0 { extents.remove(at: axis) }
        rearrange(node, result, shape: extents, strides: Self.strides(extents))
    }

    /// A `Gather` whose indices depend on the text.
    func lookup(_ node: ONNXNode, _ places: ImportedTensor) throws {
        let input = try tensor(node, 0)
        let axis = try node.axis(node.integer("axis", default: 0), rank: input.extents.count)
        var extents = input.extents
        extents.replaceSubrange(axis...axis, with: places.extents)
        add(
            node, input: array(input),
            NetworkGraph.Lookup(places: array(places).node, axis: axis, shape: extents), extents: extents,
            layout: .array)
    }

    /// A `GatherND`: places with a number for each of the first axes.
    private func lookUpPlaces(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        let places = try value(node, 1)
        guard let depth = places.extents.last, (1...input.extents.count).contains(depth),
            node.integer("batch_dims", default: 0) == 0
        else { throw node.problem("looks up \(places.extents) in \(input.extents); that is not supported") }
        let strides = Self.strides(Array(input.extents[..<depth]))
        let name = node.output.first ?? ""
        let outer = Array(places.extents.dropLast())
        let rows: ImportedTensor
        switch places {
        case .constant(let constant):
            guard let integers = constant.integers else { throw node.problem("has places that are not integers") }
            let numbers = try stride(from: 0, to: integers.count, by: depth).map { start in
                try (0..<depth).reduce(0) { sum, axis in
                    let (index, extent) = (integers[start + axis], input.extents[axis])
                    guard (-extent..<extent).contains(index) else {
                        throw node.problem("has the index \(index) of an axis of \(extent)")
                    }
                    return sum + (index < 0 ? index + extent : index) * strides[axis]
                }
            }
            rows = tensor(.constant(.init(integers: numbers, extents: outer)), name: "\(name).rows")
        case .tensor(let tensor):
            let steps = self.tensor(.constant(.init(integers: strides)), name: "\(name).strides")
            let products = builder.add(
                "\(name).products", input: array(tensor).node,
                NetworkGraph.Combination(.multiply, other: steps.node))
            let sums = builder.add(
                "\(name).rows", input: products, NetworkGraph.Reduction(.sum, axes: [places.extents.count - 1]))
            rows = ImportedTensor(node: sums, extents: outer + [1], layout: .array)
        }
        let inner = Array(input.extents[depth...])
        let source = array(input)
        let matrix = [input.extents[..<depth].reduce(1, *), inner.reduce(1, *)]
        let table = builder.add(
            "\(name).table", input: source.node,
            NetworkGraph.Rearrangement(shape: matrix, strides: Self.strides(matrix)))
        let extents = outer + inner
        add(
            node, input: ImportedTensor(node: table, extents: matrix, layout: .array),
            NetworkGraph.Lookup(places: rows.node, axis: 0, shape: extents), extents: extents, layout: .array)
    }

    // MARK: Truth values

    func compare(_ node: ONNXNode, _ relation: NetworkGraph.Comparison.Relation, with number: Int) throws {
        try addElements(node, [try value(node, 0), .constant(.init(integers: [number], extents: []))]) {
            NetworkGraph.Comparison(relation, other: $0[0])
        }
    }

    private func compare(
        _ node: ONNXNode, _ relation: NetworkGraph.Comparison.Relation, isSwapped: Bool = false
    ) throws {
        let sides = [try value(node, isSwapped ? 1 : 0), try value(node, isSwapped ? 0 : 1)]
        try addElements(node, sides) { NetworkGraph.Comparison(relation, other: $0[0]) }
    }

    private func combineArrays(_ node: ONNXNode, _ kind: NetworkGraph.Combination.Operator) throws {
        try addElements(node, [try value(node, 0), try value(node, 1)]) { NetworkGraph.Combination(kind, other: $0[0]) }
    }

    func chooseByElement(_ node: ONNXNode) throws {
        try addElements(node, try (0..<3).map { try value(node, $0) }) { NetworkGraph.Choice(yes: $0[0], no: $0[1]) }
    }

    /// A layer that reads the elements of arrays together.
    private func addElements(
        _ node: ONNXNode, _ values: [ImportedValue], _ operation: ([String]) -> any LayerOperation
    ) throws {
        let name = node.output.first ?? ""
        let arrays = values.enumerated().map { array(tensor($1, name: "\(name).\($0)")) }
        let extents = try arrays.dropFirst().reduce(arrays[0].extents) { extents, array in
            guard let both = Self.broadcast(extents, array.extents) else {
                throw node.problem("combines \(arrays.map(\.extents))")
            }
            return both
        }
        add(node, input: arrays[0], operation(arrays.dropFirst().map(\.node)), extents: extents, layout: .array)
    }
}
#endif
