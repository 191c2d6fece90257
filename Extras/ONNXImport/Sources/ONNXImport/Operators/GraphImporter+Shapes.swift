#if ONNXImport
import Inference
import Lookalike

extension GraphImporter {
    static let shapeOperators: [String: Operator] = [
        "Reshape": { try $0.reshape($1) },
        "Flatten": { try $0.flatten($1) },
        "Squeeze": { try $0.squeeze($1) },
        "Unsqueeze": { try $0.unsqueeze($1) },
        "Transpose": { try $0.transpose($1) },
        "Slice": { try $0.slice($1) },
        "Split": { try $0.split($1) },
        "Concat": { try $0.concatenate($1) },
        "Expand": { try $0.expand($1) },
        "Gather": { try $0.gather($1) },
        "Pad": { try $0.pad($1) },
    ]

    /// Adds an array that takes its elements from a tensor in row-major order.
    func rearrange(
        _ node: ONNXNode, _ input: ImportedTensor, shape: [Int], strides: [Int], offset: Int = 0, output: Int = 0
    ) {
        let source = readable(input)
        add(
            node, input: source, NetworkGraph.Rearrangement(shape: shape, strides: strides, offset: offset),
            extents: shape,
            layout: .array, output: output)
    }

    // MARK: Reshaping

    private func reshape(_ node: ONNXNode) throws {
        guard let shape = try constant(node, 1).integers else { throw node.problem("has a shape that is not integers") }
        let input = try tensor(node, 0)
        let extents = try Self.reshaped(
            node, input.extents, to: shape, keepsZeros: node.integer("allowzero", default: 0) != 0)
        reshape(node, input, extents)
    }

    static func reshaped(_ node: ONNXNode, _ extents: [Int], to shape: [Int], keepsZeros: Bool) throws -> [Int] {
        let count = extents.reduce(1, *)
        var result = shape
        for (axis, extent) in shape.enumerated() where extent == 0 && !keepsZeros {
            guard axis < extents.count else { throw node.problem("reshapes \(extents) to \(shape)") }
            result[axis] = extents[axis]
        }
        guard result.allSatisfy({ $0 >= -1 && $0 <= ConstantTensor.mostElements }), result.count <= 16,
            result.filter({ $0 == -1 }).count <= 1
        else { throw node.problem("reshapes \(extents) to \(shape)") }
        var known = 1
        for extent in result where extent != -1 {
            known *= extent
            guard known <= ConstantTensor.mostElements else { throw node.problem("reshapes \(extents) to \(shape)") }
        }
        if let axis = result.firstIndex(of: -1) {
            guard known > 0, count % known == 0 else { throw node.problem("reshapes \(extents) to \(shape)") }
            result[axis] = count / known
        } else if known != count {
            throw node.problem("reshapes \(extents) to \(shape)")
        }
        return result
    }

    private func reshape(_ node: ONNXNode, _ input: ImportedTensor, _ extents: [Int]) {
        if extents == input.extents { return set(node, .tensor(input)) }
        let name = node.output.first ?? ""
        if let shuffle = shuffles[node.input[0]], shuffle.isTransposed, extents == shuffle.source.extents {
            let selection = NetworkGraph.ChannelSelection(
                others: [], channels: [.init(input: 0, first: 0, count: extents[1])], shuffledGroups: shuffle.groups)
            return add(node, input: shuffle.source, selection, extents: extents, layout: .map)
        }
        if input.layout == .map, extents.count == 5, extents[0] == 1, Array(extents[3...]) == Array(input.extents[2...])
        {
            shuffles[name] = (input, extents[1], false)
        }
        rearrange(node, input, shape: extents, strides: Self.strides(extents))
    }

    private func flatten(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        let rank = input.extents.count
        let axis = node.integer("axis", default: 1)
        guard (-rank...rank).contains(axis) else { throw node.problem("has axis \(axis) of \(rank)") }
        let first = axis < 0 ? axis + rank : axis
        reshape(
            node, input, [input.extents[..<first].reduce(1, *), input.extents[first...].reduce(1, *)])
    }

    private func squeeze(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        let rank = input.extents.count
        let axes =
            try integers(node, "axes", input: 1)?.map { try node.axis($0, rank: rank) }
            ?? input.extents.indices.filter { input.extents[$0] == 1 }
        guard axes.allSatisfy({ input.extents[$0] == 1 }) else {
            throw node.problem("removes the axes \(axes) of \(input.extents)")
        }
        reshape(node, input, input.extents.indices.filter { !axes.contains($0) }.map { input.extents[$0] })
    }

