import CKernels
import Compute

/// A float32 convolution in groups of channels.
///
/// Each block of sixteen outputs is a dense convolution of those blocks of inputs that its groups read; weights between
/// different groups are zero. With 16 or more channels per group, few products are wasted.
struct GroupedConvolution: ConvolutionMethod {
    /// The inputs of one block of outputs.
    private struct Span: Sendable {
        let firstBlock: Int
        let channels: Int
        /// Of the first weight.
        let weights: Int
    }

    private let geometry: ConvolutionGeometry
    private let spans: [Span]
    /// Of each block of outputs: [input block][ky][kx][input channel in block][16 outputs]
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    private let blockParts: BlockParts

    /// - Parameter flat: [output][input in group][tap]
    init(_ geometry: ConvolutionGeometry, weights flat: [Float], bias: [Float]) {
        self.geometry = geometry
        let block = TensorShape.channelBlock
        let (inputsPerGroup, outputsPerGroup) = (geometry.inputsPerGroup, geometry.outputs / geometry.groups)
        let taps = geometry.taps
        var spans: [Span] = []
        var count = 0
        for outputBlock in 0..<geometry.outputBlocks {
            let outputs = (outputBlock * block)..<min((outputBlock + 1) * block, geometry.outputs)
            let first = outputs.lowerBound / outputsPerGroup * inputsPerGroup / block
            let end = ((outputs.upperBound - 1) / outputsPerGroup + 1) * inputsPerGroup
            spans.append(Span(firstBlock: first, channels: end - first * block, weights: count))
            count += (end - first * block) * taps * block
        }
        self.spans = spans
        weights = AlignedFloats(count: count)
        for (outputBlock, span) in spans.enumerated() {
            let outputs = (outputBlock * block)..<min((outputBlock + 1) * block, geometry.outputs)
            for output in outputs {
                for input in 0..<inputsPerGroup {
                    let channel = output / outputsPerGroup * inputsPerGroup + input - span.firstBlock * block
                    // Blocks of inputs before this one are full.
                    let inBlock = min(block, span.channels - channel / block * block)
                    for tap in 0..<taps {
                        let row = channel / block * block * taps + tap * inBlock + channel % block
                        weights.pointer[span.weights + row * block + output - outputs.lowerBound] =
                            flat[(output * inputsPerGroup + input) * taps + tap]
                    }
                }
            }
        }
        self.bias = AlignedFloats(padding: bias, to: geometry.outputBlocks * block)
        blockParts = BlockParts(geometry)
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
        let start = tensors.input.floats(image) + geometry.firstTap(in: input)
        for block in Int(blocks.lowerBound)..<Int(blocks.upperBound) {
            let span = spans[block]
            let outputOffset = output.origin + block * output.blockStride
            convolution.input = UnsafePointer(start + span.firstBlock * input.blockStride)
            convolution.input_channels = Int32(span.channels)
            convolution.weights = UnsafePointer(weights.pointer + span.weights)
            convolution.bias = UnsafePointer(bias.pointer + block * TensorShape.channelBlock)
            convolution.residual = tensors.residual.map { UnsafePointer($0.floats(image) + outputOffset) }
            convolution.output = tensors.output.floats(image) + outputOffset
            kernels.table.convolve(&convolution, 0, 1, rows.lowerBound, rows.upperBound)
        }
    }
}
