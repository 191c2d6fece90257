/// The outcome of an index run.
public struct IndexReport: Sendable {
    public var added = 0
    /// Entities whose image or metadata changed.
    public var updated = 0
    public var unchanged = 0
    public var problems: [IndexProblem] = []

    public init() {}

    /// The number of processed items.
    public var processed: Int { added + updated + unchanged + problems.count }
}
