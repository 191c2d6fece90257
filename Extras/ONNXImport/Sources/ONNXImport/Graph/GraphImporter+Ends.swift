import Lookalike

extension GraphImporter {
    /// Finds the input that is the image.
    ///
    /// - Returns: its size in pixels.
    func addImage(_ graph: ONNXGraph, _ options: ImportOptions) throws -> NetworkGraph.Extent {
        let inputs = graph.input.filter { values[$0.name] == nil }
        guard let input = inputs.first, inputs.count == 1 else {
            let names = inputs.map { "“\($0.name)”" }.joined(separator: ", ")
            throw ImportError.Reason.graph("its graph has \(inputs.count) inputs (\(names)); one image is needed")
        }
        let extents = input.type.tensorType.shape.dim.map { dimension -> Int? in
            if case .dimValue(let value)? = dimension.value, value > 0 { Int(truncatingIfNeeded: value) } else { nil }
        }
        func problem(_ words: String) -> ImportError.Reason {
            let shape = extents.map { $0.map { "\($0)" } ?? "?" }.joined(separator: ", ")
            return .graph("its input “\(input.name)” has the shape [\(shape)]; \(words)")
        }
        guard input.type.tensorType.elemType == 1 || input.type.tensorType.elemType == 10 else {
            throw ImportError.Reason.graph(
                "its input “\(input.name)” has elements of type \(input.type.tensorType.elemType); floats are needed")
        }
        guard extents.count == 4 else { throw problem("an image has four axes") }
        guard extents[0] == nil || extents[0] == 1 else {
            throw problem("export the network with a batch of one, or of any size")
        }
        let isChannelsLast = extents[3] == 3 && extents[1] != 3
        let (channels, height, width) =
            isChannelsLast ? (extents[3], extents[1], extents[2]) : (extents[1], extents[2], extents[3])
        guard channels ?? 3 == 3 else { throw problem("an image of three channels is needed") }
        func side(_ known: Int?) throws -> Int {
            if let known, let size = options.inputSize, known != size {
                throw problem("it cannot take images of \(size) pixels")
            }
            guard let side = known ?? options.inputSize else {
                throw problem("it takes any size, so the size to use has to be given")
            }
            guard (1...4096).contains(side) else { throw problem("1…4096 pixels are supported") }
            return side
        }
        let size = NetworkGraph.Extent(height: try side(height), width: try side(width))
        let image = ImportedTensor(node: "image", extents: [1, 3, size.height, size.width], layout: .image)
        values[input.name] = .tensor(isChannelsLast ? rotated(image) : image)
        return size
    }

    /// Adds the layers that make a vector of a tensor, and one of unit length.
    ///
    /// - Returns: the name of the last layer.
    func addPrint(_ tensor: ImportedTensor, normalized: Bool) -> String {
        let count = tensor.extents.reduce(1, *)
        var source = readable(tensor)
        if source.extents != [1, count] || source.layout != .array {
            source = ImportedTensor(
                node: builder.add(
                    "\(tensor.node).vector", input: source.node,
                    NetworkGraph.Rearrangement(shape: [1, count], strides: [count, 1])),
                extents: [1, count], layout: .array)
        }
        guard normalized else { return source.node }
        return builder.add("print", input: source.node, NetworkGraph.L2Normalization())
    }
}
