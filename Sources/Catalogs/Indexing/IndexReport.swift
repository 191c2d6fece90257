/// What an index run did.
public struct IndexReport: Sendable {
    public var added = 0
    /// Their image or what is said of them changed.
    public var updated = 0
    public var unchanged = 0
    public var problems: [IndexProblem] = []

    public init() {}

    /// Items that are done with, one way or another.
    public var processed: Int { added + updated + unchanged + problems.count }
}
