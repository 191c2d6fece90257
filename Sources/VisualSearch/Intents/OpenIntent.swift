/// An intent that shows an entity in the app.
///
/// It needs no `perform()`: `OpenIntents.register(_:onExecution:)` takes what the app does.
public protocol OpenIntent: AppIntent {
    associatedtype Value: Sendable

    /// The entity to open.
    var target: Value { get set }
}

extension OpenIntent {
    public static var openAppWhenRun: Bool { true }

    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}

/// An intent whose target the app shows outside of `perform()`.
public protocol TargetContentProvidingIntent: AppIntent {}

extension TargetContentProvidingIntent {
    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}

extension OpenIntent where Self: TargetContentProvidingIntent {
    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}
