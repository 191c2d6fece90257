/// An intent and its parameters as a sentence; plain data, to list an app's intents.
public protocol ParameterSummary: Sendable {
    /// The sentence for an intent with the values that it has, where it depends on them; for one without values if the
    /// intent is nil or of another type.
    func sentence(for intent: (any AppIntent)?) -> ParameterSentence
}

extension ParameterSummary {
    /// The sentence of an intent that was not changed, parameters as `${title}`.
    public var text: String { sentence(for: nil).text }
}

/// A sentence with places for parameters.
public struct ParameterSentence: Sendable, Hashable {
    /// Parameters as `${title}`.
    public let text: String
    /// The titles of the parameters that are listed below the sentence.
    public let furtherParameters: [String]
}

extension AppIntent {
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
    static func name<Value>(of parameter: KeyPath<Self, IntentParameter<Value>>) -> String {
        Self()[keyPath: parameter].title?.defaultValue ?? "\(Value.self)"
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
    enum Segment: Sendable {
        case text(String)
        case parameter(String)
    }

    let segments: [Segment]
    var furtherParameters: [String] = []

    public func sentence(for intent: (any AppIntent)?) -> ParameterSentence {
        let words = segments.map { segment in
            switch segment {
            case .text(let text): text
            case .parameter(let title): "${\(title)}"
            }
        }
        return ParameterSentence(text: words.joined(), furtherParameters: furtherParameters)
    }

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
    ///   - parameters: those to list below the sentence.
    public init(_ summary: IntentParameterSummary<Intent>, @ParameterKeyPathsBuilder _ parameters: () -> [String]) {
        self.init(segments: summary.segments, furtherParameters: parameters())
    }

    /// Parameters alone, without a sentence.
    public init(@ParameterKeyPathsBuilder _ parameters: () -> [String]) {
        self.init(segments: [], furtherParameters: parameters())
    }

    public init(stringLiteral value: String) { self.init(segments: [.text(value)]) }

    /// Collects the parts of a sentence.
    public struct StringInterpolation: StringInterpolationProtocol {
        var segments: [Segment] = []

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) {
            if !literal.isEmpty { segments.append(.text(literal)) }
        }

        /// A parameter, by its title or, without one, its type.
        public mutating func appendInterpolation<Value>(_ parameter: KeyPath<Intent, IntentParameter<Value>>) {
            segments.append(.parameter(Intent.name(of: parameter)))
        }
    }

    public init(stringInterpolation: StringInterpolation) { self.init(segments: stringInterpolation.segments) }
}

/// Builds a summary from its only line.
@resultBuilder
public enum ParameterSummaryBuilder {
    /// The summary.
    public static func buildBlock<Content: ParameterSummary>(_ summary: Content) -> Content { summary }
}
