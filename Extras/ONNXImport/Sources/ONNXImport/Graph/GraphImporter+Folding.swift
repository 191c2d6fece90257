#if ONNXImport
import Foundation
import Lookalike

extension GraphImporter {
    /// Computes a node whose inputs are known, and shapes, which are always known.
    ///
    /// - Returns: false for a node that becomes a layer.
    func fold(_ node: ONNXNode) throws -> Bool {
        switch node.opType {
        case "Constant":
            let constant = try constant(of: node)
            if let tensor = node.tensor("value"), let output = node.output.first {
                elements[output] = ConstantTensor.Element(rawValue: tensor.dataType)
            }
            storedCount += constant.count
            set(node, .constant(constant))
            return true
        case "Shape":
            let extents = try value(node, 0).extents
            let start = max(0, min(extents.count, place(node.integer("start", default: 0), extents.count)))
            let end = max(start, min(extents.count, place(node.integer("end", default: extents.count), extents.count)))
            set(node, .constant(.init(integers: Array(extents[start..<end]))))
            return true
        case "If":
            try branch(node)
            return true
        case "Size":
            set(node, .constant(.init(integers: [try value(node, 0).extents.reduce(1, *)], extents: [])))
            return true
        default: break
        }
        var inputs: [ConstantTensor?] = []
        for index in node.input.indices {
            switch try optional(node, index) {
            case .tensor: return false
            case .constant(let constant): inputs.append(constant)
            case nil: inputs.append(nil)
            }
        }
        guard let first = inputs.first ?? nil else { return false }
        if node.opType == "Split" {
            let (axis, sizes) = try Self.parts(self, node, first.extents)
            var start = 0
            for (output, size) in sizes.enumerated() {
                try count(first.extents.indices.reduce(size) { $1 == axis ? $0 : $0 * first.extents[$1] }, node)
                var slices = first.extents.map { AxisSlice(first: 0, step: 1, count: $0) }
                slices[axis] = AxisSlice(first: start, step: 1, count: size)
                set(node, .constant(Self.taken(first, slices)), output: output)
                start += size
            }
            return true
        }
        if node.opType == "DynamicQuantizeLinear" {
            try foldDynamicQuantization(node, first)
            return true
        }
        guard let result = try folded(node, first, inputs) else { return try computed(node, first) }
        try Self.check(node, result.extents, most: ConstantTensor.mostElements)
        try count(result.count, node)
        set(node, .constant(result))
        return true
    }

    func count(_ elements: Int, _ node: ONNXNode) throws {
        foldedCount += elements
        // A weight may be transposed, cast and reshaped. A small file could do so any number of times.
        let most = max(Self.leastFolded, 4 * storedCount)
        guard foldedCount <= most else {
            throw node.problem("makes constants of more than \(most) elements, of \(storedCount) in the file")
        }
    }

    /// Elements of a constant that is repeated, of one that is put together of parts, and of all constants that the
    /// nodes of any file may make.
    private static let mostRepeated = 1 << 24
    private static let mostCopied = 1 << 27
    private static let leastFolded = 1 << 25

    /// Runs the nodes of the branch that a condition on sizes and other constants takes.
    private func branch(_ node: ONNXNode) throws {
        guard let condition = try constant(node, 0).scalar,
            let branch = node.graph(condition != 0 ? "then_branch" : "else_branch"),
            branch.output.count == node.output.count
        else { throw node.problem("lacks a branch or its condition") }
        for initializer in branch.initializer { try store(initializer) }
        for inner in try branch.sortedNodes() { try run(inner) }
        for (index, output) in branch.output.enumerated() {
            guard let value = values[output.name] else {
                throw node.problem("has a branch that does not make “\(output.name)”")
            }
            set(node, value, output: index)
        }
    }

    /// Takes a constant of the file.
    ///
    /// - Returns: the constant.
    @discardableResult
    func store(_ tensor: ONNXTensor) throws -> ConstantTensor {
        let constant = try ConstantTensor(tensor, external)
        storedCount += constant.count
        // Any number of tensors may name the same bytes of another file.
        guard storedCount <= Self.mostWeights else {
            throw ImportError.Reason.graph("its constants up to “\(tensor.name)” exceed 4 GB as floats")
        }
        values[tensor.name] = .constant(constant)
        elements[tensor.name] = ConstantTensor.Element(rawValue: tensor.dataType)
        return constant
    }

