import CKernels
import Compute

/// A float32 convolution in groups of channels.
///
/// Each block of sixteen outputs is a dense convolution of the blocks of inputs that its groups read; weights between
/// different groups are zero. With 16 or more channels per group, few products are wasted.
struct GroupedConvolution: BlockwiseConvolution {
    private let geometry: ConvolutionGeometry
    private let spans: [GroupSpan]
    /// The weights of each block of outputs: [input block][ky][kx][input channel in block][16 outputs]
    private let weights: [AlignedFloats]
    private let bias: AlignedFloats
    let blockParts: BlockParts

    /// - Parameter flat: [output][input in group][tap]
    init(_ geometry: ConvolutionGeometry, weights flat: [Float], bias: [Float]) {
        self.geometry = geometry
        let block = TensorShape.channelBlock
        let spans = (0..<geometry.outputBlocks).map { GroupSpan(ofBlock: $0, geometry) }
        weights = spans.map { span in
            let dense = span.denseWeights(of: flat, geometry)
            let inputs = span.channels * geometry.taps
            return DirectConvolution.packed(
                StoredNumbers(dense), outputs: dense.count / inputs, inputs: span.channels, taps: geometry.taps)
        }
        self.spans = spans
        self.bias = AlignedFloats(padding: bias, to: geometry.outputBlocks * block)
        blockParts = BlockParts(geometry)
    }

    func run(_ part: Int, image: Int, in pass: LayerPass) {
        var region = blockParts[part]
        for block in region.blocks {
            let span = spans[block]
            region.blocks = block..<(block + 1)
            var convolution = geometry.arguments(region, image: image, in: pass)
            convolution.input += span.firstBlock * convolution.input_block_stride
            convolution.input_channels = Int32(span.channels)
            convolution.weights = UnsafePointer(weights[block].pointer)
            convolution.bias = UnsafePointer(bias.pointer + block * TensorShape.channelBlock)
            convolution.output = pass.output.floats(image, region)
            pass.kernels.table.convolve(&convolution, 0, 1, 0, Int32(region.rows.count))
        }
    }
}

/// The inputs that a block of sixteen outputs of a grouped convolution reads.
struct GroupSpan: Sendable {
    /// The first block of inputs.
    let firstBlock: Int
    /// The number of channels from there on.
    let channels: Int
    private let outputs: Range<Int>

    init(ofBlock outputBlock: Int, _ geometry: ConvolutionGeometry) {
        let block = TensorShape.channelBlock
        outputs = (outputBlock * block)..<min((outputBlock + 1) * block, geometry.outputs)
        firstBlock = outputs.lowerBound / geometry.outputsPerGroup * geometry.inputsPerGroup / block
        let end = ((outputs.upperBound - 1) / geometry.outputsPerGroup + 1) * geometry.inputsPerGroup
        channels = end - firstBlock * block
    }

    /// The most channels from there on, whole blocks of them.
    ///
    /// Sixteen outputs touch the most groups if the first of them is the last of its group, and the channels of these
    /// groups may begin at the end of a block.
    static func mostChannels(groups: Int, inputsPerGroup: Int, outputsPerGroup: Int) -> Int {
        let block = TensorShape.channelBlock
        let touched = min(groups, (block - 2) / outputsPerGroup + 2)
        let before = groups == 1 ? 0 : block - 1
        return TensorShape.padded(before + touched * inputsPerGroup)
    }

    /// The weights of a dense convolution of these inputs, [output][input][tap]: zero between different groups.
    ///
    /// - Parameter flat: the weights of the grouped convolution, [output][input in group][tap].
    func denseWeights(of flat: [Float], _ geometry: ConvolutionGeometry) -> [Float] {
        let (inputs, taps) = (geometry.inputsPerGroup, geometry.taps)
        var dense = [Float](repeating: 0, count: outputs.count * channels * taps)
        for output in outputs {
            let group = output / geometry.outputsPerGroup
            let channel = group * inputs - firstBlock * TensorShape.channelBlock
            let start = ((output - outputs.lowerBound) * channels + channel) * taps
            dense.replaceSubrange(
                start..<(start + inputs * taps), with: flat[(output * inputs * taps)..<((output + 1) * inputs * taps)])
        }
        return dense
    }
}
