import CKernels

/// What a convolution computes, apart from its weights.
struct ConvolutionGeometry: Sendable {
    let inputChannels: Int
    let outputs: Int
    /// Of the output.
    let width: Int
    let height: Int
    let kernel: NetworkGraph.Extent
    let stride: NetworkGraph.Extent
    let padding: NetworkGraph.Padding
    let dilation: NetworkGraph.Extent
    let groups: Int
    let relu: Bool
    /// Whether a part of the output is computed in float32 and then quantized; such parts should stay in a cache.
    let isStaged: Bool

    var inputBlocks: Int { (inputChannels + TensorShape.channelBlock - 1) / TensorShape.channelBlock }
    var outputBlocks: Int { (outputs + TensorShape.channelBlock - 1) / TensorShape.channelBlock }
    /// Taps of the kernel.
    var taps: Int { kernel.height * kernel.width }
    /// Input channels that an output depends on.
    var inputsPerGroup: Int { inputChannels / groups }
    var outputsPerGroup: Int { outputs / groups }
    /// Whether every channel has a filter of its own.
    var isDepthwise: Bool { groups == inputChannels && outputs == inputChannels && groups > 1 }

    /// How far the tap (0, 0) of the output pixel (0, 0) is from a tensor's beginning.
    func firstTap(in input: TensorLayout) -> Int {
        (input.border - padding.top) * input.rowStride + (input.border - padding.left) * input.pixelStride
    }

    /// From the taps of an output to those of the output below it.
    func rowStep(in input: TensorLayout) -> Int { stride.height * input.rowStride }
    /// From the taps of an output to those of the next in its row.
    func pixelStep(in input: TensorLayout) -> Int { stride.width * input.pixelStride }
    func tapRowStride(in input: TensorLayout) -> Int { dilation.height * input.rowStride }
    func tapStride(in input: TensorLayout) -> Int { dilation.width * input.pixelStride }

    /// What the float32 kernel needs besides the addresses of tensors and weights.
    func arguments(input: TensorLayout, output: TensorLayout) -> lk_convolution {
        var convolution = lk_convolution()
        convolution.input_block_stride = input.blockStride
        convolution.row_step = rowStep(in: input)
        convolution.pixel_step = pixelStep(in: input)
        convolution.tap_row_stride = tapRowStride(in: input)
        convolution.tap_stride = tapStride(in: input)
        convolution.input_channels = Int32(inputChannels)
        convolution.output_block_stride = output.blockStride
        convolution.output_row_stride = output.rowStride
        convolution.output_pixel_stride = output.pixelStride
        convolution.output_width = Int32(width)
        convolution.kernel_height = Int32(kernel.height)
        convolution.kernel_width = Int32(kernel.width)
        convolution.relu = relu
        return convolution
    }
}
