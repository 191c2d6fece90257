/// What a convolution computes, apart from its weights.
struct ConvolutionGeometry: Sendable {
    let inputChannels: Int
    let outputs: Int
    /// Of the output.
    let width: Int
    let height: Int
    let kernel: Int
    let stride: Int
    let padding: Int
    let relu: Bool

    var inputBlocks: Int { (inputChannels + TensorShape.channelBlock - 1) / TensorShape.channelBlock }
    var outputBlocks: Int { (outputs + TensorShape.channelBlock - 1) / TensorShape.channelBlock }

    /// How far the tap (0, 0) of the output pixel (0, 0) is from a tensor's beginning.
    func firstTap(in input: TensorLayout) -> Int { (input.border - padding) * (input.rowStride + input.pixelStride) }
}
