import Compute

/// A tensor of the file.
struct ConstantLayer: Layer {
    let name: String
    let inputs: [String] = []
    let outputShape: TensorShape
    let constant: AlignedFloats?

    init(_ constant: NetworkGraph.Constant, _ description: LayerDescription) throws(ModelError.Reason) {
        name = description.node.name
        let count = try description.elementCount(constant.shape)
        outputShape = TensorShape(extents: constant.shape)
        self.constant = AlignedFloats(
            padding: try description.file.floats(constant.tensor, shape: constant.shape), to: count)
    }

    var parameterCount: Int { outputShape.elementCount }
    /// Nothing is computed.
    var operationCount: Int { 0 }
    var summary: String { "constant" }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {}
}
