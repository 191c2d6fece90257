#if SystemStores
public import Foundation

/// Data of the user outside the app, shared with the system and other apps: a calendar, contacts, health readings.
///
/// Other apps write to the store, so an app reads it when it starts and after each change.
public protocol SystemStore<Item>: Sendable {
    associatedtype Item: Sendable

    /// An element after every change of the store; changes in quick succession may come as one. The sequence ends when
    /// its task is cancelled or the store is gone.
    func changes() throws -> AsyncStream<Void>
}

/// A store whose items have a time.
public protocol DatedStore<Item>: SystemStore {
    /// The items of a span of time, in order, with the problems of those that could not be read.
    func items(in span: DateInterval) async throws -> StoreContents<Item>
}

/// The items of a store that were read.
public struct StoreContents<Item: Sendable>: Sendable {
    public var items: [Item]
    public var problems: [StoreProblem]

    public init(items: [Item], problems: [StoreProblem] = []) {
        self.items = items
        self.problems = problems
    }
}

/// An item or file of a store that could not be read.
public struct StoreProblem: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// A path.
    public let subject: String
    public let reason: String

    public init(subject: String, reason: String) {
        self.subject = subject
        self.reason = reason
    }

    public var description: String { "\(subject): \(reason)" }
    public var errorDescription: String? { description }
}

/// The problems of one file: the first ones, and how many more there are. A damaged file may have millions.
struct FileProblems {
    private static let most = 100

    let path: String
    private var first: [StoreProblem] = []
    private var others = 0

    init(path: String) { self.path = path }

    mutating func add(_ reason: String) {
        if first.count < Self.most {
            first.append(StoreProblem(subject: path, reason: reason))
        } else {
            others += 1
        }
    }

    /// The beginning of a text that many problems name: together they would not fit into memory if it were long. Not by
    /// characters, one of which may have any length.
    static func shortened(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(100)))
    }

    var all: [StoreProblem] {
        others == 0 ? first : first + [StoreProblem(subject: path, reason: "has \(others) further problems")]
    }
}
#endif
