import CKernels
import Compute

/// A convolution in which every channel has a filter of its own.
///
/// The products are float32. Codes of an int8 input are widened once per part, to memory that stays in a cache: few
/// products belong to each value, so that reading it is most of the work.
struct DepthwiseConvolution: ConvolutionMethod {
    private let geometry: ConvolutionGeometry
    /// [block][ky][kx][16]
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    private let hasInt8Input: Bool
    private let blockParts: BlockParts

    /// - Parameter flat: [channel][tap]
    init(_ geometry: ConvolutionGeometry, weights flat: [Float], bias: [Float], hasInt8Input: Bool = false) {
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
        self.hasInt8Input = hasInt8Input
        blockParts = BlockParts(geometry)
    }

    var summary: String { hasInt8Input ? ", int8" : "" }
    var parts: Int { blockParts.count }
    var scratchCount: Int { hasInt8Input ? inputRows(of: blockParts.rowsPerPart) * inputRowCount : 0 }

    /// Rows of the input that so many rows of the output read.
    private func inputRows(of rows: Int) -> Int {
        (rows - 1) * geometry.stride.height + (geometry.kernel.height - 1) * geometry.dilation.height + 1
    }
    /// Values of a block that a row of the output reads from one row of the input.
    private var inputRowCount: Int {
        let pixels = (geometry.width - 1) * geometry.stride.width
        return (pixels + (geometry.kernel.width - 1) * geometry.dilation.width + 1) * TensorShape.channelBlock
    }

    func region(_ part: Int) -> (blocks: Range<Int32>, rows: Range<Int32>) { blockParts[part] }

    func run(_ part: Int, image: Int, tensors: LayerTensors, scratch: UnsafeMutablePointer<Float>, kernels: SIMDTarget)
    {
        let input = tensors.input.layout
        let (blocks, rows) = blockParts[part]
        var convolution = arguments(image: image, tensors: tensors)
        guard let parameters = input.quantization else {
            convolution.input = UnsafePointer(tensors.input.floats(image) + geometry.firstTap(in: input))
            convolution.input_block_stride = input.blockStride
            convolution.row_step = geometry.rowStep(in: input)
            convolution.tap_row_stride = geometry.tapRowStride(in: input)
            kernels.table.convolve_depthwise(
                &convolution, blocks.lowerBound, blocks.upperBound, rows.lowerBound, rows.upperBound)
            return
        }
        convolution.row_step = geometry.stride.height * inputRowCount
        convolution.tap_row_stride = geometry.dilation.height * inputRowCount
        convolution.input = UnsafePointer(scratch)
        convolution.output += Int(rows.lowerBound) * convolution.output_row_stride
        let firstRow =
            tensors.input.bytes(image) + geometry.firstTap(in: input)
            + Int(rows.lowerBound) * geometry.rowStep(in: input)
        let (weights, bias, output) = (convolution.weights, convolution.bias, convolution.output)
        for block in blocks.map(Int.init) {
            for row in 0..<inputRows(of: rows.count) {
                kernels.table.dequantize(
                    firstRow + block * input.blockStride + row * input.rowStride, parameters.scale,
                    parameters.zeroPoint, inputRowCount, scratch + row * inputRowCount)
            }
            convolution.weights = weights.map { $0 + block * geometry.taps * TensorShape.channelBlock }
            convolution.bias = bias.map { $0 + block * TensorShape.channelBlock }
            convolution.output = output.map { $0 + block * convolution.output_block_stride }
            kernels.table.convolve_depthwise(&convolution, 0, 1, 0, Int32(rows.count))
        }
    }

    /// What the kernel needs, apart from the rows of the input.
    private func arguments(image: Int, tensors: LayerTensors) -> lk_depthwise_convolution {
        let output = tensors.output.layout
        var convolution = lk_depthwise_convolution()
        convolution.pixel_step = geometry.pixelStep(in: tensors.input.layout)
        convolution.tap_stride = geometry.tapStride(in: tensors.input.layout)
        convolution.weights = UnsafePointer(weights.pointer)
        convolution.bias = UnsafePointer(bias.pointer)
        convolution.output = tensors.output.floats(image) + output.origin
        convolution.output_block_stride = output.blockStride
        convolution.output_row_stride = output.rowStride
        convolution.output_width = Int32(geometry.width)
        convolution.kernel_height = Int32(geometry.kernel.height)
        convolution.kernel_width = Int32(geometry.kernel.width)
        convolution.relu = geometry.relu
        return convolution
    }
}
