#if ONNXImport
import Inference
import Lookalike

extension GraphImporter {
    /// Finds the input that is the image.
    ///
    /// - Parameters:
    ///   - inputSize: the side that is given.
    ///   - likelySize: the side where neither the graph nor the user gives one.
    /// - Returns: its size in pixels.
    func addImage(_ graph: ONNXGraph, inputSize: Int?, or likelySize: Int?) throws -> NetworkGraph.Extent {
        let inputs = graph.input.filter { values[$0.name] == nil }
        guard let input = inputs.first, inputs.count == 1 else {
            let names = inputs.map { "“\($0.name)”" }.joined(separator: ", ")
            throw ImportError.Reason.graph(
                "its graph has \(inputs.count) inputs (\(names)); one image is needed. "
                    + "--tensor names an output that needs no other")
        }
        let extents = input.type.tensorType.shape.dim.map { dimension -> Int? in
            if case .dimValue(let value)? = dimension.value, value > 0 { Int(truncatingIfNeeded: value) } else { nil }
        }
        func problem(_ words: String) -> ImportError.Reason {
            let shape = extents.map { $0.map { "\($0)" } ?? "?" }.joined(separator: ", ")
            return .graph("its input “\(input.name)” has the shape [\(shape)]; \(words)")
        }
        let element = ConstantTensor.Element(rawValue: input.type.tensorType.elemType)
        guard let element, [.float, .float16, .bfloat16, .double, .uint8].contains(element) else {
            throw ImportError.Reason.graph(
                "its input “\(input.name)” has elements of the type "
                    + (element.map { "\($0)" } ?? "number \(input.type.tensorType.elemType)")
                    + "; floats or bytes (uint8) are needed")
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
            if let known, let size = inputSize, known != size {
                throw problem("it cannot take images of \(size) pixels")
            }
            guard let side = known ?? inputSize ?? likelySize else {
                throw problem("it takes any size; --input-size gives the one to use")
            }
            guard (1...4096).contains(side) else { throw problem("1…4096 pixels are supported") }
            return side
        }
        let size = NetworkGraph.Extent(height: try side(height), width: try side(width))
        self.image = (input.name, element == .uint8, isChannelsLast)
        let image = ImportedTensor(node: "image", extents: [1, 3, size.height, size.width], layout: .image)
        values[input.name] = .tensor(isChannelsLast ? rotated(image) : image)
        return size
    }

    /// The tensor that becomes the print: the one that the user names, or the only output that depends on the input.
    ///
    /// - Parameters:
    ///   - name: the one that the user names.
    ///   - what: the input.
    ///   - option: how a user names a tensor.
    func output(
        of graph: ONNXGraph, _ name: String?, what: String = "the image", option: String = "--tensor"
    ) throws -> (name: String, tensor: ImportedTensor) {
        func tensor(_ name: String) -> ImportedTensor? {
            if case .tensor(let tensor)? = values[name], quantized[name] == nil { tensor } else { nil }
        }
        let outputs = graph.output.compactMap { output in tensor(output.name).map { (output.name, $0) } }
        let list = outputs.map { name, tensor -> String in
            let kind = Self.kindOfProbabilities(name, in: graph).map { ", \($0)" } ?? ""
            return "“\(name)” (\(tensor.extents.map(String.init).joined(separator: "×"))\(kind))"
        }.joined(separator: ", ")
        if let name {
            guard let found = tensor(name) else {
                throw ImportError.Reason.graph(
                    "it has no tensor “\(name)” that depends on \(what); its outputs are \(list)")
            }
            return (name, found)
        }
        guard let first = outputs.first else {
            throw ImportError.Reason.graph("its graph has no output that depends on \(what)")
        }
        guard outputs.count == 1 else {
            throw ImportError.Reason.graph(
                "its graph has \(outputs.count) outputs, and one of them is the print: \(list). "
                    + "Name it with \(option)")
        }
        return first
    }

    /// What an output is if it has probabilities, which are no print; nil for others.
    private static func kindOfProbabilities(_ output: String, in graph: ONNXGraph) -> String? {
        var name = output
        for _ in 0..<8 {
            guard let node = graph.node.first(where: { $0.output.contains(name) }) else { return nil }
            switch node.opType {
            case "Softmax", "LogSoftmax", "Sigmoid": return "from \(node.opType)"
            // What has other values only in their shape.
            case "Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Cast", "Transpose":
                name = node.input.first ?? ""
            default: return nil
            }
        }
        return nil
    }

    func sentence(ofOutput name: String, in graph: ONNXGraph) -> String {
        let kind = Self.kindOfProbabilities(name, in: graph)
        return "output “\(name)”"
            + (kind.map { " (\($0): these may be the probabilities of classes; --tensor names another tensor)" } ?? "")
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
#endif
