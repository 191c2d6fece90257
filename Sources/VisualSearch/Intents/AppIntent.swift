public import Compute
import Synchronization

/// An action of an app.
public protocol AppIntent: Sendable {
    /// The type of the result.
    associatedtype PerformResult: IntentResult
    /// The type of the summary.
    associatedtype SummaryContent: ParameterSummary

    /// The name of the action.
    static var title: LocalizedStringResource { get }
    /// What the action does; nil by default.
    static var description: IntentDescription? { get }
    /// Whether the app comes to the front to perform the action.
    static var openAppWhenRun: Bool { get }
    /// The modes in which the action may be performed.
    static var supportedModes: IntentModes { get }
    /// The action and its parameters as a sentence; empty by default.
    @ParameterSummaryBuilder static var parameterSummary: SummaryContent { get }

    /// An intent whose parameters are not set.
    init()

    /// Performs the action. ``OpenIntents/perform(_:)`` checks its parameters before.
    func perform() async throws -> PerformResult
}

extension AppIntent {
    /// What the action does; nil by default.
    public static var description: IntentDescription? { nil }
    /// Whether the app comes to the front to perform the action; false by default.
    public static var openAppWhenRun: Bool { false }
    /// The modes in which the action may be performed; by default as `openAppWhenRun` says.
    public static var supportedModes: IntentModes { openAppWhenRun ? .foreground : .background }
    /// The action and its parameters as a sentence; empty by default.
    public static var parameterSummary: some ParameterSummary { IntentParameterSummary<Self>(text: "") }

    /// An input of the intent: `@Parameter(title: "Album") var target: AlbumEntity`.
    public typealias Parameter = IntentParameter
    /// A dependency that the app registered: `@Dependency var catalog: AlbumCatalog`.
    public typealias Dependency = AppDependency

    /// What keeps the intent from being performed: the first parameter without a value that it needs, or with a value
    /// outside of its range.
    var parameterProblem: (error: IntentParameterError, parameter: any CheckedParameter)? {
        for parameter in parameters {
            guard let reason = parameter.problem else { continue }
            return (IntentParameterError(intent: "\(Self.self)", parameter: parameter.name, reason: reason), parameter)
        }
        return nil
    }

    /// The parameters in the order of their declarations.
    var parameters: [any CheckedParameter] {
        Mirror(reflecting: self).children.compactMap { $0.value as? any CheckedParameter }
    }
}

/// What an intent does, in a sentence or two.
public struct IntentDescription: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The description.
    public var text: LocalizedStringResource

    /// A description of these words.
    public init(_ text: LocalizedStringResource) { self.text = text }

    public init(stringLiteral value: String) { self.init(LocalizedStringResource(value)) }
}

/// An intent that needs no `perform()`, because its app does what it says or reads its parameters.
public protocol PassiveIntent: AppIntent {}

extension PassiveIntent {
    /// Does nothing.
    public func perform() async throws -> IntentResultContainer<Never, Never, Never> { .result() }
}

/// The modes in which an intent may be performed: with the app out of sight, in front, or both.
public struct IntentModes: OptionSet, Sendable, Hashable {
    /// When the app comes to the front.
    public enum ForegroundMode: Int, Sendable, Hashable {
        /// The app comes to the front before the intent is performed.
        case immediate = 2
        /// The app comes to the front while the intent is performed, if the intent asks for it.
        case dynamic = 4
    }

    /// The modes as bits.
    public let rawValue: Int

    /// Modes from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The mode with the app out of sight.
    public static let background = IntentModes(rawValue: 1)
    /// The mode with the app in front from the beginning.
    public static let foreground = foreground(.immediate)

    /// The mode with the app in front, from the moment that `mode` says.
    public static func foreground(_ mode: ForegroundMode) -> IntentModes { IntentModes(rawValue: mode.rawValue) }
}