    private func place(_ index: Int, _ count: Int) -> Int { index < 0 ? index + count : index }

    private func constant(of node: ONNXNode) throws -> ConstantTensor {
        if let tensor = node.tensor("value") { return try ConstantTensor(tensor, external) }
        if node.has("value_float") { return .init(floats: [node.float("value_float", default: 0)], extents: []) }
        if node.has("value_int") { return .init(integers: [node.integer("value_int", default: 0)], extents: []) }
        if let floats = node.floats("value_floats"), !floats.isEmpty { return .init(floats: floats) }
        if let integers = node.integers("value_ints") { return .init(integers: integers) }
        throw node.problem("has no value that is read")
    }

    /// Nil for an operator that is not computed here.
    private func folded(_ node: ONNXNode, _ first: ConstantTensor, _ inputs: [ConstantTensor?]) throws
        -> ConstantTensor?
    {
        switch node.opType {
        case "Identity", "Dropout": return first
        case "Cast": return Self.cast(first, to: node.integer("to", default: 0))
        case "Reshape":
            guard let shape = try constant(node, 1).integers else { return nil }
            return first.reshaped(
                try Self.reshaped(
                    node, first.extents, to: shape, keepsZeros: node.integer("allowzero", default: 0) != 0))
        case "Unsqueeze":
            guard let axes = try integers(node, "axes", input: 1) else { return nil }
            return first.reshaped(try Self.unsqueezed(node, first.extents, axes))
        case "Squeeze":
            let axes = try integers(node, "axes", input: 1)?.map { try node.axis($0, rank: first.extents.count) }
            let kept = first.extents.indices.filter { index in
                if let axes { !axes.contains(index) } else { first.extents[index] != 1 }
            }
            guard axes?.allSatisfy({ first.extents[$0] == 1 }) ?? true else {
                throw node.problem("removes the axes \(axes ?? []) of \(first.extents)")
            }
            return first.reshaped(kept.map { first.extents[$0] })
        case "Transpose":
            let order = try Self.order(node, rank: first.extents.count)
            let strides = Self.strides(first.extents)
            return Self.gathered(first, order.map { first.extents[$0] }, order.map { strides[$0] }, 0)
        case "Slice": return Self.taken(first, try Self.slices(self, node, first.extents, mayBeEmpty: true))
        case "Clip": return try clipped(node, first)
        case "Concat": return try Self.joined(node, inputs.compactMap(\.self))
        case "Gather": return try Self.gathered(node, first, try constant(node, 1))
        case "ConstantOfShape": return try filled(node, first)
        case "Expand":
            guard let shape = try constant(node, 1).integers, let extents = Self.broadcast(first.extents, shape) else {
                throw node.problem("expands \(first.extents) to a shape that does not fit")
            }
            return try Self.repeated(node, [first], to: extents)[0]
        case "Range": return try Self.range(node, inputs.compactMap(\.self))
        case "Where":
            guard inputs.count == 3, let condition = inputs[0], let yes = inputs[1], let no = inputs[2],
                let extents = Self.broadcast(condition.extents, yes.extents).flatMap({ Self.broadcast($0, no.extents) })
            else { return nil }
            let parts = try Self.repeated(node, [condition, yes, no], to: extents)
            let flags = parts[0].floats
            if let x = parts[1].integers, let y = parts[2].integers {
                return .init(integers: flags.indices.map { flags[$0] != 0 ? x[$0] : y[$0] }, extents: extents)
            }
            let (x, y) = (parts[1].floats, parts[2].floats)
            return .init(floats: flags.indices.map { flags[$0] != 0 ? x[$0] : y[$0] }, extents: extents)
        case "QuantizeLinear", "DequantizeLinear": return try foldedQuantization(node, first)
        case "Resize": return try resized(node, first)
        case "Tile": return try tiled(node, first)
        case "ScatterND": return try Self.scattered(node, first, try constant(node, 1), try constant(node, 2))
        case "Trilu": return try triangle(node, first)
        case "ReduceProd": return try reduced(node, first, by: *, &*)
        // Reductions of floats are layers.
        case "ReduceSum" where first.integers != nil: return try reduced(node, first, by: +, &+)
        case "ReduceMax" where first.integers != nil: return try reduced(node, first, by: max, max)
        case "ReduceMin" where first.integers != nil: return try reduced(node, first, by: min, min)
        case "Not": return .init(integers: first.floats.map { $0 == 0 ? 1 : 0 }, extents: first.extents)
        default: break
        }
        if node.opType == "Abs" || node.opType == "Neg", let integers = first.integers {
            let isAbs = node.opType == "Abs"
            return .init(integers: integers.map { isAbs && $0 >= 0 ? $0 : 0 &- $0 }, extents: first.extents)
        }
        if let function = Self.functions[node.opType] {
            return .init(floats: first.floats.map(function), extents: first.extents)
        }
        guard inputs.count == 2, let second = inputs[1] else { return nil }
        return try Self.combined(node, first, second)
    }

