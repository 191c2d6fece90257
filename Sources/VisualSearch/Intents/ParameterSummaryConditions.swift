/// How a parameter is compared with a value.
public enum ParameterSummaryComparisonOperator: Sendable, Hashable {
    /// It has the value.
    case equalTo
    /// It has another value, or none.
    case notEqualTo
}

/// How a parameter is compared with several values.
public enum ParameterSummaryMembershipOperator: Sendable, Hashable {
    /// It has one of the values.
    case oneOf
}

/// Whether a parameter was set.
public enum ParameterSummaryPresenceOperator: Sendable, Hashable {
    /// It was set, and not to nil.
    case hasAnyValue
    /// It was not set, or to nil.
    case hasNoValue
}

/// One of two sentences, by a parameter's value.
///
/// ```swift
/// When(\.$genre, .hasAnyValue) {
///     Summary("Find \(\.$genre) albums")
/// } otherwise: {
///     Summary("Find albums")
/// }
/// ```
public struct ParameterSummaryWhenCondition<Intent: AppIntent>: ParameterSummary {
    private let condition: @Sendable (Intent) -> Bool
    private let whenTrue: any ParameterSummary
    private let whenFalse: any ParameterSummary

    /// By a comparison with a value.
    public init<Value: Equatable & Sendable>(
        _ parameter: KeyPath<Intent, IntentParameter<Value>> & Sendable,
        _ comparison: ParameterSummaryComparisonOperator, _ value: Value,
        @ParameterSummaryBuilder _ then: () -> some ParameterSummary,
        @ParameterSummaryBuilder otherwise: () -> some ParameterSummary
    ) {
        condition = { intent in
            (intent[keyPath: parameter].currentValue == value) == (comparison == .equalTo)
        }
        (whenTrue, whenFalse) = (then(), otherwise())
    }

    /// By whether the value is among several.
    public init<Value: Equatable & Sendable>(
        _ parameter: KeyPath<Intent, IntentParameter<Value>> & Sendable,
        _: ParameterSummaryMembershipOperator, _ values: [Value],
        @ParameterSummaryBuilder _ then: () -> some ParameterSummary,
        @ParameterSummaryBuilder otherwise: () -> some ParameterSummary
    ) {
        condition = { intent in intent[keyPath: parameter].currentValue.map(values.contains) ?? false }
        (whenTrue, whenFalse) = (then(), otherwise())
    }

    /// By whether it was set.
    public init<Value: Sendable>(
        _ parameter: KeyPath<Intent, IntentParameter<Value>> & Sendable, _ presence: ParameterSummaryPresenceOperator,
        @ParameterSummaryBuilder _ then: () -> some ParameterSummary,
        @ParameterSummaryBuilder otherwise: () -> some ParameterSummary
    ) {
        condition = { intent in intent[keyPath: parameter].isSet == (presence == .hasAnyValue) }
        (whenTrue, whenFalse) = (then(), otherwise())
    }

    public func sentence(for intent: (any AppIntent)?) -> ParameterSentence {
        (condition(intent as? Intent ?? Intent()) ? whenTrue : whenFalse).sentence(for: intent)
    }
}

/// One of several sentences, by a parameter's value.
///
/// ```swift
/// Switch(\.$genre) {
///     Case(.jazz) { Summary("Play jazz by \(\.$artist)") }
///     DefaultCase { Summary("Play \(\.$genre)") }
/// }
/// ```
public struct ParameterSummarySwitchCondition<Intent: AppIntent, Value: Equatable & Sendable>: ParameterSummary {
    private let parameter: KeyPath<Intent, IntentParameter<Value>> & Sendable
    private let cases: [ParameterSummaryCaseCondition<Intent, Value>]
    private let otherwise: (any ParameterSummary)?

    /// The sentences by the value of a parameter.
    public init(
        _ parameter: KeyPath<Intent, IntentParameter<Value>> & Sendable,
        @ParameterSummaryCaseBuilder<Intent, Value> _ cases: () -> ParameterSummaryCases<Intent, Value>
    ) {
        self.parameter = parameter
        let cases = cases()
        (self.cases, otherwise) = (cases.cases, cases.otherwise)
    }

    /// The sentence of the first case with the parameter's value; an empty one if no case has it.
    public func sentence(for intent: (any AppIntent)?) -> ParameterSentence {
        let value = (intent as? Intent ?? Intent())[keyPath: parameter].currentValue
        let content = cases.first { $0.values.contains { $0 == value } }?.content ?? otherwise
        return content?.sentence(for: intent) ?? ParameterSentence(text: "", furtherParameters: [])
    }
}

/// Values with their sentence, in a `Switch`.
public struct ParameterSummaryCaseCondition<Intent: AppIntent, Value: Equatable & Sendable>: Sendable {
    let values: [Value]
    let content: any ParameterSummary

    /// A value with its sentence.
    public init(_ value: Value, @ParameterSummaryBuilder _ content: () -> some ParameterSummary) {
        self.init([value], content)
    }

    /// Values with their sentence.
    public init(_ values: [Value], @ParameterSummaryBuilder _ content: () -> some ParameterSummary) {
        self.values = values
        self.content = content()
    }
}

/// The sentence of all other values, in a `Switch`.
public struct ParameterSummaryDefaultCaseCondition<Intent: AppIntent>: Sendable {
    let content: any ParameterSummary

    /// The sentence of all other values.
    public init(@ParameterSummaryBuilder _ content: () -> some ParameterSummary) { self.content = content() }
}

/// The cases of a `Switch`.
public struct ParameterSummaryCases<Intent: AppIntent, Value: Equatable & Sendable>: Sendable {
    var cases: [ParameterSummaryCaseCondition<Intent, Value>] = []
    var otherwise: (any ParameterSummary)?
}

/// Builds the cases of a `Switch` from one per line.
@resultBuilder
public enum ParameterSummaryCaseBuilder<Intent: AppIntent, Value: Equatable & Sendable> {
    /// The cases.
    public typealias Cases = ParameterSummaryCases<Intent, Value>

    /// One case.
    public static func buildExpression(_ one: ParameterSummaryCaseCondition<Intent, Value>) -> Cases {
        Cases(cases: [one])
    }
    /// The case of all other values.
    public static func buildExpression(_ other: ParameterSummaryDefaultCaseCondition<Intent>) -> Cases {
        Cases(otherwise: other.content)
    }
    /// The cases in the order of their lines; the first that matches counts.
    public static func buildBlock(_ parts: Cases...) -> Cases {
        Cases(cases: parts.flatMap(\.cases), otherwise: parts.compactMap(\.otherwise).first)
    }
}

extension IntentParameter {
    /// The value; nil if there is none and the type has none for that.
    var currentValue: Value? { value ?? missingValue() }
}
