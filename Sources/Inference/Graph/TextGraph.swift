/// The layers of a network that reads texts, as a model file describes them beside those for images.
///
/// JSON under the metadata key `lookalike.text_graph`. The layer `text` that the first ones read is a vector of twice
/// ``length`` numbers: those that a tokenizer makes of the text, filled up with ``padding``, and for each of them 1, or
/// 0 for what was filled up. The output of the last node, of length 1, is compared with the prints of images.
public struct TextGraph: Sendable, Codable {
    /// The version of this description that the program reads.
    public static let version = 1
    /// The key of the description in a model file's metadata.
    public static let metadataKey = "lookalike.text_graph"
    /// What the names of the tensors begin with that texts alone need: a tokenizer, and the weights of the layers.
    public static let tensorPrefix = "text."
    /// The name of the tensor, of type U8, that holds the tokenizer: a `tokenizer.json`.
    public static let tokenizerTensor = "text.tokenizer"

    /// The version of the description, see the static `version`.
    public var version = version
    /// How many numbers a text becomes.
    public var length: Int
    /// The number that a shorter text is filled up with.
    public var padding: Int
    /// The layers.
    public var nodes: [NetworkGraph.Node]

    /// A graph of the current version; it is checked when a network is built from it.
    public init(length: Int, padding: Int, nodes: [NetworkGraph.Node]) {
        (self.length, self.padding, self.nodes) = (length, padding, nodes)
    }

    private enum CodingKeys: String, CodingKey, CaseIterable { case version, length, padding, nodes }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        version = try values.decode(Int.self, forKey: .version)
        // First: another version may have other keys.
        guard version == Self.version else { throw ModelError.Reason.unknownVersion(version) }
        length = try values.decode(Int.self, forKey: .length)
        padding = try values.decode(Int.self, forKey: .padding)
        nodes = try values.decode([NetworkGraph.Node].self, forKey: .nodes)
        try NetworkGraph.refuseOthers(
            than: Set(CodingKeys.allCases.map(\.rawValue)), in: decoder, of: "the graph of texts")
    }
}