    private static let functions: [String: @Sendable (Float) -> Float] = [
        "Sqrt": { $0.squareRoot() }, "Floor": { $0.rounded(.down) }, "Ceil": { $0.rounded(.up) },
        "Round": { $0.rounded(.toNearestOrEven) }, "Reciprocal": { 1 / $0 }, "Exp": { Float(exp(Double($0))) },
        "Log": { Float(log(Double($0))) }, "Sigmoid": { Float(1 / (1 + exp(-Double($0)))) },
        "Tanh": { Float(tanh(Double($0))) }, "Sin": { Float(sin(Double($0))) }, "Cos": { Float(cos(Double($0))) },
        "Erf": { Float(erf(Double($0))) }, "Abs": { abs($0) }, "Neg": { -$0 },
        "Relu": { max($0, 0) },
        "Softplus": { Float(log1p(exp(Double($0)))) },
    ]

    // MARK: Operators

    private func clipped(_ node: ONNXNode, _ tensor: ConstantTensor) throws -> ConstantTensor {
        let (low, high) = (try optionalConstant(node, 1), try optionalConstant(node, 2))
        guard low?.count ?? 1 == 1, high?.count ?? 1 == 1 else { throw node.problem("has limits that are not numbers") }
        if let integers = tensor.integers {
            let (low, high) = (low?.integers?[0] ?? .min, high?.integers?[0] ?? .max)
            return .init(integers: integers.map { min(max($0, low), high) }, extents: tensor.extents)
        }
        let (least, most) = (low?.scalar ?? -.infinity, high?.scalar ?? .infinity)
        return .init(floats: tensor.floats.map { min(max($0, least), most) }, extents: tensor.extents)
    }

    private static func cast(_ tensor: ConstantTensor, to type: Int) -> ConstantTensor? {
        switch type {
        case 1, 10, 11, 16: return .init(floats: tensor.floats, extents: tensor.extents)
        case 2...7, 12, 13:
            let integers = tensor.integers ?? tensor.floats.map { Int(exactly: $0.rounded(.towardZero)) ?? 0 }
            return .init(integers: integers.map { truncated($0, to: type) }, extents: tensor.extents)
        case 9: return .init(integers: tensor.floats.map { $0 != 0 ? 1 : 0 }, extents: tensor.extents)
        default: return nil
        }
    }

    /// An integer in a type of fewer bits, which keeps the last ones.
    private static func truncated(_ integer: Int, to type: Int) -> Int {
        switch type {
        case 2: Int(UInt8(truncatingIfNeeded: integer))
        case 3: Int(Int8(truncatingIfNeeded: integer))
        case 4: Int(UInt16(truncatingIfNeeded: integer))
        case 5: Int(Int16(truncatingIfNeeded: integer))
        case 6: Int(Int32(truncatingIfNeeded: integer))
        case 12: Int(UInt32(truncatingIfNeeded: integer))
        default: integer
        }
    }

    /// The elements at `offset + i · strides[0] + …`.
    private static func gathered(
        _ tensor: ConstantTensor, _ extents: [Int], _ strides: [Int], _ offset: Int
    ) -> ConstantTensor {
        guard !extents.contains(0) else { return tensor.picking([], extents: extents) }
        var places = [offset]
        for (extent, stride) in zip(extents, strides) {
            places = places.flatMap { place in (0..<extent).map { place + $0 * stride } }
        }
        return tensor.picking(places, extents: extents)
    }

    private static func taken(_ tensor: ConstantTensor, _ slices: [AxisSlice]) -> ConstantTensor {
        let strides = strides(tensor.extents)
        return gathered(
            tensor, slices.map(\.count), zip(slices, strides).map { $0.step * $1 },
            zip(slices, strides).reduce(0) { $0 + $1.0.first * $1.1 })
    }

