/// An action of an app.
public protocol AppIntent: Sendable {
    associatedtype PerformResult: IntentResult
    associatedtype SummaryContent: ParameterSummary

    static var title: LocalizedStringResource { get }
    static var description: IntentDescription? { get }
    /// Whether the app comes to the foreground to perform it.
    static var openAppWhenRun: Bool { get }
    static var parameterSummary: SummaryContent { get }

    init()

    func perform() async throws -> PerformResult
}

extension AppIntent {
    public static var description: IntentDescription? { nil }
    public static var openAppWhenRun: Bool { false }
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
    public var text: LocalizedStringResource
    public var categoryName: LocalizedStringResource?

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
    public init() {}
}

/// A result with a value.
public struct ValueIntentResult<Value: Sendable>: IntentResult {
    public let value: Value

    public init(value: Value) { self.value = value }
}

extension IntentResult where Self == EmptyIntentResult {
    public static func result() -> Self { EmptyIntentResult() }
}

extension IntentResult {
    public static func result<Value>(value: Value) -> Self where Self == ValueIntentResult<Value> {
        ValueIntentResult(value: value)
    }
}

/// A parameter of an intent, set by its caller. Reading one that is not set is a programming error.
@propertyWrapper
public struct IntentParameter<Value: Sendable>: Sendable {
    public let title: LocalizedStringResource?
    public let description: LocalizedStringResource?
    /// The question to ask if it is missing.
    public let requestValueDialog: LocalizedStringResource?
    private var value: Value?

    public init(
        title: LocalizedStringResource? = nil, description: LocalizedStringResource? = nil,
        requestValueDialog: LocalizedStringResource? = nil
    ) {
        self.title = title
        self.description = description
        self.requestValueDialog = requestValueDialog
    }

    public init(
        title: LocalizedStringResource? = nil, description: LocalizedStringResource? = nil, default value: Value
    ) {
        self.init(title: title, description: description)
        self.value = value
    }

    public init() { self.init(title: nil) }

    /// Whether it has a value.
    public var isSet: Bool { value != nil }

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

    public var projectedValue: Self {
        get { self }
        set { self = newValue }
    }
}

/// An intent that shows an entity in the app.
public protocol OpenIntent: AppIntent {
    associatedtype Value: Sendable

    /// The entity to open.
    var target: Value { get set }
}

extension OpenIntent {
    public static var openAppWhenRun: Bool { true }
}