    private func unsqueeze(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        guard let axes = try integers(node, "axes", input: 1) else { throw node.problem("has no axes") }
        reshape(node, input, try Self.unsqueezed(node, input.extents, axes))
    }

    static func unsqueezed(_ node: ONNXNode, _ extents: [Int], _ axes: [Int]) throws -> [Int] {
        let rank = extents.count + axes.count
        guard rank <= 16 else { throw node.problem("makes \(rank) axes") }
        let places = Set(try axes.map { try node.axis($0, rank: rank) })
        guard places.count == axes.count else { throw node.problem("inserts the axes \(axes)") }
        var rest = extents.makeIterator()
        return (0..<rank).map { places.contains($0) ? 1 : rest.next() ?? 1 }
    }

    private func transpose(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        let order = try Self.order(node, rank: input.extents.count)
        switch (input.layout, order) {
        case (.map, [0, 2, 3, 1]), (.image, [0, 2, 3, 1]), (.mapChannelsLast, [0, 3, 1, 2]),
            (.imageChannelsLast, [0, 3, 1, 2]):
            return set(node, .tensor(rotated(input)))
        default: break
        }
        if let shuffle = shuffles[node.input[0]], !shuffle.isTransposed, order == [0, 2, 1, 3, 4] {
            shuffles[node.output.first ?? ""] = (shuffle.source, shuffle.groups, true)
        }
        let strides = Self.strides(input.extents)
        rearrange(node, input, shape: order.map { input.extents[$0] }, strides: order.map { strides[$0] })
    }

    static func order(_ node: ONNXNode, rank: Int) throws -> [Int] {
        let order = node.integers("perm") ?? Array((0..<rank).reversed())
        guard order.sorted() == Array(0..<rank) else { throw node.problem("has perm \(order) for \(rank) axes") }
        return order
    }

    private func expand(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        guard let shape = try constant(node, 1).integers,
            shape.allSatisfy({ (1...ConstantTensor.mostElements).contains($0) }),
            let extents = Self.broadcast(input.extents, shape)
        else { throw node.problem("expands \(input.extents) to a shape that does not fit") }
        if extents == input.extents { return set(node, .tensor(input)) }
        let own = Array(repeating: 1, count: extents.count - input.extents.count) + input.extents
        let strides = Self.strides(own)
        rearrange(
            node, input, shape: extents, strides: extents.indices.map { own[$0] == 1 ? 0 : strides[$0] })
    }

    // MARK: Parts

    /// What a slice takes of an axis.
    struct AxisSlice {
        var first: Int
        var step: Int
        var count: Int
    }

    private func slice(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        let slices = try Self.slices(self, node, input.extents)
        take(node, input, slices, output: 0)
    }

    /// - Parameter mayBeEmpty: for constants, such as a part of a shape.
    static func slices(
        _ importer: GraphImporter, _ node: ONNXNode, _ extents: [Int], mayBeEmpty: Bool = false
    ) throws -> [AxisSlice] {
        guard let starts = try importer.integers(node, "starts", input: 1),
            let ends = try importer.integers(node, "ends", input: 2), starts.count == ends.count
        else { throw node.problem("has no starts and ends of the same length") }
        let axes = try importer.integers(node, "axes", input: 3) ?? Array(starts.indices)
        let steps = try importer.integers(node, "steps", input: 4) ?? Array(repeating: 1, count: starts.count)
        guard axes.count == starts.count, steps.count == starts.count else {
            throw node.problem("has \(starts.count) starts, \(axes.count) axes and \(steps.count) steps")
        }
        var slices = extents.map { AxisSlice(first: 0, step: 1, count: $0) }
        for (index, axis) in axes.enumerated() {
            let axis = try node.axis(axis, rank: extents.count)
            let (extent, step) = (extents[axis], steps[index])
            guard step != 0, step > -ConstantTensor.mostElements, step < ConstantTensor.mostElements else {
                throw node.problem("has the step \(step)")
            }
            func place(_ value: Int, _ range: ClosedRange<Int>) -> Int {
                let fromStart = value < 0 ? max(value, -ConstantTensor.mostElements) + extent : value
                return min(max(fromStart, range.lowerBound), range.upperBound)
            }
            let first = place(starts[index], step > 0 ? 0...extent : 0...max(extent - 1, 0))
            let end = place(ends[index], step > 0 ? 0...extent : -1...max(extent - 1, -1))
            let count = max(0, step > 0 ? (end - first + step - 1) / step : (first - end - step - 1) / -step)
            guard count > 0 || mayBeEmpty else { throw node.problem("takes nothing of axis \(axis)") }
            slices[axis] = AxisSlice(first: first, step: step, count: min(count, extent))
        }
        return slices
    }

