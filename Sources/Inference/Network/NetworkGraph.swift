/// The layers of a network, as a model file describes them.
///
/// JSON under the metadata key `lookalike.graph`; batch normalization is already folded into the weights. Nodes are in
/// an order in which they can be run: a node's inputs come before it.
public struct NetworkGraph: Sendable, Codable {
    /// The version of this description that the program reads.
    public static let version = 1
    package static let metadataKey = "lookalike.graph"

    /// The input image: RGB in 0...1, normalized per channel as `(value - mean) / std`.
    public struct Input: Sendable, Codable, Equatable {
        public var width: Int
        public var height: Int
        public var mean: [Float]
        public var std: [Float]
    }

    /// One layer: an operation on the output of another layer.
    public struct Node: Sendable, Equatable {
        public var name: String
        /// The node whose output is read, or `image`.
        public var input: String
        public var operation: Operation
    }

    public var version: Int
    public var name: String
    public var input: Input
    /// The output of the last node is the feature print.
    public var nodes: [Node]
    /// The node, if any, that localizes the object: eight numbers, x and y of its corners in pixels of the input,
    /// clockwise from its top left.
    public var corners: String?
}
