import CKernels
import Compute

/// The weights of an int8 convolution, and what turns its integer sums into results.
///
/// Weights are signed, with one symmetric scale per output channel. The products of weights w with an input s (q − z)
/// have the sum s (Σ q w − z Σ w): the second term is a part of the bias, and so are the zero points of the residual
/// and the output. Jacob et al.: "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
/// Inference" (CVPR 2018), section 2.3.
struct QuantizedWeights: Sendable {
    /// What a block of outputs reads.
    struct Block: Sendable {
        /// [output][input][tap]
        let weights: StoredNumbers
        let inputs: Int

        fileprivate var inputBlocks: Int { TensorShape.blockCount(inputs) }
    }

    /// The most products of codes whose sum surely fits 32 bits.
    static let mostProducts = Int(Int32.max) / (Int(UInt8.max) * Int(Int8.max))

    /// The codes of each block of outputs: [block of inputs][ky][kx][4 quads of inputs][16 outputs][4 inputs]
    private let codes: AlignedNumbers<Int8>
    /// The first code of each block of outputs.
    private let offsets: [Int]
    /// The scale of each output, in steps of the output's codes.
    private let scales: AlignedFloats
    private let bias: AlignedFloats
    private let residualScale: Float

    /// - Parameters:
    ///   - floats: what is added to the results of each output.
    ///   - input: what the codes of the input stand for.
    ///   - residual: what the codes of the residual stand for; nil for a float32 residual, or none.
    ///   - output: what the codes of the output stand for; nil for float32.
    init(
        _ blocks: [Block], taps: Int, bias floats: [Float], input: QuantizationParameters,
        residual: QuantizationParameters?, output: QuantizationParameters?
    ) {
        let block = TensorShape.channelBlock
        let steps = AlignedFloats(count: blocks.count * block)
        var offsets: [Int] = []
        var count = 0
        for each in blocks {
            offsets.append(count)
            count += each.inputBlocks * taps * block * block
        }
        let packed = AlignedNumbers<Int8>(count: count)
        let (starts, unit) = (offsets, output?.scale ?? 1)
        let sums = concurrentMap(blocks.count, threads: availableThreadCount) { index in
            let each = blocks[index]
            var sums = [Int64](repeating: 0, count: block)
            each.weights.withKernelArguments { numbers, format in
                lk_pack_quantized_weights(
                    numbers, format, each.weights.count / (each.inputs * taps), each.inputs, taps,
                    steps.pointer + index * block, &sums, packed.pointer + starts[index])
            }
            return sums
        }
        scales = AlignedFloats(count: blocks.count * block)
        bias = AlignedFloats(count: blocks.count * block)
        residualScale = (residual?.scale ?? 1) / unit
        let zeros = Float(output?.zeroPoint ?? 0) - Float(residual?.zeroPoint ?? 0) * residualScale
        for channel in floats.indices {
            let scale = steps.pointer[channel] * input.scale / unit
            scales.pointer[channel] = scale
            bias.pointer[channel] =
                floats[channel] / unit - scale
                * Float(Int(input.zeroPoint) * Int(sums[channel / block][channel % block]))
                + zeros
        }
        self.offsets = offsets
        codes = packed
    }

    /// Sets what the kernel needs besides the tensors.
    ///
    /// - Parameter first: the block of outputs that is the kernel's block 0.
    func apply(to convolution: inout lk_quantized_convolution, from first: Int) {
        let channel = first * TensorShape.channelBlock
        convolution.weights = UnsafePointer(codes.pointer + offsets[first])
        convolution.scales = UnsafePointer(scales.pointer + channel)
        convolution.bias = UnsafePointer(bias.pointer + channel)
        convolution.residual_scale = residualScale
    }
}
