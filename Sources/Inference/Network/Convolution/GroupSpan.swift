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