    /// Each tensor with its extents of 1 repeated.
    private static func repeated(
        _ node: ONNXNode, _ tensors: [ConstantTensor], to extents: [Int]
    ) throws -> [ConstantTensor] {
        // A small file could repeat any number of times.
        try check(node, extents, most: max(mostRepeated, tensors.map(\.count).max() ?? 0))
        return tensors.map { tensor in
            let own = Array(repeating: 1, count: extents.count - tensor.extents.count) + tensor.extents
            let strides = strides(own)
            return gathered(tensor, extents, own.indices.map { own[$0] == 1 ? 0 : strides[$0] }, 0)
        }
    }

    private static func check(_ node: ONNXNode, _ extents: [Int], most: Int) throws {
        guard ConstantTensor.isPossible(extents), extents.reduce(1, *) <= most else {
            throw node.problem("makes a constant of the shape \(extents)")
        }
    }

    private static func joined(_ node: ONNXNode, _ parts: [ConstantTensor]) throws -> ConstantTensor {
        guard let first = parts.first else { throw node.problem("joins nothing") }
        let axis = try node.axis(node.integer("axis", default: 0), rank: first.extents.count)
        var extents = first.extents
        extents[axis] = 0
        for part in parts {
            guard part.extents.count == extents.count,
                zip(part.extents, extents).enumerated().allSatisfy({ $0.offset == axis || $0.element.0 == $0.element.1 }
                )
            else { throw node.problem("joins \(first.extents) and \(part.extents)") }
            extents[axis] += part.extents[axis]
        }
        try check(node, extents, most: mostCopied)
        let outer = extents[..<axis].reduce(1, *)
        func join<Element>(_ values: [[Element]]) -> [Element] {
            // Any number of rows may have no elements.
            guard !extents.contains(0) else { return [] }
            return (0..<outer).flatMap { row in
                values.flatMap { part -> ArraySlice<Element> in
                    let count = part.count / max(outer, 1)
                    return part[(row * count)..<((row + 1) * count)]
                }
            }
        }
        let integers = parts.compactMap(\.integers)
        if integers.count == parts.count { return .init(integers: join(integers), extents: extents) }
        return .init(floats: join(parts.map(\.floats)), extents: extents)
    }

    private static func gathered(
        _ node: ONNXNode, _ tensor: ConstantTensor, _ indices: ConstantTensor
    ) throws -> ConstantTensor {
        let axis = try node.axis(node.integer("axis", default: 0), rank: tensor.extents.count)
        let extent = tensor.extents[axis]
        guard let raw = indices.integers, raw.allSatisfy({ (-extent..<extent).contains($0) }) else {
            throw node.problem("has indices that its input does not have")
        }
        let inner = tensor.extents[(axis + 1)...].reduce(1, *)
        let outer = tensor.extents[..<axis].reduce(1, *)
        let extents = tensor.extents[..<axis] + indices.extents + tensor.extents[(axis + 1)...]
        try check(node, Array(extents), most: mostCopied)
        var places: [Int] = []
        // Any number of rows may have no elements.
        for row in 0..<(extents.contains(0) ? 0 : outer) {
            for index in raw {
                let start = (row * extent + (index < 0 ? index + extent : index)) * inner
                places += start..<(start + inner)
            }
        }
        return tensor.picking(places, extents: Array(extents))
    }

    private func filled(_ node: ONNXNode, _ shape: ConstantTensor) throws -> ConstantTensor {
        var count = 1
        let extents = shape.integers ?? []
        for extent in extents {
            guard (0...Self.mostRepeated).contains(extent), count * extent <= Self.mostRepeated
            else { throw node.problem("has the shape \(extents)") }
            count *= extent
        }
        guard let value = node.tensor("value") else {
            return .init(floats: [Float](repeating: 0, count: count), extents: extents)
        }
        let constant = try ConstantTensor(value, external)
        guard constant.count == 1 else { throw node.problem("has \(constant.count) values instead of one") }
        return constant.picking(Array(repeating: 0, count: count), extents: extents)
    }

