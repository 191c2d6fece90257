/// The layers of a network, as the metadata of its file tell them.
///
/// JSON under the metadata key `lookalike.graph`; batch normalisation is already folded into the
/// weights. Nodes are in an order in which they can be run: a node's inputs come before it.
public struct NetworkGraph: Sendable, Codable {
    /// The version of this description that the program reads.
    public static let version = 1
    static let metadataKey = "lookalike.graph"

    /// The image that goes in: RGB in 0...1, `(value - mean) / std` a channel.
    public struct Input: Sendable, Codable, Equatable {
        public var width: Int
        public var height: Int
        public var mean: [Float]
        public var std: [Float]
    }

    /// A layer. Which of the optional keys are needed depends on `op`.
    public struct Node: Sendable, Codable {
        public var name: String
        /// `convolution`, `generalized_mean`, `linear`, `l2_normalize` or `corner_votes`.
        public var op: String
        /// The node whose output goes in, or `image`.
        public var input: String
        /// A node whose output is added before the activation.
        public var residual: String?
        public var weight: String?
        public var bias: String?
        public var outputs: Int?
        public var kernel: Int?
        public var stride: Int?
        public var padding: Int?
        public var relu: Bool?
        public var power: Float?
        public var epsilon: Float?
    }

    public var version: Int
    public var name: String
    public var input: Input
    /// The last one gives the print.
    public var nodes: [Node]
    /// The node, if any, that tells where in the image the thing is: eight numbers, x and y of its
    /// corners in pixels of the input, clockwise from its top left.
    public var corners: String?
}
