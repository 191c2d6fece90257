public import Foundation

/// An error whose `localizedDescription` is its `description`. Foundation's own says that the operation could not be
/// completed.
public protocol DescribedError: LocalizedError, CustomStringConvertible {}

extension DescribedError {
    /// What is wrong, for people.
    public var errorDescription: String? { description }
    // Foundation has these, for files that import it.
    /// Nil: the description says it all.
    public var failureReason: String? { nil }
    /// Nil: the description says it all.
    public var recoverySuggestion: String? { nil }
    /// Nil: there is no help by topic.
    public var helpAnchor: String? { nil }
}
