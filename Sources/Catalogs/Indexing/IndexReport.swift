/// The outcome of an index run.
public struct IndexReport: Sendable {
    /// New entities.
    public var added = 0
    /// Entities whose image or metadata changed.
    public var updated = 0
    /// Entities whose image and metadata are as stored.
    public var unchanged = 0
    /// Items that were not indexed.
    public var problems: [IndexProblem] = []
    /// What was ignored in items that were indexed.
    public var notes: [IndexNote] = []

    /// A report without items.
    public init() {}

    /// The number of processed items.
    public var processed: Int { added + updated + unchanged + problems.count }

    mutating func add(_ other: IndexReport) {
        added += other.added
        updated += other.updated
        unchanged += other.unchanged
        problems += other.problems
        notes += other.notes
    }
}
