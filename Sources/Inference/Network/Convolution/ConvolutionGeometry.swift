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

    var inputBlocks: Int { (inputChannels + TensorShape.channelBlock - 1) / TensorShape.channelBlock }
    var outputBlocks: Int { (outputs + TensorShape.channelBlock - 1) / TensorShape.channelBlock }
    /// Taps of the kernel.
    var taps: Int { kernel.height * kernel.width }
    /// Input channels that an output depends on.
    var inputsPerGroup: Int { inputChannels / groups }
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
}
