public import Compute

/// An item that was not indexed, an image of one that was, or an input that cannot be used.
public struct IndexProblem: DescribedError, Sendable, Hashable, Codable {
    /// A path, a manifest and a line, or an entity.
    public let subject: String
    /// What is wrong with it, for people.
    public let reason: String

    /// A problem with an item or an input.
    public init(subject: String, reason: String) {
        self.subject = subject
        self.reason = reason
    }

    public var description: String { "\(subject): \(reason)" }
}