    private func take(_ node: ONNXNode, _ input: ImportedTensor, _ slices: [AxisSlice], output: Int) {
        let extents = slices.map(\.count)
        if input.layout == .map, slices[1].step == 1, extents[2...] == input.extents[2...],
            slices[2].step == 1, slices[3].step == 1
        {
            let selection = NetworkGraph.ChannelSelection(
                others: [], channels: [.init(input: 0, first: slices[1].first, count: slices[1].count)])
            return add(
                node, input: input, selection, extents: extents, layout: .map, output: output)
        }
        let strides = Self.strides(input.extents)
        rearrange(
            node, input, shape: extents, strides: zip(slices, strides).map { $0.step * $1 },
            offset: zip(slices, strides).reduce(0) { $0 + $1.0.first * $1.1 }, output: output)
    }

    private func split(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        let (axis, sizes) = try Self.parts(self, node, input.extents)
        var first = 0
        for (output, size) in sizes.enumerated() {
            var slices = input.extents.map { AxisSlice(first: 0, step: 1, count: $0) }
            slices[axis] = AxisSlice(first: first, step: 1, count: size)
            take(node, input, slices, output: output)
            first += size
        }
    }

    static func parts(
        _ importer: GraphImporter, _ node: ONNXNode, _ extents: [Int]
    ) throws -> (axis: Int, sizes: [Int]) {
        let axis = try node.axis(node.integer("axis", default: 0), rank: extents.count)
        let count = node.output.count
        guard count > 0, count <= extents[axis] else { throw node.problem("makes \(count) parts of \(extents[axis])") }
        let equal = (extents[axis] + count - 1) / count
        let sizes =
            try importer.integers(node, "split", input: 1)
            ?? (0..<count).map { $0 < count - 1 ? equal : extents[axis] - equal * (count - 1) }
        guard sizes.count == count, sizes.allSatisfy({ $0 > 0 && $0 <= extents[axis] }),
            sizes.reduce(0, +) == extents[axis]
        else { throw node.problem("splits \(extents[axis]) into \(sizes)") }
        return (axis, sizes)
    }

    private func gather(_ node: ONNXNode) throws {
        if case .tensor(let places) = try value(node, 1) { return try lookup(node, places) }
        let input = try tensor(node, 0)
        let indices = try constant(node, 1)
        let axis = try node.axis(node.integer("axis", default: 0), rank: input.extents.count)
        guard let raw = indices.integers, !raw.isEmpty else {
            throw node.problem("has indices that are not integers")
        }
        let extent = input.extents[axis]
        guard raw.allSatisfy({ (-extent..<extent).contains($0) }) else {
            throw node.problem("has the indices \(raw) of an axis of \(extent)")
        }
        let slices = Self.slices(of: raw.map { $0 < 0 ? $0 + extent : $0 })
        guard slices.count <= Self.mostSlices else {
            throw node.problem("has indices in \(slices.count) steps; \(Self.mostSlices) are supported")
        }
        let strides = Self.strides(input.extents)
        var extents = input.extents
        extents.replaceSubrange(axis...axis, with: indices.extents)
        if slices.count == 1 {
            let step = slices[0].step * strides[axis]
            var steps = strides
            steps.replaceSubrange(axis...axis, with: Self.strides(indices.extents).map { $0 * step })
            return rearrange(node, input, shape: extents, strides: steps, offset: slices[0].first * strides[axis])
        }
        let source = readable(input)
        let name = node.output.first ?? ""
        let parts = slices.map { slice in
            var (shape, steps) = (input.extents, strides)
            (shape[axis], steps[axis]) = (slice.count, slice.step * strides[axis])
            return builder.add(
                "\(name).part", input: source.node,
                NetworkGraph.Rearrangement(shape: shape, strides: steps, offset: slice.first * strides[axis]))
        }
        let layer = builder.add(
            "\(name).parts", input: parts[0], NetworkGraph.Concatenation(others: Array(parts.dropFirst()), axis: axis))
        var joined = input.extents
        joined[axis] = raw.count
        rearrange(
            node, ImportedTensor(node: layer, extents: joined, layout: .array), shape: extents,
            strides: Self.strides(extents))
    }

    /// A layer is made for each.
    private static let mostSlices = 256

