import Compute

extension NetworkGraph {
    /// Division by the Euclidean norm.
    public struct L2Normalization: RunnableOperation {
        /// The division.
        public init() {}

        enum CodingKeys: CodingKey, CaseIterable {}

        static let names = ["l2_normalize"]
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try L2NormalizationLayer(self, description)
        }
    }
}

/// L2 normalization. The norm is summed in double precision, so that a print is a unit vector to the last bits. A zero
/// vector stays zero.
private struct L2NormalizationLayer: Layer {
    let outputShape: TensorShape

    init(_: NetworkGraph.L2Normalization, _ description: LayerDescription) throws(ModelError.Reason) {
        guard case .vector = description.input else {
            throw description.problem("normalizes, but its input \(description.input.description) is not a vector")
        }
        outputShape = description.input
    }

    var multiplyAdds: Int { outputShape.channels }
    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount) }
    var summary: String { "L2 normalization" }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for image in 0..<pass.batch {
            let input = pass.input.floats(image)
            let output = pass.output.floats(image)
            var squares = 0.0
            for index in 0..<outputShape.channels { squares += Double(input[index]) * Double(input[index]) }
            let scale = squares > 0 ? 1 / squares.squareRoot() : 0
            for index in 0..<outputShape.channels { output[index] = Float(Double(input[index]) * scale) }
        }
    }
}
