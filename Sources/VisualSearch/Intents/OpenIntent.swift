/// An intent that shows an entity in the app.
///
/// It needs no `perform()`: `OpenIntents.register(_:onExecution:)` takes what the app does.
public protocol OpenIntent: AppIntent {
    /// The type of the entity.
    associatedtype Value: Sendable

    /// The entity to open.
    var target: Value { get set }
}

extension OpenIntent {
    /// Whether the app comes to the foreground: it does.
    public static var openAppWhenRun: Bool { true }

    /// Does nothing; the app shows the target when the intent was executed.
    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}

/// An intent whose target the app shows outside of `perform()`.
public protocol TargetContentProvidingIntent: AppIntent {}

extension TargetContentProvidingIntent {
    /// Does nothing; the app shows the target when the intent was executed.
    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}

extension OpenIntent where Self: TargetContentProvidingIntent {
    /// Does nothing; the app shows the target when the intent was executed.
    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}
