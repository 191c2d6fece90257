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
        return (before + touched * inputsPerGroup + block - 1) / block * block
    }

    /// The weights of a dense convolution of these inputs, [output][input][tap]: zero between different groups.
    ///
    /// - Parameter flat: those of the grouped convolution, [output][input in group][tap].
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