    private func tiled(_ node: ONNXNode, _ tensor: ConstantTensor) throws -> ConstantTensor {
        let extents = tensor.extents
        guard let repeats = try constant(node, 1).integers, repeats.count == extents.count,
            repeats.allSatisfy({ (0...Self.mostRepeated).contains($0) })
        else { throw node.problem("has no number of repetitions for each of \(extents.count) axes") }
        let pairs = tensor.reshaped(extents.flatMap { [1, $0] })
        let tiled = try Self.repeated(node, [pairs], to: zip(repeats, extents).flatMap { [$0, $1] })[0]
        return tiled.reshaped(zip(repeats, extents).map { $0 * $1 })
    }

    private func triangle(_ node: ONNXNode, _ tensor: ConstantTensor) throws -> ConstantTensor? {
        let (extents, isUpper) = (tensor.extents, node.integer("upper", default: 1) != 0)
        guard extents.count >= 2, let diagonal = try optionalConstant(node, 1)?.integers?.first ?? 0 as Int? else {
            return nil
        }
        let (rows, columns) = (extents[extents.count - 2], extents[extents.count - 1])
        let isKept = (0..<tensor.count).map { place in
            let (row, column) = (place / columns % rows, place % columns)
            return isUpper ? column - row >= diagonal : column - row <= diagonal
        }
        if let integers = tensor.integers {
            return .init(integers: zip(integers, isKept).map { $1 ? $0 : 0 }, extents: extents)
        }
        return .init(floats: zip(tensor.floats, isKept).map { $1 ? $0 : 0 }, extents: extents)
    }

    private static func scattered(
        _ node: ONNXNode, _ tensor: ConstantTensor, _ indices: ConstantTensor, _ updates: ConstantTensor
    ) throws -> ConstantTensor {
        var places = Array(0..<tensor.count)
        let updated = try scatteredPlaces(node, tensor.extents, indices, updates.extents)
        for (update, place) in updated.enumerated() { places[place] = tensor.count + update }
        if let old = tensor.integers, let new = updates.integers {
            return ConstantTensor(integers: old + new).picking(places, extents: tensor.extents)
        }
        return ConstantTensor(floats: tensor.floats + updates.floats).picking(places, extents: tensor.extents)
    }

    /// Where each element of the updates goes in a tensor of these extents.
    static func scatteredPlaces(
        _ node: ONNXNode, _ extents: [Int], _ indices: ConstantTensor, _ updates: [Int]
    ) throws -> [Int] {
        guard ["none", ""].contains(node.string("reduction", default: "none")) else {
            throw node.problem("has the reduction “\(node.string("reduction", default: ""))”, which is not supported")
        }
        guard let raw = indices.integers, let depth = indices.extents.last, (1...extents.count).contains(depth),
            updates == indices.extents.dropLast() + extents[depth...]
        else {
            throw node.problem("writes \(updates) at indices of the shape \(indices.extents) into \(extents)")
        }
        let strides = strides(extents)
        let inner = extents[depth...].reduce(1, *)
        return try stride(from: 0, to: raw.count, by: depth).flatMap { start in
            let place = try (0..<depth).reduce(0) { place, axis in
                let (index, extent) = (raw[start + axis], extents[axis])
                guard (-extent..<extent).contains(index) else {
                    throw node.problem("has the index \(index) of an axis of \(extent)")
                }
                return place + (index < 0 ? index + extent : index) * strides[axis]
            }
            return Array(place..<(place + inner))
        }
    }

    private func reduced(
        _ node: ONNXNode, _ tensor: ConstantTensor, by floats: (Float, Float) -> Float, _ integers: (Int, Int) -> Int
    ) throws -> ConstantTensor? {
        let extents = tensor.extents
        var axes = try (self.integers(node, "axes", input: 1) ?? []).map { try node.axis($0, rank: extents.count) }
        if axes.isEmpty, node.integer("noop_with_empty_axes", default: 0) != 0 { return tensor }
        if axes.isEmpty { axes = Array(extents.indices) }
        let kept = extents.indices.filter { !axes.contains($0) }
        let order = kept + extents.indices.filter { axes.contains($0) }
        let strides = Self.strides(extents)
        let rows = Self.gathered(tensor, order.map { extents[$0] }, order.map { strides[$0] }, 0)
        let length = axes.reduce(1) { $0 * extents[$1] }
        guard tensor.count > 0, length > 0 else { return nil }
        let shape =
            node.integer("keepdims", default: 1) != 0
            ? extents.indices.map { axes.contains($0) ? 1 : extents[$0] } : kept.map { extents[$0] }
        func reduce<Number>(_ values: [Number], _ combine: (Number, Number) -> Number) -> [Number] {
            stride(from: 0, to: values.count, by: length).map { start in
                values[(start + 1)..<(start + length)].reduce(values[start], combine)
            }
        }
        if let values = rows.integers { return .init(integers: reduce(values, integers), extents: shape) }
        return .init(floats: reduce(rows.floats, floats), extents: shape)
    }

