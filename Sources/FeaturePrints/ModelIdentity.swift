/// The network that made a print. Only prints of one network can be compared.
public struct ModelIdentity: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name in the model file, for display.
    public let name: String
    /// SHA-256 of the graph and the weights, hexadecimal.
    public let digest: String

    /// An identity, as stored with a catalog.
    ///
    /// - Parameter digest: SHA-256, hexadecimal. It alone decides equality.
    public init(name: String, digest: String) {
        self.name = name
        self.digest = digest
    }

    public static func == (a: Self, b: Self) -> Bool { a.digest == b.digest }
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    public var description: String { "\(name) (\(digest.prefix(12)))" }
}
