import Foundation

/// An intent and its parameters as a sentence, to list an app's intents.
public protocol ParameterSummary: Sendable {
    /// The sentence for an intent with the values that it has, where it depends on them; the sentence without values if
    /// the intent is nil or of another type.
    func sentence(for intent: (any AppIntent)?) -> ParameterSentence
}

extension ParameterSummary {
    /// The sentence of an intent that was not changed, parameters as `${title}`.
    public var text: String { sentence(for: nil).text }
}

/// A sentence with places for parameters.
public struct ParameterSentence: Sendable, Hashable {
    /// The sentence, parameters as `${title}`.
    public let text: String
    /// The titles of the parameters that are listed below the sentence.
    public let furtherParameters: [String]
}

extension AppIntent {
    /// The intent's summary with the values of its parameters, as people read it; its title if it has no summary. A
    /// parameter without a value is named by its title.
    public func sentence(for languages: [String] = Locale.preferredLanguages) -> String {
        let summary = Self.parameterSummary.sentence(for: self).text
        guard !summary.isEmpty else { return Self.title.localized(for: languages) }
        let values = Dictionary(
            parameters.map { ($0.name, $0.text(for: languages) ?? $0.name) }, uniquingKeysWith: { first, _ in first })
        // One pass over the text: places in a value are not filled.
        return summary.replacing(/\$\{([^}]*)\}/) { values[String($0.1)] ?? String($0.1) }
    }

    /// How the intent and its parameters read as a sentence.
    public typealias Summary = IntentParameterSummary<Self>
    /// A choice between two sentences by a parameter's value.
    public typealias When = ParameterSummaryWhenCondition<Self>
    /// A choice between sentences by a parameter's value.
    public typealias Switch<Value: Equatable & Sendable> = ParameterSummarySwitchCondition<Self, Value>
    /// A value of a ``Switch`` with its sentence.
    public typealias Case<Value: Equatable & Sendable> = ParameterSummaryCaseCondition<Self, Value>
    /// The sentence of a ``Switch`` for all other values.
    public typealias DefaultCase = ParameterSummaryDefaultCaseCondition<Self>

    /// The title of a parameter or, without one, its type.
    package static func name<Value>(of parameter: KeyPath<Self, IntentParameter<Value>>) -> String {
        Self()[keyPath: parameter].name
    }
}

/// A sentence with parameters in it: `Summary("Open \(\.$target)")`.
///
/// ```swift
/// static var parameterSummary: some ParameterSummary {
///     Summary("Find \(\.$count) albums") {
///         \.$genre
///         \.$year
///     }
/// }
/// ```
public struct IntentParameterSummary<Intent: AppIntent>: ParameterSummary {
    private let content: ParameterSentence

    init(text: String, furtherParameters: [String] = []) {
        content = ParameterSentence(text: text, furtherParameters: furtherParameters)
    }

    public func sentence(for intent: (any AppIntent)?) -> ParameterSentence { content }

    /// Collects parameters by their key paths.
    @resultBuilder
    public enum ParameterKeyPathsBuilder {
        /// The title of one parameter.
        public static func buildExpression<Value>(_ parameter: KeyPath<Intent, IntentParameter<Value>>) -> [String] {
            [Intent.name(of: parameter)]
        }
        /// The titles in the order of their lines.
        public static func buildBlock(_ names: [String]...) -> [String] { names.flatMap { $0 } }
    }
}

extension IntentParameterSummary: ExpressibleByStringInterpolation {
    /// A copy of a summary, so that one can be written as a string literal.
    public init(_ summary: IntentParameterSummary<Intent>) { self = summary }

    /// A sentence, and parameters that it does not have.
    ///
    /// - Parameters:
    ///   - summary: the sentence.
    ///   - parameters: the parameters to list below the sentence.
    public init(_ summary: IntentParameterSummary<Intent>, @ParameterKeyPathsBuilder _ parameters: () -> [String]) {
        self.init(text: summary.text, furtherParameters: parameters())
    }