    private static func range(_ node: ONNXNode, _ inputs: [ConstantTensor]) throws -> ConstantTensor? {
        if inputs.count == 3, inputs.contains(where: { $0.integers == nil }) {
            let (start, end, step) = (inputs[0].floats.first, inputs[1].floats.first, inputs[2].floats.first)
            guard let start, let end, let step else { return nil }
            let count = max(0, ((Double(end) - Double(start)) / Double(step)).rounded(.up))
            guard count <= Double(mostRepeated) else { throw node.problem("makes a range of \(count) numbers") }
            return .init(floats: (0..<Int(count)).map { start + Float($0) * step })
        }
        guard inputs.count == 3, let start = inputs[0].integers?.first, let end = inputs[1].integers?.first,
            let step = inputs[2].integers?.first, step != 0
        else { return nil }
        let most = 1 << 24
        guard [start, end, step].allSatisfy({ (-most...most).contains($0) }) else {
            throw node.problem("makes a range from \(start) to \(end)")
        }
        return .init(integers: Array(stride(from: start, to: end, by: step)))
    }

    private static func combined(
        _ node: ONNXNode, _ left: ConstantTensor, _ right: ConstantTensor
    ) throws -> ConstantTensor? {
        guard let extents = broadcast(left.extents, right.extents) else { return nil }
        let parts = try repeated(node, [left, right], to: extents)
        let (a, b) = (parts[0], parts[1])
        // Exact for integers, too, that float32 cannot tell apart.
        func doubles(_ tensor: ConstantTensor) -> [Double] {
            tensor.integers.map { $0.map { Double($0) } } ?? tensor.floats.map { Double($0) }
        }
        func compare(_ holds: (Double, Double) -> Bool) -> ConstantTensor {
            .init(integers: zip(doubles(a), doubles(b)).map { holds($0, $1) ? 1 : 0 }, extents: extents)
        }
        func compute(
            _ floats: (Float, Float) -> Float, _ integers: (Int, Int) -> Int
        ) -> ConstantTensor {
            if let x = a.integers, let y = b.integers {
                return .init(integers: zip(x, y).map(integers), extents: extents)
            }
            return .init(floats: zip(a.floats, b.floats).map(floats), extents: extents)
        }
        switch node.opType {
        case "Add": return compute(+, &+)
        case "Sub": return compute(-, &-)
        case "Mul": return compute(*, &*)
        case "Div":
            if let divisors = b.integers, a.integers != nil, divisors.contains(0) {
                throw node.problem("divides by zero")
            }
            return compute(/) { $0.dividedReportingOverflow(by: $1).partialValue }
        case "Mod":
            guard let divisors = b.integers, a.integers != nil else { return nil }
            guard !divisors.contains(0) else { throw node.problem("divides by zero") }
            return compute({ x, _ in x }) {
                let remainder = $0.remainderReportingOverflow(dividingBy: $1).partialValue
                return remainder != 0 && (remainder < 0) != ($1 < 0) ? remainder + $1 : remainder
            }
        case "Pow":
            let powers = zip(doubles(a), doubles(b)).map { pow($0, $1) }
            guard a.integers != nil else { return .init(floats: powers.map { Float($0) }, extents: extents) }
            return .init(integers: powers.map { Int(exactly: $0.rounded(.towardZero)) ?? 0 }, extents: extents)
        case "Max": return compute(max, max)
        case "Min": return compute(min, min)
        case "Equal": return compare(==)
        case "Less": return compare(<)
        case "LessOrEqual": return compare(<=)
        case "Greater": return compare(>)
        case "GreaterOrEqual": return compare(>=)
        case "And": return compare { $0 != 0 && $1 != 0 }
        case "Or": return compare { $0 != 0 || $1 != 0 }
        default: return nil
        }
    }
}
#endif