    /// Places as steps of one length, each as long as possible.
    private static func slices(of places: [Int]) -> [AxisSlice] {
        var slices: [AxisSlice] = []
        for place in places {
            if var last = slices.last, last.count == 1 || place == last.first + last.count * last.step {
                if last.count == 1 { last.step = place - last.first }
                last.count += 1
                slices[slices.count - 1] = last
            } else {
                slices.append(AxisSlice(first: place, step: 1, count: 1))
            }
        }
        return slices
    }

    // MARK: Joining

    private func concatenate(_ node: ONNXNode) throws {
        let rank = try value(node, 0).extents.count
        let axis = try node.axis(node.integer("axis", default: 0), rank: rank)
        // A network may have room for tokens and have none.
        let indices = try node.input.indices.filter {
            let extents = try value(node, $0).extents
            return extents.count != rank || extents[axis] != 0
        }
        let inputs = try indices.map { try tensor(node, $0) }
        guard let first = inputs.first else { throw node.problem("joins nothing") }
        var extents = first.extents
        for input in inputs.dropFirst() {
            var expected = extents
            guard input.extents.count == extents.count else {
                throw node.problem("joins \(extents) and \(input.extents)")
            }
            expected[axis] = input.extents[axis]
            guard input.extents == expected else { throw node.problem("joins \(extents) and \(input.extents)") }
            extents[axis] += input.extents[axis]
        }
        let allLast = inputs.allSatisfy { $0.layout == .mapChannelsLast }
        let hasMap = inputs.contains { $0.layout == .map } && !inputs.contains { $0.layout == .mapChannelsLast }
        if allLast && axis == 3 || hasMap && axis == 1 {
            let maps = try inputs.compactMap { try map(allLast ? rotated($0) : $0) }
            guard maps.count == inputs.count else { throw node.problem("joins maps with what is none") }
            let selection = NetworkGraph.ChannelSelection(
                others: maps.dropFirst().map(\.node),
                channels: maps.enumerated().map { .init(input: $0.offset, first: 0, count: $0.element.extents[1]) })
            return add(
                node, input: maps[0], selection, extents: extents,
                layout: allLast ? .mapChannelsLast : .map)
        }
        let arrays = inputs.map { readable($0) }
        add(
            node, input: arrays[0], NetworkGraph.Concatenation(others: arrays.dropFirst().map(\.node), axis: axis),
            extents: extents, layout: .array)
    }

    private func pad(_ node: ONNXNode) throws {
        let input = try tensor(node, 0)
        let rank = input.extents.count
        guard let pads = try integers(node, "pads", input: 1) else { throw node.problem("has no pads") }
        let axes = try optionalConstant(node, 3)?.integers?.map { try node.axis($0, rank: rank) } ?? Array(0..<rank)
        guard pads.count == 2 * axes.count, pads.allSatisfy({ (-4096...4096).contains($0) }) else {
            throw node.problem("has pads \(pads) for \(axes.count) axes")
        }
        let value = try optionalConstant(node, 2)?.scalar ?? 0
        var (before, after) = (Array(repeating: 0, count: rank), Array(repeating: 0, count: rank))
        for (index, axis) in axes.enumerated() {
            before[axis] = pads[index]
            after[axis] = pads[axes.count + index]
        }
        let mode: NetworkGraph.ArrayPadding.Mode
        switch node.string("mode", default: "constant") {
        case "constant": mode = .constant
        case "edge": mode = .edge
        case "reflect": mode = .reflect
        case let other: throw node.problem("has the mode “\(other)”, which is not supported")
        }
        let extents = input.extents.indices.map { input.extents[$0] + before[$0] + after[$0] }
        guard extents.allSatisfy({ $0 > 0 }), value.isFinite else {
            throw node.problem("pads \(input.extents) by \(pads) with \(value)")
        }
        if (before + after).allSatisfy({ $0 == 0 }) { return set(node, .tensor(input)) }
        let source = readable(input)
        add(
            node, input: source, NetworkGraph.ArrayPadding(mode: mode, value: value, before: before, after: after),
            extents: extents, layout: .array)
        if mode == .constant, value == 0, rank == 4, before[..<2] == [0, 0], after[..<2] == [0, 0],
            (before + after).allSatisfy({ $0 >= 0 }), input.layout == .map || input.layout == .image
        {
            paddings[node.output.first ?? ""] = (
                input, .init(top: before[2], left: before[3], bottom: after[2], right: after[3])
            )
        }
    }
}
#endif