/// A parameter of an intent, set by its caller.
///
/// A parameter that is not set is nil if its type is optional; reading any other is a programming error.
@propertyWrapper
public struct IntentParameter<Value: Sendable>: Sendable {
    /// The name of the parameter.
    public let title: LocalizedStringResource?
    /// The question to ask if it is missing.
    public let requestValueDialog: IntentDialog?
    private let isInRange: @Sendable (Value) -> Bool
    private var value: Value?
    /// What a person answered to the question for the value. Copies of the intent share it: the question is asked while
    /// a copy is performed.
    private let answer = ParameterAnswer<Value>()

    /// A parameter that its caller sets.
    ///
    /// - Parameters:
    ///   - title: the name of the parameter.
    ///   - value: its value unless a caller sets it.
    ///   - requestValueDialog: the question to ask if it is missing.
    public init(
        title: LocalizedStringResource? = nil, default value: Value? = nil, requestValueDialog: IntentDialog? = nil
    ) {
        self.title = title
        self.value = value
        self.requestValueDialog = requestValueDialog
        isInRange = { _ in true }
    }

    /// A parameter with a smallest and a largest value.
    ///
    /// - Parameters:
    ///   - title: the name of the parameter.
    ///   - value: its value unless a caller sets it.
    ///   - inclusiveRange: the values that ``OpenIntents/perform(_:)`` accepts.
    ///   - requestValueDialog: the question to ask if it is missing.
    public init(
        title: LocalizedStringResource? = nil, default value: Value? = nil,
        inclusiveRange: (lowerBound: Value, upperBound: Value), requestValueDialog: IntentDialog? = nil
    ) where Value: Comparable {
        self.title = title
        self.value = value
        self.requestValueDialog = requestValueDialog
        isInRange = { inclusiveRange.lowerBound <= $0 && $0 <= inclusiveRange.upperBound }
    }

    /// A parameter without a name.
    public init() { self.init(title: nil) }

    /// Whether the parameter has a value other than nil.
    public var isSet: Bool { (answer.value ?? value).map { !isMissing($0) } ?? false }

    /// The value; nil if it is not set and its type is optional.
    ///
    /// - Precondition: a value whose type is not optional was set before it is read; see ``isSet``.
    public var wrappedValue: Value {
        get {
            guard let currentValue else { fatalError("the parameter “\(name)” was read before it was set") }
            return currentValue
        }
        set {
            answer.value = nil
            value = newValue
        }
    }

    /// The parameter itself.
    public var projectedValue: Self {
        get { self }
        set { self = newValue }
    }

    /// The value; nil if there is none and the type is not optional.
    var currentValue: Value? { answer.value ?? value ?? missingValue() }
}

/// A value that a person gave.
private final class ParameterAnswer<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}

/// The parameters of all types, for the check before an intent is performed.
protocol CheckedParameter: Sendable {
    var name: String { get }
    var problem: IntentParameterError.Reason? { get }
    /// The value as people read it; nil without one.
    func text(for languages: [String]) -> String?
    /// The values that a person can choose from, as they are displayed; empty for values of other types than entities,
    /// enumerations and Booleans.
    func choices() async throws -> [DisplayRepresentation]
    /// Takes one of the choices, which are made again.
    ///
    /// - Returns: false if there is no such choice.
    func choose(_ index: Int) async throws -> Bool
    /// Takes a typed text.
    ///
    /// - Returns: false if it means no value.
    func take(_ text: String) async throws -> Bool
}

extension IntentParameter: CheckedParameter {
    /// The title of the parameter or, without one, its type.
    var name: String { title?.defaultValue ?? "\(Value.self)" }

    var problem: IntentParameterError.Reason? {
        guard let currentValue else { return .missing(question: requestValueDialog) }
        return isInRange(currentValue) ? nil : .outOfRange("\(currentValue)")
    }

    func text(for languages: [String]) -> String? {
        guard let value = currentValue, !isMissing(value) else { return nil }
        // A cast of an optional value looks into it.
        if let shown = value as? any InstanceDisplayRepresentable {
            return shown.displayRepresentation.title.localized(for: languages)
        }
        return (value as? any CustomStringConvertible)?.description ?? "\(value)"
    }

