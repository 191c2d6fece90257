#if ONNXImport
import Inference
import Lookalike

extension GraphImporter {
    static let poolingOperators: [String: Operator] = [
        "MaxPool": { try $0.pooling($1, mean: false) },
        "AveragePool": { try $0.pooling($1, mean: true) },
        "GlobalMaxPool": { try $0.globalPooling($1, mean: false) },
        "GlobalAveragePool": { try $0.globalPooling($1, mean: true) },
        "Resize": { try $0.resizing($1) },
    ]

    private func pooling(_ node: ONNXNode, mean: Bool) throws {
        let input = try map(node, 0)
        guard node.output.count < 2 || node.output[1].isEmpty else {
            throw node.problem("gives the places of the largest values; that is not supported")
        }
        guard let shape = node.integers("kernel_shape"), shape.count == 2,
            shape.allSatisfy({ (1...4096).contains($0) })
        else { throw node.problem("has no kernel_shape of two numbers in 1…4096") }
        let kernel = NetworkGraph.Extent(height: shape[0], width: shape[1])
        let stride = try extent(node, "strides")
        let dilation = try extent(node, "dilations")
        let padding = try padding(node, input: input.extents, kernel: kernel, stride: stride, dilation: dilation)
        let roundsUp = node.integer("ceil_mode", default: 0) != 0
        let size = try windows(
            node, input.extents, kernel: kernel, stride: stride, padding: padding, dilation: dilation,
            roundsUp: roundsUp)
        let pooling = NetworkGraph.Pooling(
            mean ? .mean : .maximum, kernel: kernel, stride: stride, padding: padding, dilation: dilation,
            countsPadding: mean && node.integer("count_include_pad", default: 0) != 0, roundsUp: roundsUp)
        add(
            node, input: input, pooling, extents: [1, input.extents[1], size.height, size.width], layout: .map)
    }

    private func globalPooling(_ node: ONNXNode, mean: Bool) throws {
        let extents = try value(node, 0).extents
        if extents.count == 3 {
            // Over the tokens of a transformer.
            let source = readable(try tensor(node, 0))
            return add(
                node, input: source, NetworkGraph.Reduction(mean ? .mean : .maximum, axes: [2]),
                extents: [extents[0], extents[1], 1], layout: .array)
        }
        let input = try map(node, 0)
        add(
            node, input: input, Self.globalPooling(input, mean: mean), extents: [1, input.extents[1], 1, 1],
            layout: .map)
    }

    /// Pooling over all pixels of a map.
    static func globalPooling(_ input: ImportedTensor, mean: Bool) -> NetworkGraph.Pooling {
        NetworkGraph.Pooling(
            mean ? .mean : .maximum, kernel: .init(height: input.extents[2], width: input.extents[3]), stride: 1,
            padding: 0)
    }

    private func resizing(_ node: ONNXNode) throws {
        let input = try map(node, 0)
        let scales = try optionalConstant(node, 2)?.floats ?? []
        let sizes = try optionalConstant(node, 3)?.integers
        if let axes = node.integers("axes"), axes != [0, 1, 2, 3] {
            throw node.problem("resizes the axes \(axes) alone; that is not supported")
        }
        for (name, wanted) in [("antialias", 0), ("exclude_outside", 0)]
        where node.integer(name, default: wanted) != wanted {
            throw node.problem("has \(name); that is not supported")
        }
        guard node.string("keep_aspect_ratio_policy", default: "stretch") == "stretch" else {
            throw node.problem("keeps the aspect ratio; that is not supported")
        }
        let mode: NetworkGraph.Resizing.Mode
        switch node.string("mode", default: "nearest") {
        case "nearest": mode = .nearest
        case "linear": mode = .linear
        case let other: throw node.problem("has the mode “\(other)”; nearest and linear are supported")
        }
        let place = node.string("coordinate_transformation_mode", default: "half_pixel")
        guard let coordinates = NetworkGraph.Resizing.Coordinates(rawValue: place) else {
            throw node.problem("has the coordinate_transformation_mode “\(place)”, which is not supported")
        }
        let rounding: NetworkGraph.Resizing.Rounding
        switch node.string("nearest_mode", default: "round_prefer_floor") {
        case "round_prefer_floor": rounding = .halfDown
        case "round_prefer_ceil": rounding = .halfUp
        case "floor": rounding = .down
        case "ceil": rounding = .up
        case let other: throw node.problem("has the nearest_mode “\(other)”, which is not supported")
        }
        let extents = input.extents
        var size = NetworkGraph.Extent(height: extents[2], width: extents[3])
        var factors: [Float]
        if let sizes, sizes.count == 4 {
            guard sizes[0] == 1, sizes[1] == extents[1] else {
                throw node.problem("resizes more than height and width")
            }
            size = .init(height: sizes[2], width: sizes[3])
            factors = [Float(sizes[2]) / Float(extents[2]), Float(sizes[3]) / Float(extents[3])]
        } else if scales.count == 4 {
            guard scales[0] == 1, scales[1] == 1, scales.allSatisfy({ $0 > 0 && $0 <= 4096 }) else {
                throw node.problem("has the scales \(scales)")
            }
            factors = [scales[2], scales[3]]
            size = .init(height: Int(Float(extents[2]) * scales[2]), width: Int(Float(extents[3]) * scales[3]))
        } else {
            throw node.problem("has neither four scales nor four sizes")
        }
        guard (1...4096).contains(size.height), (1...4096).contains(size.width) else {
            throw node.problem("makes a map of \(size.height)×\(size.width)")
        }
        add(
            node, input: input,
            NetworkGraph.Resizing(
                size: size, scales: factors, mode: mode, coordinates: coordinates, rounding: rounding),
            extents: [1, extents[1], size.height, size.width], layout: .map)
    }
}
#endif
