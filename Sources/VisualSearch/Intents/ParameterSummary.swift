/// An intent and its parameters as a sentence; plain data, to list an app's intents.
public protocol ParameterSummary: Sendable {
    /// The sentence, parameters as `${name}`.
    var text: String { get }
}

/// A sentence with parameters in it: `Summary("Open \(\.$target)")`.
public struct IntentParameterSummary<Intent: AppIntent>: ParameterSummary {
    enum Segment: Sendable {
        case text(String)
        case parameter(String)
    }

    let segments: [Segment]

    public var text: String {
        segments.map { segment in
            switch segment {
            case .text(let text): text
            case .parameter(let title): "${\(title)}"
            }
        }.joined()
    }
}

extension IntentParameterSummary: ExpressibleByStringInterpolation {
    /// A copy of a summary, so that one can be written as a string literal.
    public init(_ summary: IntentParameterSummary<Intent>) { self = summary }

    public init(stringLiteral value: String) { self.init(segments: [.text(value)]) }

    public struct StringInterpolation: StringInterpolationProtocol {
        var segments: [Segment] = []

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) {
            if !literal.isEmpty { segments.append(.text(literal)) }
        }

        /// A parameter, by its title or, without one, its type.
        public mutating func appendInterpolation<Value>(_ parameter: KeyPath<Intent, IntentParameter<Value>>) {
            let title = Intent()[keyPath: parameter].title?.defaultValue ?? "\(Value.self)"
            segments.append(.parameter(title))
        }
    }

    public init(stringInterpolation: StringInterpolation) { self.init(segments: stringInterpolation.segments) }
}
