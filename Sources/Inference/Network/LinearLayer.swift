import Compute

/// `weight · x + bias` on a vector.
struct LinearLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    private let inputLength: Int
    private let weights: AlignedFloats
    private let bias: AlignedFloats

    init(_ linear: NetworkGraph.Linear, _ description: LayerDescription) throws(ModelError.Reason) {
        guard case .vector(let length) = description.input else {
            throw description.problem("is linear, but its input \(description.input.description) is not a vector")
        }
        let outputs = try description.checked(linear.outputs, "outputs", in: 1...65_536)
        name = description.node.name
        inputs = [description.node.input]
        inputLength = length
        outputShape = .vector(length: outputs)
        let flat = try description.file.floats(linear.weight, shape: [outputs, length])
        weights = AlignedFloats(padding: flat, to: flat.count)
        bias = AlignedFloats(padding: try description.file.floats(linear.bias, shape: [outputs]), to: outputs)
    }

    var parameterCount: Int { outputShape.channels * (inputLength + 1) }
    var multiplyAdds: Int { outputShape.channels * inputLength }
    var summary: String { "linear" }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        for image in 0..<batch {
            let output = tensors.output.floats(image)
            kernels.table.dot_products(
                tensors.input.floats(image), weights.pointer, inputLength, outputShape.channels, inputLength, output)
            for index in 0..<outputShape.channels { output[index] += bias.pointer[index] }
        }
    }
}
