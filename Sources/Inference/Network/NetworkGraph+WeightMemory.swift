extension NetworkGraph.Node {
    /// The most bytes that the node's layer keeps for weights or a constant, from the shapes of its tensors alone.
    ///
    /// The file's size is no bound: any number of nodes may name one tensor, and packed weights have whole blocks of
    /// channels, zeros between groups (``GroupSpan``) and, for Winograd's method, 36 elements for each nine. Of a
    /// tensor that is missing or has another shape than the layer needs, the number means nothing: the layer refuses it
    /// before it packs anything. Nothing overflows: a tensor's elements are in memory, and no factor is above 2¹³.
    func weightBytes(in file: SafeTensorsFile) -> Int {
        let block = TensorShape.channelBlock
        func padded(_ channels: Int) -> Int { (channels + block - 1) / block * block }
        func count(_ tensor: String) -> Int { file.shape(of: tensor)?.reduce(1, *) ?? 0 }
        // Biases, scales, and where a block of outputs begins.
        let besidesWeights = 4
        let floats: Int
        switch operation {
        case .convolution(let convolution):
            guard let shape = file.shape(of: convolution.weight), shape.count == 4, shape.allSatisfy({ $0 > 0 }),
                convolution.groups > 0
            else { return 0 }
            let (outputs, inputs, taps) = (shape[0], shape[1], shape[2] * shape[3])
            let channels = GroupSpan.mostChannels(
                groups: convolution.groups, inputsPerGroup: inputs,
                outputsPerGroup: max(1, outputs / convolution.groups))
            let mayBeWinograd = convolution.groups == 1 && convolution.kernel == 3 && convolution.stride == 1
            floats = padded(outputs) * (channels * taps * (mayBeWinograd ? 4 : 1) + besidesWeights)
        case .linear(let linear):
            guard let shape = file.shape(of: linear.weight), shape.count == 2, shape.allSatisfy({ $0 > 0 }) else {
                return 0
            }
            floats = padded(shape[0]) * (padded(shape[1]) + besidesWeights)
        case .normalization(let normalization):
            floats = padded(count(normalization.weight)) + padded(count(normalization.bias))
        case .constant(let constant): floats = count(constant.tensor)
        case .generalizedMean, .l2Normalization, .cornerVotes, .maximumPooling, .averagePooling, .activation,
            .combination, .map, .rearrangement, .channelSelection, .concatenation, .padding, .reduction, .softmax,
            .matrixProduct, .resizing:
            floats = 0
        }
        return floats * MemoryLayout<Float>.stride
    }
}
