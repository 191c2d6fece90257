/// A node of the graph with what it needs to become a layer.
struct LayerDescription {
    let node: NetworkGraph.Node
    let input: TensorShape
    let others: [TensorShape]
    let file: SafeTensorsFile
    /// Nil in a network that computes in float32.
    let quantization: Quantization.LayerParameters?

    /// The layer types, one per line.
    func makeLayer() throws(ModelError.Reason) -> any Layer {
        switch node.operation {
        case .convolution(let convolution): try ConvolutionLayer(convolution, self)
        case .generalizedMean(let power, let epsilon): try GeneralizedMeanLayer(power: power, epsilon: epsilon, self)
        case .linear(let linear): try LinearLayer(linear, self)
        case .cornerVotes(let stride): try CornerVotesLayer(stride: stride, self)
        case .l2Normalization: try L2NormalizationLayer(self)
        case .maximumPooling(let pooling): try PoolingLayer(pooling, mean: false, self)
        case .averagePooling(let pooling): try PoolingLayer(pooling, mean: true, self)
        case .activation(let activation): try ActivationLayer(activation, self)
        case .combination(let combination): try CombinationLayer(combination, self)
        case .constant(let constant): try ConstantLayer(constant, self)
        case .map: try MapLayer(self)
        case .rearrangement(let rearrangement): try RearrangementLayer(rearrangement, self)
        case .channelSelection(let selection): try ChannelSelectionLayer(selection, self)
        case .concatenation(let concatenation): try ConcatenationLayer(concatenation, self)
        case .padding(let padding): try PaddingLayer(padding, self)
        case .reduction(let reduction): try ReductionLayer(reduction, self)
        case .softmax(let axis): try SoftmaxLayer(axis: axis, self)
        case .normalization(let normalization): try NormalizationLayer(normalization, self)
        case .matrixProduct: try MatrixProductLayer(self)
        case .resizing(let resizing): try ResizingLayer(resizing, self)
        }
    }

    func checked(_ value: Int, _ key: String, in range: ClosedRange<Int>) throws(ModelError.Reason) -> Int {
        guard range.contains(value) else {
            throw problem("has \(key) \(value), outside \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    /// Refuses the image, which has no blocks of channels.
    func checkIsNoImage() throws(ModelError.Reason) {
        for case .image in [input] + others { throw problem("reads the image; it needs a map of it") }
    }

    /// An axis of a tensor, which may have none.
    func checkedAxis(_ axis: Int, of extents: [Int]) throws(ModelError.Reason) -> Int {
        guard extents.indices.contains(axis) else { throw problem("has axis \(axis), but its input is \(extents)") }
        return axis
    }

    /// The number of elements of a shape that a file states.
    func elementCount(_ shape: [Int]) throws(ModelError.Reason) -> Int {
        var count = 1
        guard shape.count <= Self.mostAxes else { throw problem("has \(shape.count) axes, more than \(Self.mostAxes)") }
        for extent in shape {
            let (product, overflow) = count.multipliedReportingOverflow(by: extent)
            guard extent > 0, !overflow, product <= Self.mostElements else {
                throw problem("has the impossible shape \(shape)")
            }
            count = product
        }
        return count
    }

    /// Layers walk over axes by recursion.
    private static let mostAxes = 16
    /// As many floats as a pass over one image may have.
    private static let mostElements = 128 << 20

    func problem(_ words: String) -> ModelError.Reason { .unusableGraph("layer “\(node.name)” \(words)") }
}
