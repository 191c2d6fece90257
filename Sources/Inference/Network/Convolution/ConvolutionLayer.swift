import CKernels
import Compute

/// A convolution with bias; a residual is added and ReLU applied as the result is stored. Another activation is applied
/// to each part of the result while a cache still holds it.
struct ConvolutionLayer: Layer {
    let name: String
    let inputs: [String]
    let residualInput: String?
    let outputShape: TensorShape
    let padding: Int
    private let geometry: ConvolutionGeometry
    private let method: any ConvolutionMethod
    private let activation: NetworkGraph.Activation?

    init(_ convolution: NetworkGraph.Convolution, _ description: LayerDescription) throws(ModelError.Reason) {
        let node = description.node
        let input = description.input
        if input.isRowMajor {
            let kind = if case .vector = input { "a vector" } else { "an array, \(input.description)" }
            throw description.problem("is a convolution, but its input is \(kind)")
        }
        let outputs = try description.checked(convolution.outputs, "outputs", in: 1...65_536)
        let groups = try description.checked(convolution.groups, "groups", in: 1...65_536)
        guard input.channels % groups == 0, outputs % groups == 0 else {
            throw description.problem("has \(groups) groups for \(input.channels) inputs and \(outputs) outputs")
        }
        if case .image = input, groups > 1 { throw description.problem("has groups, but reads the image") }
        guard !convolution.relu || convolution.activation == nil else {
            throw description.problem("has ReLU and another activation")
        }
        let window = try WindowGeometry(
            kernel: convolution.kernel, stride: convolution.stride, padding: convolution.padding,
            dilation: convolution.dilation, description)
        padding = convolution.padding.all.max() ?? 0
        name = node.name
        inputs = [node.input] + node.otherInputs
        residualInput = convolution.residual
        outputShape = .map(channels: outputs, width: window.outputs.width, height: window.outputs.height)
        if let residual = description.others.first, residual != outputShape {
            throw description.problem("adds \(residual.description) to its \(outputShape.description)")
        }
        geometry = ConvolutionGeometry(
            inputChannels: input.channels, outputs: outputs, width: window.outputs.width,
            height: window.outputs.height, kernel: convolution.kernel, stride: convolution.stride,
            padding: convolution.padding, dilation: convolution.dilation, groups: groups, relu: convolution.relu)
        activation = convolution.activation
        let weights = try description.file.floats(
            convolution.weight,
            shape: [outputs, input.channels / groups, convolution.kernel.height, convolution.kernel.width])
        let bias = try description.file.floats(convolution.bias, shape: [outputs])
        method =
            if let scale = description.quantization?.input {
                QuantizedConvolution(
                    geometry, weights: weights, bias: bias, inputScale: scale,
                    residualScale: description.quantization?.residual, outputScale: description.quantization?.output)
            } else if geometry.isDepthwise, convolution.residual == nil {
                DepthwiseConvolution(geometry, weights: weights, bias: bias)
            } else if groups > 1 {
                GroupedConvolution(geometry, weights: weights, bias: bias)
            } else if description.quantization?.output == nil, WinogradConvolution.isFaster(for: geometry) {
                WinogradConvolution(geometry, weights: weights, bias: bias)
            } else {
                DirectConvolution(geometry, weights: weights, bias: bias, outputScale: description.quantization?.output)
            }
    }

    var parameterCount: Int { geometry.outputs * (geometry.inputsPerGroup * geometry.taps + 1) }

    var multiplyAdds: Int {
        geometry.outputs * geometry.width * geometry.height * geometry.inputsPerGroup * geometry.taps
    }

    var summary: String {
        (geometry.isDepthwise ? "depthwise convolution " : "convolution ") + geometry.kernel.description
            + (geometry.stride == 1
                ? ""
                : geometry.stride.height == geometry.stride.width
                    ? ", stride \(geometry.stride.height)" : ", stride \(geometry.stride.description)")
            + (geometry.dilation == 1 ? "" : ", dilation \(geometry.dilation.description)")
            + (geometry.groups == 1 || geometry.isDepthwise ? "" : ", \(geometry.groups) groups")
            + (inputs.count > 1 ? ", + \(inputs[1])" : "") + (geometry.relu ? ", ReLU" : "")
            + (activation.map { ", \($0.kind.rawValue)" } ?? "") + method.summary
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
                if let activation {
                    let (blocks, rows) = method.region(part)
                    activation.apply(
                        to: tensors.output, image: image, blocks: Int(blocks.lowerBound)..<Int(blocks.upperBound),
                        rows: Int(rows.lowerBound)..<Int(rows.upperBound), kernels: kernels)
                }
            }
        }
    }
}
