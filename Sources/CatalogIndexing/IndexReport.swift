public import CatalogEntities

/// The outcome of an index run.
public struct IndexReport: Sendable, Hashable, Codable {
    /// New entities.
    public var added = 0
    /// Entities whose images or metadata changed.
    public var updated = 0
    /// Entities whose images and metadata are as stored.
    public var unchanged = 0
    /// Items that were not indexed.
    public var failed = 0
    /// What is wrong with them, and with images of other items: their entities were indexed by their other images.
    public var problems: [IndexProblem] = []
    /// What was ignored in items that were indexed.
    public var notes: [Note] = []

    /// A report; without items by default.
    public init(
        added: Int = 0, updated: Int = 0, unchanged: Int = 0, failed: Int = 0, problems: [IndexProblem] = [],
        notes: [Note] = []
    ) {
        (self.added, self.updated, self.unchanged, self.failed) = (added, updated, unchanged, failed)
        (self.problems, self.notes) = (problems, notes)
    }

    /// The number of processed items.
    public var processed: Int { added + updated + unchanged + failed }

    mutating func add(_ other: IndexReport) {
        added += other.added
        updated += other.updated
        unchanged += other.unchanged
        failed += other.failed
        problems += other.problems
        notes += other.notes
    }
}

extension IndexReport {
    /// What was ignored in an item that was indexed, such as a color profile that cannot be used.
    public struct Note: Sendable, Hashable, Codable, CustomStringConvertible {
        /// A path, or a manifest and a line.
        public let subject: String
        /// What was ignored, and why; for people.
        public let text: String

        /// A note about an item.
        public init(subject: String, text: String) {
            self.subject = subject
            self.text = text
        }

        public var description: String { "\(subject): note: \(text)" }
    }
}

/// What an index run did, as JSON.
package struct IndexAnswer: Encodable {
    private struct Problem: Encodable {
        let subject: String
        let reason: String
    }

    private let added: Int
    private let updated: Int
    private let unchanged: Int
    /// The ids of entities; nil unless what is gone was to be removed.
    private let removed: [String]?
    private let problems: [Problem]
    /// What was ignored or may surprise in items that were indexed.
    private let notes: [IndexReport.Note]

    package init(_ report: IndexReport, removed: [String]? = nil) {
        (added, updated, unchanged, self.removed) = (report.added, report.updated, report.unchanged, removed)
        problems = report.problems.map { Problem(subject: $0.subject, reason: $0.reason) }
        notes = report.notes
    }
}
