import CKernels
import Compute

/// A dense k×k convolution with bias; a residual is added and ReLU applied as the result is stored.
struct ConvolutionLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    let padding: Int
    private let geometry: ConvolutionGeometry
    private let method: any ConvolutionMethod

    init(_ convolution: NetworkGraph.Convolution, _ description: LayerDescription) throws(ModelError.Reason) {
        let node = description.node
        let input = description.input
        if case .vector = input { throw description.problem("is a convolution, but its input is a vector") }
        let outputs = try description.checked(convolution.outputs, "outputs", in: 1...65_536)
        let kernel = try description.checked(convolution.kernel, "kernel", in: 1...15)
        let stride = try description.checked(convolution.stride, "stride", in: 1...8)
        padding = try description.checked(convolution.padding, "padding", in: 0...7)
        name = node.name
        inputs = [node.input] + (convolution.residual.map { [$0] } ?? [])
        let width = (input.width + 2 * padding - kernel) / stride + 1
        let height = (input.height + 2 * padding - kernel) / stride + 1
        guard input.width + 2 * padding >= kernel, input.height + 2 * padding >= kernel else {
            throw description.problem("has a kernel of \(kernel), larger than its input \(input.description)")
        }
        outputShape = .map(channels: outputs, width: width, height: height)
        if let residual = description.residual, residual != outputShape {
            throw description.problem("adds \(residual.description) to its \(outputShape.description)")
        }
        geometry = ConvolutionGeometry(
            inputChannels: input.channels, outputs: outputs, width: width, height: height, kernel: kernel,
            stride: stride, padding: padding, relu: convolution.relu)
        let weights = try description.file.floats(convolution.weight, shape: [outputs, input.channels, kernel, kernel])
        let bias = try description.file.floats(convolution.bias, shape: [outputs])
        method =
            if let scale = description.quantization?.input {
                QuantizedConvolution(
                    geometry, weights: weights, bias: bias, inputScale: scale,
                    residualScale: description.quantization?.residual, outputScale: description.quantization?.output)
            } else if description.quantization?.output == nil, WinogradConvolution.isFaster(for: geometry) {
                WinogradConvolution(geometry, weights: weights, bias: bias)
            } else {
                DirectConvolution(geometry, weights: weights, bias: bias, outputScale: description.quantization?.output)
            }
    }

    var parameterCount: Int { geometry.outputs * (geometry.inputChannels * geometry.kernel * geometry.kernel + 1) }

    var multiplyAdds: Int {
        geometry.outputs * geometry.width * geometry.height * geometry.inputChannels * geometry.kernel * geometry.kernel
    }

    var summary: String {
        "convolution \(geometry.kernel)×\(geometry.kernel)" + (geometry.stride > 1 ? ", stride \(geometry.stride)" : "")
            + (inputs.count > 1 ? ", + \(inputs[1])" : "") + (geometry.relu ? ", ReLU" : "") + method.summary
    }

    var parts: Int { method.parts }
    var scratchCount: Int { method.scratchCount }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        for part in parts {
            for image in 0..<batch {
                method.run(part, image: image, tensors: tensors, scratch: scratch, kernels: kernels)
            }
        }
    }
}
