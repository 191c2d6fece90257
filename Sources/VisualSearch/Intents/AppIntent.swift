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
    /// Whether the app comes to the foreground to perform it.
    static var openAppWhenRun: Bool { get }
    /// The action and its parameters as a sentence; empty by default.
    static var parameterSummary: SummaryContent { get }

    /// An intent whose parameters are not set.
    init()

    /// Performs the action.
    func perform() async throws -> PerformResult
}

extension AppIntent {
    /// What the action does; nil by default.
    public static var description: IntentDescription? { nil }
    public static var openAppWhenRun: Bool { false }
    /// The action and its parameters as a sentence; empty by default.
    public static var parameterSummary: some ParameterSummary { IntentParameterSummary<Self>(segments: []) }

    /// An input of the intent: `@Parameter(title: "Album") var target: AlbumEntity`.
    public typealias Parameter = IntentParameter
    /// A dependency that the app registered: `@Dependency var catalog: AlbumCatalog`.
    public typealias Dependency = AppDependency
    /// How the intent and its parameters read as a sentence.
    public typealias Summary = IntentParameterSummary<Self>
}

/// What an intent does, in a sentence or two.
public struct IntentDescription: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The description.
    public var text: LocalizedStringResource
    /// The category that the intent is listed under.
    public var categoryName: LocalizedStringResource?

    /// A description, with a category if intents are listed by category.
    public init(_ text: LocalizedStringResource, categoryName: LocalizedStringResource? = nil) {
        self.text = text
        self.categoryName = categoryName
    }

    public init(stringLiteral value: String) { self.init(LocalizedStringResource(value)) }
}

/// The result of performing an intent.
public protocol IntentResult: Sendable {}

/// A result without a value.
public struct EmptyIntentResult: IntentResult {
    /// A result without a value.
    public init() {}
}

/// A result with a value.
public struct ValueIntentResult<Value: Sendable>: IntentResult {
    /// The value.
    public let value: Value

    /// A result with a value.
    public init(value: Value) { self.value = value }
}

extension IntentResult where Self == EmptyIntentResult {
    /// A result without a value.
    public static func result() -> Self { EmptyIntentResult() }
}

extension IntentResult {
    /// A result with a value.
    public static func result<Value>(value: Value) -> Self where Self == ValueIntentResult<Value> {
        ValueIntentResult(value: value)
    }
}

/// A parameter of an intent, set by its caller. Reading one that is not set is a programming error.
@propertyWrapper
public struct IntentParameter<Value: Sendable>: Sendable {
    /// The name of the parameter.
    public let title: LocalizedStringResource?
    /// What the parameter is for.
    public let description: LocalizedStringResource?
    /// The question to ask if it is missing.
    public let requestValueDialog: LocalizedStringResource?
    private var value: Value?

    /// A parameter that its caller sets.
    public init(
        title: LocalizedStringResource? = nil, description: LocalizedStringResource? = nil,
        requestValueDialog: LocalizedStringResource? = nil
    ) {
        self.title = title
        self.description = description
        self.requestValueDialog = requestValueDialog
    }

    /// A parameter with a default value.
    public init(
        title: LocalizedStringResource? = nil, description: LocalizedStringResource? = nil, default value: Value
    ) {
        self.init(title: title, description: description)
        self.value = value
    }

    /// A parameter without a name.
    public init() { self.init(title: nil) }

    /// Whether it has a value.
    public var isSet: Bool { value != nil }

    /// The value.
    ///
    /// - Precondition: it was set before it is read; see ``isSet``.
    public var wrappedValue: Value {
        get {
            guard let value else {
                preconditionFailure(
                    "the parameter “\(title?.defaultValue ?? "\(Value.self)")” was read before it was set")
            }
            return value
        }
        set { value = newValue }
    }

    /// The parameter itself.
    public var projectedValue: Self {
        get { self }
        set { self = newValue }
    }
}

/// An intent that shows an entity in the app.
public protocol OpenIntent: AppIntent {
    /// The type of the entity.
    associatedtype Value: Sendable

    /// The entity to open.
    var target: Value { get set }
}

extension OpenIntent {
    public static var openAppWhenRun: Bool { true }
}
