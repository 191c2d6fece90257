import CKernels
import Compute

/// `weight · x + bias` on a vector with int8 weights; the vector is quantized as it is read.
///
/// Reading the weights takes most of the time, so that they are a quarter as large, and read once for several images:
/// the product is a convolution with one tap, whose pixels are the images.
struct QuantizedLinear: Sendable {
    /// Images whose products are found together.
    private static let mostTogether = 8
    /// Blocks of sixteen outputs of a part.
    private static let blocksPerPart = 8

    private let inputs: Int
    private let outputs: Int
    private let weights: QuantizedWeights
    private let input: QuantizationParameters

    /// - Parameters:
    ///   - flat: [output][input]
    ///   - input: what the codes of the vector stand for.
    init(inputs: Int, outputs: Int, weights flat: StoredNumbers, bias: [Float], input: QuantizationParameters) {
        (self.inputs, self.outputs, self.input) = (inputs, outputs, input)
        let block = TensorShape.channelBlock
        let blocks = stride(from: 0, to: outputs, by: block).map { first in
            QuantizedWeights.Block(
                weights: flat[(first * inputs)..<(min(first + block, outputs) * inputs)], inputs: inputs)
        }
        weights = QuantizedWeights(blocks, taps: 1, bias: bias, input: input, residual: nil, output: nil)
    }

    private var inputBlocks: Int { (inputs + TensorShape.channelBlock - 1) / TensorShape.channelBlock }
    private var outputBlocks: Int { (outputs + TensorShape.channelBlock - 1) / TensorShape.channelBlock }
    /// Codes of an image's vector, whole blocks.
    private var codeCount: Int { inputBlocks * TensorShape.channelBlock }
    /// Floats of the products of a part: [block][image][16]
    private var productCount: Int { Self.blocksPerPart * Self.mostTogether * TensorShape.channelBlock }

    var parts: Int { (outputBlocks + Self.blocksPerPart - 1) / Self.blocksPerPart }
    var scratchCount: Int { productCount + Self.mostTogether * codeCount / MemoryLayout<Float>.stride }

    func run(_ part: Int, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>, kernels: SIMDTarget)
    {
        let block = TensorShape.channelBlock
        let codes = UnsafeMutableRawPointer(scratch + productCount).assumingMemoryBound(to: UInt8.self)
        let blocks = (part * Self.blocksPerPart)..<min((part + 1) * Self.blocksPerPart, outputBlocks)
        for first in stride(from: 0, to: batch, by: Self.mostTogether) {
            let images = first..<min(first + Self.mostTogether, batch)
            for (row, image) in images.enumerated() {
                let line = codes + row * codeCount
                kernels.table.quantize(tensors.input.floats(image), 1 / input.scale, input.zeroPoint, inputs, line)
                (line + inputs).update(repeating: 0, count: codeCount - inputs)
            }
            var product = lk_quantized_convolution()
            product.input = UnsafePointer(codes)
            product.input_block_stride = block
            product.pixel_step = codeCount
            product.input_blocks = Int32(inputBlocks)
            (product.kernel_height, product.kernel_width) = (1, 1)
            product.output = scratch
            product.output_block_stride = images.count * block
            product.output_width = Int32(images.count)
            weights.apply(to: &product, from: blocks.lowerBound)
            kernels.table.convolve_quantized(&product, 0, Int32(blocks.count), 0, 1)
            for (index, outputBlock) in blocks.enumerated() {
                let count = min(block, outputs - outputBlock * block)
                for (row, image) in images.enumerated() {
                    (tensors.output.floats(image) + outputBlock * block)
                        .update(from: scratch + (index * images.count + row) * block, count: count)
                }
            }
        }
    }
}
