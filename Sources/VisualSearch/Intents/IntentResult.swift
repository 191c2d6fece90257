/// The result of performing an intent; made by `.result(…)`.
///
/// The type of the result says what it has: `some IntentResult & ReturnsValue<Int> & ProvidesDialog`.
public protocol IntentResult: Sendable {
    /// The type of the value; `Never` without one.
    associatedtype Value: Sendable = Never

    /// The value; nil if the result has none.
    var value: Value? { get }
    /// What to tell the person; nil for nothing.
    var dialog: IntentDialog? { get }
    /// The intent to perform next; nil for none.
    var nextIntent: (any AppIntent)? { get }
}

/// A result with a value.
public protocol ReturnsValue<Value>: IntentResult {}

/// A result with words for the person.
public protocol ProvidesDialog: IntentResult {}

/// A result that another intent follows.
public protocol OpensIntent: IntentResult {}

/// A result with or without a value, a dialog and a next intent; `Never` is the type of a missing one.
public struct IntentResultContainer<Value: Sendable, Dialog: Sendable, Next: Sendable>: IntentResult {
    /// The value; nil without one.
    public let value: Value?
    /// What to tell the person; nil for nothing.
    public let dialog: IntentDialog?
    /// The intent to perform next; nil for none.
    public let nextIntent: (any AppIntent)?

    fileprivate init(value: Value? = nil, dialog: IntentDialog? = nil, nextIntent: (any AppIntent)? = nil) {
        self.value = value
        self.dialog = dialog
        self.nextIntent = nextIntent
    }
}

extension IntentResultContainer: ReturnsValue {}

extension IntentResultContainer: ProvidesDialog where Dialog == IntentDialog {}

extension IntentResultContainer: OpensIntent where Next: AppIntent {}

extension IntentResult {
    /// A result without a value.
    public static func result() -> Self where Self == IntentResultContainer<Never, Never, Never> { Self() }

    /// A result with a value.
    public static func result<Value>(value: Value) -> Self where Self == IntentResultContainer<Value, Never, Never> {
        Self(value: value)
    }

    /// A result with words for the person.
    public static func result(dialog: IntentDialog) -> Self
    where Self == IntentResultContainer<Never, IntentDialog, Never> {
        Self(dialog: dialog)
    }

    /// A result with a value and words for the person.
    public static func result<Value>(value: Value, dialog: IntentDialog) -> Self
    where Self == IntentResultContainer<Value, IntentDialog, Never> {
        Self(value: value, dialog: dialog)
    }

    /// A result that another intent follows.
    public static func result<Next: AppIntent>(opensIntent: Next) -> Self
    where Self == IntentResultContainer<Never, Never, Next> {
        Self(nextIntent: opensIntent)
    }
}

/// What an intent tells or asks a person.
public struct IntentDialog: Sendable, Hashable {
    /// The words.
    public var full: LocalizedStringResource

    /// A dialog of these words.
    public init(_ text: LocalizedStringResource) { full = text }
}

extension IntentDialog: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(LocalizedStringResource(value)) }

    public init(stringInterpolation: LocalizedStringResource.StringInterpolation) {
        self.init(LocalizedStringResource(stringInterpolation: stringInterpolation))
    }
}
