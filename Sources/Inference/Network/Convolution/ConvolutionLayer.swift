import CKernels
import Compute

/// A convolution with bias; a residual is added and ReLU applied as the result is stored. Another activation is applied
/// to each part of the result while a cache still holds it, and so are the codes of an int8 output found that a method
/// does not write itself.
struct ConvolutionLayer: Layer {
    let name: String
    let inputs: [String]
    let residualInput: String?
    let outputShape: TensorShape
    let padding: Int
    private let geometry: ConvolutionGeometry
    private let method: any ConvolutionMethod
    private let activation: NetworkGraph.Activation?
    private let staging: StagedOutput?

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
        let codes = description.quantization
        // The largest code then stands for the upper bound of ReLU6.
        let relu = convolution.relu || codes?.output != nil && convolution.isBoundedReLU
        activation = codes?.output == nil ? convolution.activation : convolution.appliedActivation
        let isDepthwise = groups > 1 && groups == input.channels && groups == outputs && convolution.residual == nil
        var readsImage = false
        if case .image = input { readsImage = codes?.output != nil && ImageConvolution.isPossible(for: convolution) }
        let writesCodes =
            activation == nil && !isDepthwise && (readsImage || codes?.input != nil || groups == 1 && relu)
        let isStaged = codes?.output != nil && !writesCodes
        geometry = ConvolutionGeometry(
            inputChannels: input.channels, outputs: outputs, width: window.outputs.width,
            height: window.outputs.height, kernel: convolution.kernel, stride: convolution.stride,
            padding: convolution.padding, dilation: convolution.dilation, groups: groups, relu: relu, isStaged: isStaged
        )
        let (products, most) = (geometry.inputsPerGroup * geometry.taps, QuantizedWeights.mostProducts)
        guard codes?.input == nil || products <= most else {
            throw description.problem(
                "sums \(products) products for each output, of which int8 allows \(most): give “\(node.input)” the "
                    + "range null, or load the model in float32")
        }
        let weights = try description.file.numbers(
            convolution.weight,
            shape: [outputs, input.channels / groups, convolution.kernel.height, convolution.kernel.width])
        let bias = try description.file.floats(convolution.bias, shape: [outputs])
        let written = isStaged ? nil : codes?.output
        method =
            if isDepthwise {
                DepthwiseConvolution(geometry, weights: weights.floats, bias: bias, hasInt8Input: codes?.input != nil)
            } else if let parameters = codes?.input {
                QuantizedConvolution(
                    geometry, weights: weights, bias: bias, input: parameters, residual: codes?.residual,
                    output: written)
            } else if readsImage, let codes {
                ImageConvolution(geometry, weights: weights.floats, bias: bias, image: codes.image, output: written)
            } else if groups > 1 {
                GroupedConvolution(geometry, weights: weights.floats, bias: bias)
            } else if codes?.output == nil, WinogradConvolution.isFaster(for: geometry) {
                WinogradConvolution(geometry, weights: weights.floats, bias: bias)
            } else {
                DirectConvolution(geometry, weights: weights.floats, bias: bias, output: written)
            }
        if isStaged, let parameters = codes?.output {
            staging = StagedOutput(parameters, activation: activation, width: window.outputs.width)
        } else {
            staging = nil
        }
    }

    var parameterCount: Int { geometry.outputs * (geometry.inputsPerGroup * geometry.taps + 1) }

    var multiplyAdds: Int {
        geometry.outputs * geometry.width * geometry.height * geometry.inputsPerGroup * geometry.taps
    }

    /// Weights that whole blocks of channels have in vain are multiplied, too. What a method writes to its scratch
    /// memory may outweigh the products: rows of the input between the taps of a dilated kernel, for example.
    var operationCount: Int {
        let inputs =
            method is DepthwiseConvolution
            ? 1
            : GroupSpan.mostChannels(
                groups: geometry.groups, inputsPerGroup: geometry.inputsPerGroup,
                outputsPerGroup: geometry.outputsPerGroup)
        let outputs = geometry.outputBlocks * TensorShape.channelBlock * geometry.width * geometry.height
        return outputs * inputs * geometry.taps + parts * scratchCount
            + TensorShape.operationCount(ofElements: outputShape.elementCount)
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
    var scratchCount: Int { method.scratchCount + (staging == nil ? 0 : BlockParts(geometry).largestCount) }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        for part in parts {
            for image in 0..<batch {
                let (blocks, rows) = method.region(part)
                if let staging {
                    let memory = scratch + method.scratchCount
                    method.run(
                        part, image: image,
                        tensors: tensors.writing(to: staging.slot(blocks, rows, shape: outputShape, memory: memory)),
                        scratch: scratch, kernels: kernels)
                    staging.quantize(blocks, rows, in: memory, to: tensors.output, image: image, kernels: kernels)
                    continue
                }
                method.run(part, image: image, tensors: tensors, scratch: scratch, kernels: kernels)
                if let activation {
                    activation.apply(
                        to: tensors.output, image: image, blocks: Int(blocks.lowerBound)..<Int(blocks.upperBound),
                        rows: Int(rows.lowerBound)..<Int(rows.upperBound), kernels: kernels)
                }
            }
        }
    }
}
