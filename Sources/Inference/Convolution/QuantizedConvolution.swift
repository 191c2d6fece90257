import CKernels
import Compute

/// An int8 convolution, dense or in groups of channels, with 32-bit integer sums. Bias, residual and scaling are
/// float32.
struct QuantizedConvolution: BlockwiseConvolution {
    private let geometry: ConvolutionGeometry
    private let weights: QuantizedWeights
    /// What each block of outputs reads; nil for a dense convolution.
    private let spans: [GroupSpan]?
    private let hasInt8Output: Bool
    let blockParts: BlockParts

    /// - Parameters:
    ///   - flat: [output][input in group][tap]
    ///   - input: what the codes of the input stand for.
    ///   - residual: what the codes of the residual stand for; nil for a float32 residual, or none.
    ///   - output: what the codes of the output stand for; nil for float32.
    init(
        _ geometry: ConvolutionGeometry, weights flat: StoredNumbers, bias: [Float], input: QuantizationParameters,
        residual: QuantizationParameters?, output: QuantizationParameters?
    ) {
        self.geometry = geometry
        let (block, taps) = (TensorShape.channelBlock, geometry.taps)
        let blocks: [QuantizedWeights.Block]
        if geometry.groups == 1 {
            let inputs = geometry.inputChannels
            spans = nil
            blocks = stride(from: 0, to: geometry.outputs, by: block).map { first in
                let end = min(first + block, geometry.outputs)
                return .init(weights: flat[(first * inputs * taps)..<(end * inputs * taps)], inputs: inputs)
            }
        } else {
            let spans = (0..<geometry.outputBlocks).map { GroupSpan(ofBlock: $0, geometry) }
            let floats = flat.floats
            blocks = spans.map {
                .init(weights: StoredNumbers($0.denseWeights(of: floats, geometry)), inputs: $0.channels)
            }
            self.spans = spans
        }
        weights = QuantizedWeights(
            blocks, taps: taps, bias: bias, input: input, residual: residual, output: output)
        hasInt8Output = output != nil
        blockParts = BlockParts(geometry)
    }

    var summary: String { ", int8" }

    func run(_ part: Int, image: Int, in pass: LayerPass) {
        var region = blockParts[part]
        guard let spans else { return run(region, span: nil, image: image, in: pass) }
        for block in region.blocks {
            region.blocks = block..<(block + 1)
            run(region, span: spans[block], image: image, in: pass)
        }
    }

    /// - Parameter span: what the one block of outputs reads; nil for all inputs.
    private func run(_ region: MapRegion, span: GroupSpan?, image: Int, in pass: LayerPass) {
        let input = pass.input.layout
        var convolution = lk_quantized_convolution()
        convolution.input = UnsafePointer(
            pass.input.bytes(image) + geometry.firstTap(in: input) + (span?.firstBlock ?? 0) * input.blockStride
                + region.rows.lowerBound * geometry.rowStep(in: input))
        convolution.input_block_stride = input.blockStride
        convolution.row_step = geometry.rowStep(in: input)
        convolution.pixel_step = geometry.pixelStep(in: input)
        convolution.tap_row_stride = geometry.tapRowStride(in: input)
        convolution.tap_stride = geometry.tapStride(in: input)
        let inputs = span?.channels ?? geometry.inputChannels
        convolution.input_blocks = Int32(TensorShape.blockCount(inputs))
        convolution.last_block_is_half =
            (1...TensorShape.channelBlock / 2).contains(inputs % TensorShape.channelBlock)
        convolution.kernel_height = Int32(geometry.kernel.height)
        convolution.kernel_width = Int32(geometry.kernel.width)
        geometry.set(&convolution, region, image: image, in: pass, hasInt8Output: hasInt8Output)
        weights.apply(to: &convolution, from: region.blocks.lowerBound)
        pass.kernels.table.convolve_quantized(
            &convolution, 0, Int32(region.blocks.count), 0, Int32(region.rows.count))
    }
}
