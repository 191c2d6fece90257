extension NetworkGraph {
    /// What a layer computes, with its parameters. Weights and biases are names of tensors in the file.
    public enum Operation: Sendable, Equatable {
        case convolution(Convolution)
        /// Pooling: the `power`th root of the mean of `power`th powers, per channel.
        case generalizedMean(power: Float, epsilon: Float)
        case linear(Linear)
        case l2Normalization
        /// The corners of an object from a vote of every cell of a map.
        case cornerVotes(stride: Int)
    }

    /// A dense convolution. The residual is added before ReLU.
    public struct Convolution: Sendable, Equatable {
        public var weight: String
        public var bias: String
        public var outputs: Int
        public var kernel: Int
        public var stride: Int
        public var padding: Int
        public var relu: Bool
        /// The node whose output is added.
        public var residual: String?

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
        public var weight: String
        public var bias: String
        public var outputs: Int

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