    private func values() async throws -> [Value] {
        func suggested<Entity: AppEntity>(_: Entity.Type) async throws -> [any Sendable] {
            try await Entity.defaultQuery.suggestedEntities()
        }
        func cases<Choice: AppEnum>(_: Choice.Type) -> [any Sendable] { Array(Choice.allCases) }
        var values: [any Sendable] = []
        if let type = Value.self as? any AppEntity.Type { values = try await suggested(type) }
        if let type = Value.self as? any AppEnum.Type { values = cases(type) }
        if Value.self == Bool.self { values = [true, false] }
        return values.compactMap { $0 as? Value }
    }

    func choices() async throws -> [DisplayRepresentation] {
        try await values().map { value in
            (value as? any InstanceDisplayRepresentable)?.displayRepresentation
                ?? DisplayRepresentation(title: value as? Bool == true ? "Yes" : "No")
        }
    }

    func choose(_ index: Int) async throws -> Bool {
        let values = try await values()
        guard values.indices.contains(index) else { return false }
        answer.value = values[index]
        return true
    }

    func take(_ text: String) async throws -> Bool {
        func named<Entity: AppEntity>(_: Entity.Type) async throws -> (any Sendable)? {
            func found<Query: EntityStringQuery>(by query: Query) async throws -> (any Sendable)? {
                try await query.entities(matching: text).first
            }
            if let query = Entity.defaultQuery as? any EntityStringQuery, let entity = try await found(by: query) {
                return entity
            }
            guard let id = text as? Entity.ID else { return nil }
            return try await Entity.defaultQuery.entities(for: [id]).first
        }
        func parsed<Scalar: LosslessStringConvertible>(_: Scalar.Type) -> Value? { Scalar(text) as? Value }
        let values = try await values()
        let titles = try await choices().map { $0.title.localized().foldedForMatching }
        if let index = titles.firstIndex(of: text.foldedForMatching), values.indices.contains(index) {
            answer.value = values[index]
            return true
        }
        var value: Value?
        if let type = Value.self as? any AppEntity.Type {
            value = try await named(type) as? Value
        } else if let type = Value.self as? any LosslessStringConvertible.Type {
            value = parsed(type)
        }
        guard let value else { return false }
        answer.value = value
        return true
    }
}

/// Why an intent cannot be performed.
public struct IntentParameterError: DescribedError, Equatable {
    /// What is wrong with the parameter.
    public enum Reason: Equatable, Sendable {
        /// The parameter has no value; the question to ask for one.
        case missing(question: IntentDialog?)
        /// The value, which is outside of the parameter's range.
        case outOfRange(String)
    }

    /// The type of the intent.
    public let intent: String
    /// The name of the parameter.
    public let parameter: String
    /// What is wrong with the parameter.
    public let reason: Reason

    public var description: String {
        switch reason {
        case .missing(let question):
            "\(intent) needs a value for “\(parameter)”\(question.map { ": \($0.full.localized())" } ?? "")"
        case .outOfRange(let value): "\(intent) cannot have \(value) for “\(parameter)”: it is out of range"
        }
    }
}

/// A type that has a value for “nothing”.
private protocol NilRepresentable {
    static var absent: Self { get }
    var isAbsent: Bool { get }
}

extension Optional: NilRepresentable {
    static var absent: Self { nil }
    var isAbsent: Bool { self == nil }
}

/// The value of a parameter or a property that was not set: `.some(nil)` for an optional type, nil for any other.
func missingValue<Value>(of type: Value.Type = Value.self) -> Value? {
    func absent<Nil: NilRepresentable>(_: Nil.Type) -> Value? { Nil.absent as? Value }
    return (type as? any NilRepresentable.Type).flatMap { absent($0) }
}

/// Whether a value is nil.
private func isMissing<Value>(_ value: Value) -> Bool {
    func check<Nil: NilRepresentable>(_: Nil.Type) -> Bool { (value as? Nil)?.isAbsent ?? true }
    return (Value.self as? any NilRepresentable.Type).map { check($0) } ?? false
}
