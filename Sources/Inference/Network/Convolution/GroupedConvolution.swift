import CKernels
import Compute

/// A float32 convolution in groups of channels.
///
/// Each block of sixteen outputs is a dense convolution of those blocks of inputs that its groups read; weights between
/// different groups are zero. With 16 or more channels per group, few products are wasted.
struct GroupedConvolution: ConvolutionMethod {
    private let geometry: ConvolutionGeometry
    private let spans: [GroupSpan]
    /// Of each block of outputs: [input block][ky][kx][input channel in block][16 outputs]
    private let weights: [AlignedFloats]
    private let bias: AlignedFloats
    private let blockParts: BlockParts

    /// - Parameter flat: [output][input in group][tap]
    init(_ geometry: ConvolutionGeometry, weights flat: [Float], bias: [Float]) {
        self.geometry = geometry
        let block = TensorShape.channelBlock
        let spans = (0..<geometry.outputBlocks).map { GroupSpan(ofBlock: $0, geometry) }
        weights = spans.map { span in
            let dense = span.denseWeights(of: flat, geometry)
            let inputs = span.channels * geometry.taps
            return DirectConvolution.packed(
                dense, outputs: dense.count / inputs, inputs: span.channels, taps: geometry.taps)
        }
        self.spans = spans
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
            convolution.weights = UnsafePointer(weights[block].pointer)
            convolution.bias = UnsafePointer(bias.pointer + block * TensorShape.channelBlock)
            convolution.residual = tensors.residual.map { UnsafePointer($0.floats(image) + outputOffset) }
            convolution.output = tensors.output.floats(image) + outputOffset
            kernels.table.convolve(&convolution, 0, 1, rows.lowerBound, rows.upperBound)
        }
    }
}
