/// The parameters of a widget, which people edit. It is not performed: the widget reads its parameters.
public protocol WidgetConfigurationIntent: AppIntent {}

/// The parameters of a control, which people edit. It is not performed: the control reads its parameters.
public protocol ControlConfigurationIntent: AppIntent {}

extension WidgetConfigurationIntent {
    /// Does nothing.
    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}

extension ControlConfigurationIntent {
    /// Does nothing.
    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}

extension WidgetConfigurationIntent where Self: ControlConfigurationIntent {
    /// Does nothing.
    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}

/// An intent that sets a value, such as the toggle of a control.
public protocol SetValueIntent: AppIntent {
    /// The type of the value.
    associatedtype ValueType: Sendable

    /// The new value.
    var value: ValueType { get set }
}
