import CKernels
import Compute

/// A convolution in which every channel has a filter of its own.
///
/// The products are float32. Codes of an int8 input are widened once per part, to memory that stays in a cache: few
/// products belong to each value, so that reading it is most of the work.
struct DepthwiseConvolution: BlockwiseConvolution {
    private let geometry: ConvolutionGeometry
    /// [block][ky][kx][16]
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    private let hasInt8Input: Bool
    let blockParts: BlockParts

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
    var scratchCount: Int { hasInt8Input ? geometry.inputRows(of: blockParts.rowsPerPart) * inputRowCount : 0 }

    /// Values of a block that a row of the output reads from one row of the input.
    private var inputRowCount: Int {
        let pixels = (geometry.width - 1) * geometry.stride.width
        return (pixels + (geometry.kernel.width - 1) * geometry.dilation.width + 1) * TensorShape.channelBlock
    }

    func run(_ part: Int, image: Int, in pass: LayerPass) {
        let (input, table) = (pass.input.layout, pass.kernels.table)
        var region = blockParts[part]
        let rows = Int32(region.rows.count)
        guard let parameters = input.quantization else {
            var convolution = arguments(region, image: image, in: pass)
            convolution.input = UnsafePointer(pass.input.floats(image) + firstTap(of: region, in: input))
            convolution.input_block_stride = input.blockStride
            convolution.row_step = geometry.rowStep(in: input)
            convolution.tap_row_stride = geometry.tapRowStride(in: input)
            table.convolve_depthwise(&convolution, 0, Int32(region.blocks.count), 0, rows)
            return
        }
        for block in region.blocks {
            region.blocks = block..<(block + 1)
            let codes = pass.input.bytes(image) + firstTap(of: region, in: input)
            for row in 0..<geometry.inputRows(of: region.rows.count) {
                table.dequantize(
                    codes + row * input.rowStride, parameters.scale, parameters.zeroPoint, inputRowCount,
                    pass.scratch + row * inputRowCount)
            }
            var convolution = arguments(region, image: image, in: pass)
            convolution.input = UnsafePointer(pass.scratch)
            convolution.row_step = geometry.stride.height * inputRowCount
            convolution.tap_row_stride = geometry.dilation.height * inputRowCount
            table.convolve_depthwise(&convolution, 0, 1, 0, rows)
        }
    }

    private func firstTap(of region: MapRegion, in input: TensorLayout) -> Int {
        geometry.firstTap(in: input) + region.blocks.lowerBound * input.blockStride
            + region.rows.lowerBound * geometry.rowStep(in: input)
    }

    /// What the kernel needs for a region, apart from the rows of the input.
    private func arguments(_ region: MapRegion, image: Int, in pass: LayerPass) -> lk_depthwise_convolution {
        let output = pass.output.layout
        let channel = region.blocks.lowerBound * TensorShape.channelBlock
        var convolution = lk_depthwise_convolution()
        convolution.pixel_step = geometry.pixelStep(in: pass.input.layout)
        convolution.tap_stride = geometry.tapStride(in: pass.input.layout)
        convolution.weights = UnsafePointer(weights.pointer + channel * geometry.taps)
        convolution.bias = UnsafePointer(bias.pointer + channel)
        convolution.output = pass.output.floats(image, region)
        convolution.output_block_stride = output.blockStride
        convolution.output_row_stride = output.rowStride
        convolution.output_width = Int32(geometry.width)
        convolution.kernel_height = Int32(geometry.kernel.height)
        convolution.kernel_width = Int32(geometry.kernel.width)
        convolution.relu = geometry.relu
        return convolution
    }
}
