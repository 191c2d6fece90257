import CKernels
import Kernels

/// A dense k×k convolution with bias; a residual is added and ReLU applied as the result is stored.
struct ConvolutionLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    let padding: Int
    let kernel: Int
    let stride: Int
    let relu: Bool
    let inputChannels: Int
    /// [output block][input block][ky][kx][input channel in block][16 output channels]
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    private let rowsPerPart: Int

    /// Output blocks that a kernel's widest tile takes at once.
    private static let blocksPerPart = 2

    init(_ description: LayerDescription) throws(ModelError.Reason) {
        let node = description.node
        let input = description.input
        if case .vector = input { throw description.problem("is a convolution and its input is a vector") }
        let outputs = try description.required(node.outputs, "outputs", in: 1...65_536)
        kernel = try description.required(node.kernel, "kernel", in: 1...15)
        stride = try description.required(node.stride, "stride", in: 1...8)
        padding = try description.required(node.padding, "padding", in: 0...7)
        relu = node.relu ?? false
        name = node.name
        inputs = [node.input] + (node.residual.map { [$0] } ?? [])
        inputChannels = input.channels
        let width = (input.width + 2 * padding - kernel) / stride + 1
        let height = (input.height + 2 * padding - kernel) / stride + 1
        guard input.width + 2 * padding >= kernel, input.height + 2 * padding >= kernel else {
            throw description.problem("has a kernel of \(kernel), larger than its input \(input.description)")
        }
        outputShape = .map(channels: outputs, width: width, height: height)
        if let residual = description.residual, residual != outputShape {
            throw description.problem("adds \(residual.description) to its \(outputShape.description)")
        }
        let weightName = try description.required(node.weight, "weight")
        let biasName = try description.required(node.bias, "bias")
        let flat = try description.file.floats(weightName, shape: [outputs, inputChannels, kernel, kernel])
        let block = TensorShape.channelBlock
        let blocks = (outputs + block - 1) / block
        bias = AlignedFloats(padding: try description.file.floats(biasName, shape: [outputs]), to: blocks * block)
        weights = Self.packed(flat, outputs: outputs, inputs: inputChannels, taps: kernel * kernel)
        // About four parts of rows: enough to share out, and weights are still used many times.
        rowsPerPart = max(1, (height + 3) / 4)
    }

    private static func packed(_ flat: [Float], outputs: Int, inputs: Int, taps: Int) -> AlignedFloats {
        let block = TensorShape.channelBlock
        let blocks = (outputs + block - 1) / block
        let packed = AlignedFloats(count: blocks * inputs * taps * block)
        var to = 0
        for outputBlock in 0..<blocks {
            for first in Swift.stride(from: 0, to: inputs, by: block) {
                for tap in 0..<taps {
                    for input in first..<min(first + block, inputs) {
                        for lane in 0..<block {
                            let output = outputBlock * block + lane
                            if output < outputs { packed.pointer[to + lane] = flat[(output * inputs + input) * taps + tap] }
                        }
                        to += block
                    }
                }
            }
        }
        return packed
    }

    var parameterCount: Int { outputShape.channels * (inputChannels * kernel * kernel + 1) }

    var multiplyAdds: Int {
        outputShape.channels * outputShape.width * outputShape.height * inputChannels * kernel * kernel
    }

    var summary: String {
        "convolution \(kernel)×\(kernel)" + (stride > 1 ? ", stride \(stride)" : "")
            + (inputs.count > 1 ? ", + \(inputs[1])" : "") + (relu ? ", ReLU" : "")
    }

    private var blockCount: Int { (outputShape.channels + TensorShape.channelBlock - 1) / TensorShape.channelBlock }
    private var rowParts: Int { (outputShape.height + rowsPerPart - 1) / rowsPerPart }

    var parts: Int { (blockCount + Self.blocksPerPart - 1) / Self.blocksPerPart * rowParts }

    func run(_ parts: Range<Int>, tensors: LayerTensors, batch: Int, kernels: KernelTier) {
        let input = tensors.input.layout
        let output = tensors.output.layout
        let shift = (input.border - padding) * (input.rowStride + input.pixelStride)
        for part in parts {
            let firstBlock = part / rowParts * Self.blocksPerPart
            let firstRow = part % rowParts * rowsPerPart
            for image in 0..<batch {
                let written = tensors.output.image(image) + output.origin
                let residual = tensors.residual.map { UnsafePointer($0.image(image) + $0.layout.origin) }
                var convolution = lk_convolution(
                    input: tensors.input.image(image) + shift, input_block_stride: input.blockStride,
                    input_row_stride: input.rowStride, input_pixel_stride: Int32(input.pixelStride),
                    input_channels: Int32(inputChannels), weights: weights.pointer, bias: bias.pointer,
                    residual: residual, output: written, output_block_stride: output.blockStride,
                    output_row_stride: output.rowStride, output_width: Int32(outputShape.width),
                    kernel_height: Int32(kernel), kernel_width: Int32(kernel), stride: Int32(stride), relu: relu)
                kernels.table.convolve(
                    &convolution, Int32(firstBlock), Int32(min(firstBlock + Self.blocksPerPart, blockCount)),
                    Int32(firstRow), Int32(min(firstRow + rowsPerPart, outputShape.height)))
            }
        }
    }
}
