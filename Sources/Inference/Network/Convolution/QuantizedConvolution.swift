import CKernels
import Compute

/// An int8 convolution, dense or in groups of channels, with 32-bit integer sums. Bias, residual and scaling are
/// float32.
struct QuantizedConvolution: ConvolutionMethod {
    private let geometry: ConvolutionGeometry
    private let weights: QuantizedWeights
    /// Of each block of outputs; nil for a dense convolution.
    private let spans: [GroupSpan]?
    private let hasInt8Output: Bool
    private let blockParts: BlockParts

    /// - Parameters:
    ///   - flat: [output][input in group][tap]
    ///   - input: what the codes of the input stand for.
    ///   - residual: the same of the residual; nil for a float32 residual, or none.
    ///   - output: the same of the output; nil for float32.
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
    var parts: Int { blockParts.count }
    var scratchCount: Int { 0 }

    func region(_ part: Int) -> (blocks: Range<Int32>, rows: Range<Int32>) { blockParts[part] }

    func run(_ part: Int, image: Int, tensors: LayerTensors, scratch: UnsafeMutablePointer<Float>, kernels: SIMDTarget)
    {
        let (blocks, rows) = blockParts[part]
        guard let spans else {
            return run(blocks, rows, span: nil, image: image, tensors: tensors, kernels: kernels)
        }
        for block in blocks {
            run(block..<(block + 1), rows, span: spans[Int(block)], image: image, tensors: tensors, kernels: kernels)
        }
    }

    /// - Parameter span: what the one block of outputs reads; nil for all inputs.
    private func run(
        _ blocks: Range<Int32>, _ rows: Range<Int32>, span: GroupSpan?, image: Int, tensors: LayerTensors,
        kernels: SIMDTarget
    ) {
        let input = tensors.input.layout
        let output = tensors.output.layout
        let block = TensorShape.channelBlock
        let first = Int(blocks.lowerBound)
        let offset = output.origin + first * output.blockStride
        var convolution = lk_quantized_convolution()
        convolution.input = UnsafePointer(
            tensors.input.bytes(image) + geometry.firstTap(in: input) + (span?.firstBlock ?? 0) * input.blockStride)
        convolution.input_block_stride = input.blockStride
        convolution.row_step = geometry.rowStep(in: input)
        convolution.pixel_step = geometry.pixelStep(in: input)
        convolution.tap_row_stride = geometry.tapRowStride(in: input)
        convolution.tap_stride = geometry.tapStride(in: input)
        convolution.input_blocks = Int32(((span?.channels ?? geometry.inputChannels) + block - 1) / block)
        weights.apply(to: &convolution, from: first)
        if let residual = tensors.residual {
            switch residual.layout.element {
            case .uint8: convolution.quantized_residual = UnsafePointer(residual.bytes(image) + offset)
            case .float32: convolution.residual = UnsafePointer(residual.floats(image) + offset)
            }
        }
        if hasInt8Output {
            convolution.quantized_output = tensors.output.bytes(image) + offset
        } else {
            convolution.output = tensors.output.floats(image) + offset
        }
        convolution.output_block_stride = output.blockStride
        convolution.output_row_stride = output.rowStride
        convolution.output_width = Int32(geometry.width)
        convolution.kernel_height = Int32(geometry.kernel.height)
        convolution.kernel_width = Int32(geometry.kernel.width)
        convolution.relu = geometry.relu
        kernels.table.convolve_quantized(&convolution, 0, Int32(blocks.count), rows.lowerBound, rows.upperBound)
    }
}
