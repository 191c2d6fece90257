import CKernels
import Compute

/// A direct float32 convolution. The input may be the image; after ReLU the output may be int8.
struct DirectConvolution: BlockwiseConvolution {
    private let geometry: ConvolutionGeometry
    /// [output block][input block][ky][kx][input channel in block][16 output channels]
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    /// What the codes of the output stand for; nil for float32.
    private let codes: QuantizationParameters?
    let blockParts: BlockParts

    init(_ geometry: ConvolutionGeometry, weights: StoredNumbers, bias: [Float], output: QuantizationParameters?) {
        self.geometry = geometry
        self.weights = Self.packed(
            weights, outputs: geometry.outputs, inputs: geometry.inputChannels, taps: geometry.taps)
        self.bias = AlignedFloats(padding: bias, to: geometry.outputBlocks * TensorShape.channelBlock)
        codes = output
        blockParts = BlockParts(geometry)
    }

    /// - Parameter weights: [output][input][tap]
    static func packed(_ weights: StoredNumbers, outputs: Int, inputs: Int, taps: Int) -> AlignedFloats {
        let products = inputs * taps
        let packed = AlignedFloats(count: TensorShape.padded(outputs) * products)
        weights.forEachBlock(of: outputs, products: products) { block, numbers, format, count in
            lk_pack_weights(
                numbers, format, count, inputs, taps, packed.pointer + block * TensorShape.channelBlock * products)
        }
        return packed
    }

    func run(_ part: Int, image: Int, in pass: LayerPass) {
        let region = blockParts[part]
        let (first, block) = (region.blocks.lowerBound, TensorShape.channelBlock)
        var convolution = geometry.arguments(region, image: image, in: pass)
        convolution.weights = UnsafePointer(weights.pointer + first * geometry.inputChannels * geometry.taps * block)
        convolution.bias = UnsafePointer(bias.pointer + first * block)
        if let codes {
            convolution.quantized_output = pass.output.bytes(image, region)
            convolution.quantized_scale = 1 / codes.scale
        } else {
            convolution.output = pass.output.floats(image, region)
        }
        pass.kernels.table.convolve(&convolution, 0, Int32(region.blocks.count), 0, Int32(region.rows.count))
    }
}
