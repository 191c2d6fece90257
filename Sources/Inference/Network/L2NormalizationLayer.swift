import Compute

/// L2 normalization. The norm is summed in double precision, so that a print is a unit vector to the last bits. A zero
/// vector stays zero.
struct L2NormalizationLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape

    init(_ description: LayerDescription) throws(ModelError.Reason) {
        guard case .vector = description.input else {
            throw description.problem("normalizes, but its input \(description.input.description) is not a vector")
        }
        name = description.node.name
        inputs = [description.node.input]
        outputShape = description.input
    }

    var parameterCount: Int { 0 }
    var multiplyAdds: Int { outputShape.channels }
    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount) }
    var summary: String { "L2 normalization" }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        for image in 0..<batch {
            let input = tensors.input.floats(image)
            let output = tensors.output.floats(image)
            var squares = 0.0
            for index in 0..<outputShape.channels { squares += Double(input[index]) * Double(input[index]) }
            let scale = squares > 0 ? 1 / squares.squareRoot() : 0
            for index in 0..<outputShape.channels { output[index] = Float(Double(input[index]) * scale) }
        }
    }
}
