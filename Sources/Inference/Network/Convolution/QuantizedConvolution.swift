import CKernels
import Compute

/// An int8 convolution with 32-bit integer sums.
///
/// Weights are signed, with one symmetric scale per output channel; activations are unsigned, with one scale per
/// tensor. Jacob et al.: "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"
/// (CVPR 2018). Bias, residual and scaling are float32.
struct QuantizedConvolution: ConvolutionMethod {
    private let geometry: ConvolutionGeometry
    /// [output block][input block][ky][kx][4 quads of inputs][16 outputs][4 inputs]
    private let weights: AlignedBytes
    private let scales: AlignedFloats
    private let bias: AlignedFloats
    private let residualScale: Float
    private let hasInt8Output: Bool
    private let blockParts: BlockParts

    /// - Parameters:
    ///   - inputScale: the scale of the input codes.
    ///   - residualScale: the scale of the residual codes; nil for a float32 residual, or none.
    ///   - outputScale: the scale of the output codes; nil for float32.
    init(
        _ geometry: ConvolutionGeometry, weights: [Float], bias: [Float], inputScale: Float, residualScale: Float?,
        outputScale: Float?
    ) {
        self.geometry = geometry
        let block = TensorShape.channelBlock
        let taps = geometry.taps
        let steps = AlignedFloats(count: geometry.outputBlocks * block)
        let packed = AlignedBytes(count: geometry.outputBlocks * geometry.inputBlocks * taps * block * block)
        _ = concurrentMap(geometry.outputBlocks, threads: availableThreadCount) { outputBlock in
            lk_pack_quantized_weights(
                weights, geometry.outputs, geometry.inputChannels, taps, outputBlock,
                steps.pointer + outputBlock * block,
                packed.pointer + outputBlock * geometry.inputBlocks * taps * block * block)
        }
        let unit = outputScale ?? 1
        scales = AlignedFloats(count: geometry.outputBlocks * block)
        for output in 0..<geometry.outputs { scales.pointer[output] = steps.pointer[output] * inputScale / unit }
        self.bias = AlignedFloats(padding: bias.map { $0 / unit }, to: geometry.outputBlocks * block)
        self.residualScale = (residualScale ?? 1) / unit
        hasInt8Output = outputScale != nil
        self.weights = packed
        blockParts = BlockParts(geometry)
    }

    var summary: String { ", int8" }
    var parts: Int { blockParts.count }
    var scratchCount: Int { 0 }

    func region(_ part: Int) -> (blocks: Range<Int32>, rows: Range<Int32>) { blockParts[part] }

    func run(_ part: Int, image: Int, tensors: LayerTensors, scratch: UnsafeMutablePointer<Float>, kernels: SIMDTarget)
    {
        let input = tensors.input.layout
        let output = tensors.output.layout
        let (blocks, rows) = blockParts[part]
        var convolution = lk_quantized_convolution()
        convolution.input = UnsafePointer(tensors.input.bytes(image) + geometry.firstTap(in: input))
        convolution.input_block_stride = input.blockStride
        convolution.row_step = geometry.rowStep(in: input)
        convolution.pixel_step = geometry.pixelStep(in: input)
        convolution.tap_row_stride = geometry.tapRowStride(in: input)
        convolution.tap_stride = geometry.tapStride(in: input)
        convolution.input_blocks = Int32(geometry.inputBlocks)
        convolution.weights = UnsafePointer(weights.pointer)
        convolution.scales = UnsafePointer(scales.pointer)
        convolution.bias = UnsafePointer(bias.pointer)
        if let residual = tensors.residual {
            let origin = residual.layout.origin
            switch residual.layout.element {
            case .uint8: convolution.quantized_residual = UnsafePointer(residual.bytes(image) + origin)
            case .float32: convolution.residual = UnsafePointer(residual.floats(image) + origin)
            }
        }
        convolution.residual_scale = residualScale
        if hasInt8Output {
            convolution.quantized_output = tensors.output.bytes(image) + output.origin
        } else {
            convolution.output = tensors.output.floats(image) + output.origin
        }
        convolution.output_block_stride = output.blockStride
        convolution.output_row_stride = output.rowStride
        convolution.output_width = Int32(geometry.width)
        convolution.kernel_height = Int32(geometry.kernel.height)
        convolution.kernel_width = Int32(geometry.kernel.width)
        convolution.relu = geometry.relu
        kernels.table.convolve_quantized(
            &convolution, blocks.lowerBound, blocks.upperBound, rows.lowerBound, rows.upperBound)
    }
}
