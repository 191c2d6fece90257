import Compute

extension NetworkGraph {
    /// A tensor of the file.
    public struct Constant: RunnableOperation {
        /// The name of the tensor.
        public var tensor: String
        /// Its shape.
        public var shape: [Int]

        /// A tensor with its shape.
        public init(tensor: String, shape: [Int]) { (self.tensor, self.shape) = (tensor, shape) }

        enum CodingKeys: String, CodingKey, CaseIterable { case tensor, shape }

        static let names = ["constant"]
        var tensorNames: [String] { [tensor] }
        func weightCount(in file: SafeTensorsFile) -> Int { file.elementCount(of: tensor) }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try ConstantLayer(self, description)
        }
    }
}

/// A tensor of the file.
private struct ConstantLayer: Layer {
    let outputShape: TensorShape
    let constant: AlignedFloats?

    init(_ constant: NetworkGraph.Constant, _ description: LayerDescription) throws(ModelError.Reason) {
        let count = try description.elementCount(constant.shape)
        outputShape = TensorShape(extents: constant.shape)
        self.constant = AlignedFloats(
            padding: try description.file.floats(constant.tensor, shape: constant.shape), to: count)
    }

    var parameterCount: Int { outputShape.elementCount }
    /// Nothing is computed.
    var operationCount: Int { 0 }
    var summary: String { "constant" }

    func run(_ parts: Range<Int>, in pass: LayerPass) {}
}
