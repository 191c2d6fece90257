/// The layers of a network, as a model file describes them.
///
/// JSON under the metadata key `lookalike.graph`; batch normalization is already folded into the weights. Nodes are in
/// an order in which they can be run: a node's inputs come before it.
public struct NetworkGraph: Sendable, Codable {
    /// The version of this description that the program reads.
    public static let version = 1
    /// The key of the description in a model file's metadata.
    public static let metadataKey = "lookalike.graph"

    /// The input image: RGB in 0...1, normalized per channel as `(value - mean) / std`.
    public struct Input: Sendable, Codable, Equatable {
        /// The width in pixels.
        public var width: Int
        /// The height in pixels.
        public var height: Int
        /// The means of red, green and blue.
        public var mean: [Float]
        /// The standard deviations of red, green and blue.
        public var std: [Float]
        /// The side to which an image's shorter one is resized before its center becomes the input; nil for an image
        /// that is stretched to the input.
        public var shortestSide: Int?
        /// The filter that resizes an image.
        public var filter: Filter

        /// How pixels are weighed; both filters are antialiased.
        public enum Filter: String, Sendable, Codable {
            /// A triangle.
            case bilinear
            /// A cubic with the parameter −½.
            case bicubic
        }

        /// An image; it is checked when a network is built from the graph.
        public init(
            width: Int, height: Int, mean: [Float], std: [Float], shortestSide: Int? = nil, filter: Filter = .bilinear
        ) {
            (self.width, self.height, self.mean, self.std) = (width, height, mean, std)
            (self.shortestSide, self.filter) = (shortestSide, filter)
        }

        private enum CodingKeys: String, CodingKey, CaseIterable {
            case width, height, mean, std, filter
            case shortestSide = "shortest_side"
        }

        public init(from decoder: any Decoder) throws {
            try NetworkGraph.refuseOthers(
                than: Set(CodingKeys.allCases.map(\.rawValue)), in: decoder, of: "its input")
            let values = try decoder.container(keyedBy: CodingKeys.self)
            width = try values.decode(Int.self, forKey: .width)
            height = try values.decode(Int.self, forKey: .height)
            mean = try values.decode([Float].self, forKey: .mean)
            std = try values.decode([Float].self, forKey: .std)
            shortestSide = try values.decodeIfPresent(Int.self, forKey: .shortestSide)
            filter = try values.decodeIfPresent(Filter.self, forKey: .filter) ?? .bilinear
        }

        public func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(width, forKey: .width)
            try values.encode(height, forKey: .height)
            try values.encode(mean, forKey: .mean)
            try values.encode(std, forKey: .std)
            try values.encodeIfPresent(shortestSide, forKey: .shortestSide)
            if filter != .bilinear { try values.encode(filter, forKey: .filter) }
        }
    }

    /// One layer: an operation on the output of another layer.
    public struct Node: Sendable {
        /// Unique in the graph.
        public var name: String
        /// The node whose output is read, or `image`.
        public var input: String
        /// What the layer computes.
        public var operation: any LayerOperation

        /// A layer; it is checked when a network is built from the graph.
        public init(name: String, input: String, operation: any LayerOperation) {
            (self.name, self.input, self.operation) = (name, input, operation)
        }
    }

    /// The version of the description, see the static `version`.
    public var version: Int
    /// The name of the model, for display.
    public var name: String
    /// The image that the network takes.
    public var input: Input
    /// The output of the last node is the feature print.
    public var nodes: [Node]
    /// The node, if any, that localizes the object: eight numbers, x and y of its corners in pixels of the input,
    /// clockwise from its top left.
    public var corners: String?

    /// A graph of the current version; it is checked when a network is built from it.
    public init(name: String, input: Input, nodes: [Node], corners: String? = nil) {
        version = Self.version
        (self.name, self.input, self.nodes, self.corners) = (name, input, nodes, corners)
    }

    private enum CodingKeys: String, CodingKey, CaseIterable { case version, name, input, nodes, corners }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        version = try values.decode(Int.self, forKey: .version)
        // First: another version may have other keys.
        guard version == Self.version else { throw ModelError.Reason.unknownVersion(version) }
        name = try values.decode(String.self, forKey: .name)
        input = try values.decode(Input.self, forKey: .input)
        nodes = try values.decode([Node].self, forKey: .nodes)
        corners = try values.decodeIfPresent(String.self, forKey: .corners)
        try Self.refuseOthers(than: Set(CodingKeys.allCases.map(\.rawValue)), in: decoder, of: "the graph")
    }
}

extension NetworkGraph {
    /// Throws if an object has keys that this program does not read.
    static func refuseOthers(than known: Set<String>, in decoder: any Decoder, of what: String) throws {
        let unknown = try decoder.container(keyedBy: AnyKey.self).allKeys.filter { !known.contains($0.stringValue) }
            .sorted { $0.stringValue < $1.stringValue }
        guard let first = unknown.first else { return }
        let names = unknown.map { "“\($0.stringValue)”" }.joined(separator: ", ")
        throw DecodingError.dataCorrupted(
            .init(
                codingPath: decoder.codingPath + [first],
                debugDescription: "\(what) has \(names), which this program does not know; "
                    + "it reads \(known.sorted().joined(separator: ", "))"))
    }
}
