#if ONNXImport
import Inference
import Lookalike

extension GraphImporter {
    /// Computes an operator of constants with the layer that computes it for what depends on the image.
    ///
    /// - Returns: false for an operator that is not imported, and for one of integers, which layers do not have.
    func computed(_ node: ONNXNode, _ first: ConstantTensor) throws -> Bool {
        guard let run = Self.operators[node.opType], first.integers == nil, let name = node.input.first else {
            return false
        }
        let importer = GraphImporter(opset: opset, external: external)
        for input in node.input { importer.values[input] = values[input] }
        importer.values[name] = .tensor(importer.tensor(.constant(first), name: name))
        try run(importer, node)
        for (index, output) in node.output.enumerated() {
            guard let value = importer.values[output] else { continue }
            if case .tensor(let tensor) = value {
                try count(tensor.extents.reduce(1, *), node)
                set(node, .constant(try importer.result(tensor, of: node)), output: index)
            } else {
                set(node, value, output: index)
            }
        }
        return true
    }

    /// A network gives a vector of 65,536 numbers at most.
    private static let mostAtOnce = 1 << 16

    /// The elements of a tensor that depends on constants alone.
    private func result(_ tensor: ImportedTensor, of node: ONNXNode) throws -> ConstantTensor {
        let source = readable(tensor)
        let count = source.extents.reduce(1, *)
        var values: [Float] = []
        values.reserveCapacity(count)
        for start in stride(from: 0, to: count, by: Self.mostAtOnce) {
            let length = min(Self.mostAtOnce, count - start)
            var part = builder
            let output = part.add(
                "output", input: source.node,
                NetworkGraph.Rearrangement(shape: [1, length], strides: [0, 1], offset: start))
            let imported = ImportedNetwork(
                part, output: output, name: node.displayName,
                input: .init(width: 1, height: 1, mean: [0, 0, 0], std: [1, 1, 1]))
            do {
                let network = try Network(
                    graph: imported.graph, file: SafeTensorsFile(imported.modelFile()), quantization: nil)
                let workspace = network.makeWorkspace(batchCapacity: 1, threads: 1)
                network.run(workspace, batch: 1, threads: 1, results: .output, kernels: .selected)
                values += network.output(0, in: workspace)
            } catch {
                throw node.problem("cannot be computed of its constants: \(error)")
            }
        }
        return .init(floats: values, extents: tensor.extents)
    }
}
#endif
