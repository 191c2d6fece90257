/// A node of the graph with what it needs to become a layer.
struct LayerDescription {
    let node: NetworkGraph.Node
    let input: TensorShape
    let residual: TensorShape?
    let file: SafeTensorsFile
    /// Nil in a network that computes in float32.
    let quantization: Quantization.Scales?

    /// The layer types, one per line.
    func makeLayer() throws(ModelError.Reason) -> any Layer {
        switch node.operation {
        case .convolution(let convolution): try ConvolutionLayer(convolution, self)
        case .generalizedMean(let power, let epsilon): try GeneralizedMeanLayer(power: power, epsilon: epsilon, self)
        case .linear(let linear): try LinearLayer(linear, self)
        case .cornerVotes(let stride): try CornerVotesLayer(stride: stride, self)
        case .l2Normalization: try L2NormalizationLayer(self)
        }
    }

    func checked(_ value: Int, _ key: String, in range: ClosedRange<Int>) throws(ModelError.Reason) -> Int {
        guard range.contains(value) else {
            throw problem("has \(key) \(value), outside \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    func problem(_ words: String) -> ModelError.Reason { .unusableGraph("layer “\(node.name)” \(words)") }
}
