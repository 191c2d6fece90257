import CKernels
import Compute

/// An int8 convolution of the image, whose pixels are quantized as they are read.
///
/// A pixel has four codes: red, green, blue and a gap. Four neighboring pixels are read as if they were the sixteen
/// channels of one, so that the kernel takes four taps of a row at once.
struct ImageConvolution: BlockwiseConvolution {
    /// Codes of a pixel, and pixels that are read as one.
    private static let (pixel, together) = (4, 4)

    private let geometry: ConvolutionGeometry
    private let weights: QuantizedWeights
    private let image: QuantizationParameters
    private let hasInt8Output: Bool
    let blockParts: BlockParts

    /// Whether the convolution can be computed this way: the taps of a row have to be neighbors.
    static func isPossible(for convolution: NetworkGraph.Convolution) -> Bool {
        convolution.dilation.width == 1
            && convolution.kernel.height * columns(of: convolution.kernel) <= Int(LK_MOST_TAPS)
    }

    /// Columns of the kernel in groups of four.
    private static func columns(of kernel: NetworkGraph.Extent) -> Int { (kernel.width + together - 1) / together }

    /// - Parameters:
    ///   - flat: [output][channel][ky][kx]
    ///   - image: what the codes of the image stand for.
    ///   - residual: what the codes of the residual stand for; nil for a float32 residual, or none.
    ///   - output: what the codes of the output stand for; nil for float32.
    init(
        _ geometry: ConvolutionGeometry, weights flat: [Float], bias: [Float], image: QuantizationParameters,
        residual: QuantizationParameters?, output: QuantizationParameters?
    ) {
        (self.geometry, self.image) = (geometry, image)
        let (block, channels, kernel) = (TensorShape.channelBlock, geometry.inputChannels, geometry.kernel)
        let columns = Self.columns(of: geometry.kernel)
        let taps = kernel.height * columns
        let blocks = stride(from: 0, to: geometry.outputs, by: block).map { first in
            let outputs = first..<min(first + block, geometry.outputs)
            var grouped = [Float](repeating: 0, count: outputs.count * block * taps)
            for (row, output) in outputs.enumerated() {
                for channel in 0..<channels {
                    for (y, x) in (0..<kernel.height).flatMap({ y in (0..<kernel.width).map { (y, $0) } }) {
                        let input = x % Self.together * Self.pixel + channel
                        grouped[(row * block + input) * taps + y * columns + x / Self.together] =
                            flat[((output * channels + channel) * kernel.height + y) * kernel.width + x]
                    }
                }
            }
            return QuantizedWeights.Block(weights: StoredNumbers(grouped), inputs: block)
        }
        weights = QuantizedWeights(blocks, taps: taps, bias: bias, input: image, residual: residual, output: output)
        hasInt8Output = output != nil
        blockParts = BlockParts(geometry)
    }

    var summary: String { ", int8" }
    /// The size in floats; the scratch memory holds codes.
    var scratchCount: Int { (geometry.inputRows(of: blockParts.rowsPerPart) * rowCount + 3) / 4 }

    /// Pixels that a row of the output reads from one row of the image.
    private var pixels: Int { (geometry.width - 1) * geometry.stride.width + geometry.kernel.width }
    /// Codes of a row, with the pixels that the last group of taps reads in vain.
    private var rowCount: Int { (pixels + Self.together) * Self.pixel }

    func run(_ part: Int, image: Int, in pass: LayerPass) {
        let input = pass.input.layout
        let region = blockParts[part]
        let codes = UnsafeMutableRawPointer(pass.scratch).assumingMemoryBound(to: UInt8.self)
        let firstRow =
            pass.input.floats(image) + geometry.firstTap(in: input)
            + region.rows.lowerBound * geometry.rowStep(in: input)
        for row in 0..<geometry.inputRows(of: region.rows.count) {
            let line = codes + row * rowCount
            pass.kernels.table.quantize(
                firstRow + row * input.rowStride, 1 / self.image.scale, self.image.zeroPoint, pixels * Self.pixel, line)
            (line + pixels * Self.pixel).update(repeating: 0, count: Self.together * Self.pixel)
        }
        var convolution = lk_quantized_convolution()
        convolution.input = UnsafePointer(codes)
        convolution.row_step = geometry.stride.height * rowCount
        convolution.pixel_step = geometry.stride.width * Self.pixel
        convolution.tap_row_stride = geometry.dilation.height * rowCount
        convolution.tap_stride = Self.together * Self.pixel
        convolution.input_blocks = 1
        convolution.kernel_height = Int32(geometry.kernel.height)
        convolution.kernel_width = Int32(Self.columns(of: geometry.kernel))
        geometry.set(&convolution, region, image: image, in: pass, hasInt8Output: hasInt8Output)
        weights.apply(to: &convolution, from: region.blocks.lowerBound)
        pass.kernels.table.convolve_quantized(
            &convolution, 0, Int32(region.blocks.count), 0, Int32(region.rows.count))
    }
}
