/// Which network made a print: prints of different networks cannot be compared.
public struct ModelIdentity: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name in the model's file, for people.
    public let name: String
    /// SHA-256 of the graph and the weights, hexadecimal.
    public let digest: String

    public init(name: String, digest: String) {
        self.name = name
        self.digest = digest
    }

    public static func == (a: Self, b: Self) -> Bool { a.digest == b.digest }
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    public var description: String { "\(name) (\(digest.prefix(12)))" }
}
