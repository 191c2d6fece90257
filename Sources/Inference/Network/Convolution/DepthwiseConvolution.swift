import CKernels
import Compute

/// A float32 convolution in which every channel has a filter of its own.
struct DepthwiseConvolution: ConvolutionMethod {
    private let geometry: ConvolutionGeometry
    /// [block][ky][kx][16]
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    private let blockParts: BlockParts

    /// - Parameter flat: [channel][tap]
    init(_ geometry: ConvolutionGeometry, weights flat: [Float], bias: [Float]) {
        self.geometry = geometry
        let block = TensorShape.channelBlock
        let taps = geometry.taps
        weights = AlignedFloats(count: geometry.outputBlocks * taps * block)
        for channel in 0..<geometry.outputs {
            for tap in 0..<taps {
                weights.pointer[(channel / block * taps + tap) * block + channel % block] = flat[channel * taps + tap]
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
        var convolution = lk_depthwise_convolution()
        convolution.input = UnsafePointer(tensors.input.floats(image) + geometry.firstTap(in: input))
        convolution.input_block_stride = input.blockStride
        convolution.row_step = geometry.rowStep(in: input)
        convolution.pixel_step = geometry.pixelStep(in: input)
        convolution.tap_row_stride = geometry.tapRowStride(in: input)
        convolution.tap_stride = geometry.tapStride(in: input)
        convolution.weights = UnsafePointer(weights.pointer)
        convolution.bias = UnsafePointer(bias.pointer)
        convolution.output = tensors.output.floats(image) + output.origin
        convolution.output_block_stride = output.blockStride
        convolution.output_row_stride = output.rowStride
        convolution.output_width = Int32(geometry.width)
        convolution.kernel_height = Int32(geometry.kernel.height)
        convolution.kernel_width = Int32(geometry.kernel.width)
        convolution.relu = geometry.relu
        kernels.table.convolve_depthwise(
            &convolution, blocks.lowerBound, blocks.upperBound, rows.lowerBound, rows.upperBound)
    }
}