    /// Parameters alone, without a sentence.
    public init(@ParameterKeyPathsBuilder _ parameters: () -> [String]) {
        self.init(text: "", furtherParameters: parameters())
    }

    public init(stringLiteral value: String) { self.init(text: value) }

    /// Collects the parts of a sentence.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) { text += literal }

        /// Adds a parameter, by its title or, without one, its type.
        public mutating func appendInterpolation<Value>(_ parameter: KeyPath<Intent, IntentParameter<Value>>) {
            text += "${\(Intent.name(of: parameter))}"
        }
    }

    public init(stringInterpolation: StringInterpolation) { self.init(text: stringInterpolation.text) }
}

/// Builds a summary from its only line.
@resultBuilder
public enum ParameterSummaryBuilder {
    /// The summary.
    public static func buildBlock<Content: ParameterSummary>(_ summary: Content) -> Content { summary }
}

/// How a parameter is compared with a value.
public enum ParameterSummaryComparisonOperator: Sendable, Hashable {
    /// The parameter has the value.
    case equalTo
    /// The parameter has another value, or none.
    case notEqualTo
}

/// Whether a parameter was set.
public enum ParameterSummaryPresenceOperator: Sendable, Hashable {
    /// The parameter was set, and not to nil.
    case hasAnyValue
    /// The parameter was not set, or to nil.
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

    /// A choice by a comparison with a value.
    public init<Value: Equatable & Sendable>(
        _ parameter: any KeyPath<Intent, IntentParameter<Value>> & Sendable,
        _ comparison: ParameterSummaryComparisonOperator, _ value: Value,
        @ParameterSummaryBuilder _ then: () -> some ParameterSummary,
        @ParameterSummaryBuilder otherwise: () -> some ParameterSummary
    ) {
        condition = { intent in (intent[keyPath: parameter].currentValue == value) == (comparison == .equalTo) }
        (whenTrue, whenFalse) = (then(), otherwise())
    }

    /// A choice by whether the parameter was set.
    public init<Value: Sendable>(
        _ parameter: any KeyPath<Intent, IntentParameter<Value>> & Sendable,
        _ presence: ParameterSummaryPresenceOperator,
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
    private let parameter: any KeyPath<Intent, IntentParameter<Value>> & Sendable
    private let cases: ParameterSummaryCaseBuilder<Intent, Value>.Cases

    /// The sentences by the value of a parameter.
    public init(
        _ parameter: any KeyPath<Intent, IntentParameter<Value>> & Sendable,
        @ParameterSummaryCaseBuilder<Intent, Value> _ cases: () -> ParameterSummaryCaseBuilder<Intent, Value>.Cases
    ) {
        self.parameter = parameter
        self.cases = cases()
    }

    /// The sentence of the first case with the parameter's value; an empty one if no case has it.
    public func sentence(for intent: (any AppIntent)?) -> ParameterSentence {
        let value = (intent as? Intent ?? Intent())[keyPath: parameter].currentValue
        let content = cases.cases.first { $0.values.contains { $0 == value } }?.content ?? cases.otherwise
        return content?.sentence(for: intent) ?? ParameterSentence(text: "", furtherParameters: [])
    }
}

/// Values with their sentence, in a `Switch`.
public struct ParameterSummaryCaseCondition<Intent: AppIntent, Value: Equatable & Sendable>: Sendable {
    fileprivate let values: [Value]
    fileprivate let content: any ParameterSummary

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
    fileprivate let content: any ParameterSummary

    /// The sentence of all other values.
    public init(@ParameterSummaryBuilder _ content: () -> some ParameterSummary) { self.content = content() }
}

/// Builds the cases of a `Switch` from one per line.
@resultBuilder
public enum ParameterSummaryCaseBuilder<Intent: AppIntent, Value: Equatable & Sendable> {
    /// The cases of a `Switch`.
    public struct Cases: Sendable {
        fileprivate var cases: [ParameterSummaryCaseCondition<Intent, Value>] = []
        fileprivate var otherwise: (any ParameterSummary)?
    }

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
