import CKernels
import Compute

/// A direct float32 convolution. The input may be the image; after ReLU the output may be int8.
struct DirectConvolution: ConvolutionMethod {
    private let geometry: ConvolutionGeometry
    /// [output block][input block][ky][kx][input channel in block][16 output channels]
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    /// What the codes of the output stand for; nil for float32.
    private let codes: QuantizationParameters?
    private let blockParts: BlockParts

    init(_ geometry: ConvolutionGeometry, weights: [Float], bias: [Float], output: QuantizationParameters?) {
        self.geometry = geometry
        self.weights = Self.packed(
            weights, outputs: geometry.outputs, inputs: geometry.inputChannels, taps: geometry.taps)
        self.bias = AlignedFloats(padding: bias, to: geometry.outputBlocks * TensorShape.channelBlock)
        codes = output
        blockParts = BlockParts(geometry)
    }

    /// - Parameter flat: [output][input][tap]
    static func packed(_ flat: [Float], outputs: Int, inputs: Int, taps: Int) -> AlignedFloats {
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
                            if output < outputs {
                                packed.pointer[to + lane] = flat[(output * inputs + input) * taps + tap]
                            }
                        }
                        to += block
                    }
                }
            }
        }
        return packed
    }

    var summary: String { "" }
    var parts: Int { blockParts.count }
    var scratchCount: Int { 0 }

    func region(_ part: Int) -> (blocks: Range<Int32>, rows: Range<Int32>) { blockParts[part] }

    func run(_ part: Int, image: Int, tensors: LayerTensors, scratch: UnsafeMutablePointer<Float>, kernels: SIMDTarget)
    {
        let input = tensors.input.layout
        let output = tensors.output.layout
        let (blocks, rows) = blockParts[part]
        var convolution = geometry.arguments(input: input, output: output)
        convolution.input = UnsafePointer(tensors.input.floats(image) + geometry.firstTap(in: input))
        convolution.weights = UnsafePointer(weights.pointer)
        convolution.bias = UnsafePointer(bias.pointer)
        convolution.residual = tensors.residual.map { UnsafePointer($0.floats(image) + $0.layout.origin) }
        if let codes {
            convolution.quantized_output = tensors.output.bytes(image) + output.origin
            convolution.quantized_scale = 1 / codes.scale
        } else {
            convolution.output = tensors.output.floats(image) + output.origin
        }
        kernels.table.convolve(&convolution, blocks.lowerBound, blocks.upperBound, rows.lowerBound, rows.upperBound)
    }
}
