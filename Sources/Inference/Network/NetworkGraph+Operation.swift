extension NetworkGraph {
    /// What a layer computes, with its parameters. Weights and biases are names of tensors in the file.
    public enum Operation: Sendable, Equatable {
        /// A convolution, with its residual and its ReLU.
        case convolution(Convolution)
        /// Pooling: the `power`th root of the mean of `power`th powers, per channel.
        case generalizedMean(power: Float, epsilon: Float)
        /// A fully connected layer.
        case linear(Linear)
        /// Division by the Euclidean norm.
        case l2Normalization
        /// The corners of an object from a vote of every cell of a map.
        case cornerVotes(stride: Int)
    }

    /// A dense convolution. The residual is added before ReLU.
    public struct Convolution: Sendable, Equatable {
        /// The tensor of the weights: [outputs][inputs][kernel][kernel].
        public var weight: String
        /// The tensor of the biases: [outputs].
        public var bias: String
        /// The number of output channels.
        public var outputs: Int
        /// The side of the kernel.
        public var kernel: Int
        /// The step between outputs, along both axes.
        public var stride: Int
        /// The zeros added on each side.
        public var padding: Int
        /// Whether negative outputs become 0.
        public var relu: Bool
        /// The node whose output is added.
        public var residual: String?

        /// A convolution; it is checked when a network is built from the graph.
        public init(
            weight: String, bias: String, outputs: Int, kernel: Int, stride: Int, padding: Int, relu: Bool = false,
            residual: String? = nil
        ) {
            self.weight = weight
            self.bias = bias
            self.outputs = outputs
            self.kernel = kernel
            self.stride = stride
            self.padding = padding
            self.relu = relu
            self.residual = residual
        }
    }

    /// `weight · x + bias`.
    public struct Linear: Sendable, Equatable {
        /// The tensor of the weights: [outputs][inputs].
        public var weight: String
        /// The tensor of the biases: [outputs].
        public var bias: String
        /// The dimension of the output.
        public var outputs: Int

        /// A fully connected layer; it is checked when a network is built from the graph.
        public init(weight: String, bias: String, outputs: Int) {
            self.weight = weight
            self.bias = bias
            self.outputs = outputs
        }
    }
}

extension NetworkGraph.Node {
    /// Nil for a node that is no convolution.
    var convolution: NetworkGraph.Convolution? {
        if case .convolution(let convolution) = operation { convolution } else { nil }
    }

    /// The node whose output is added, if any.
    var residual: String? { convolution?.residual }
}
