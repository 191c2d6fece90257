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
    /// Where it may be performed.
    static var supportedModes: IntentModes { get }
    /// Whether lists of an app's intents show it.
    static var isDiscoverable: Bool { get }
    /// What a person has to do before it is performed.
    static var authenticationPolicy: IntentAuthenticationPolicy { get }
    /// The action and its parameters as a sentence; empty by default.
    @ParameterSummaryBuilder static var parameterSummary: SummaryContent { get }

    /// An intent whose parameters are not set.
    init()

    /// Performs the action.
    func perform() async throws -> PerformResult
}

extension AppIntent {
    /// What the action does; nil by default.
    public static var description: IntentDescription? { nil }
    /// Whether the app comes to the foreground to perform it; false by default.
    public static var openAppWhenRun: Bool { false }
    /// Where it may be performed; by default as `openAppWhenRun` says.
    public static var supportedModes: IntentModes { openAppWhenRun ? .foreground : .background }
    /// Whether lists of an app's intents show it; true by default.
    public static var isDiscoverable: Bool { true }
    /// What a person has to do before it is performed; nothing by default.
    public static var authenticationPolicy: IntentAuthenticationPolicy { .alwaysAllowed }
    /// The action and its parameters as a sentence; empty by default.
    public static var parameterSummary: some ParameterSummary { IntentParameterSummary<Self>(segments: []) }

    /// An input of the intent: `@Parameter(title: "Album") var target: AlbumEntity`.
    public typealias Parameter = IntentParameter
    /// A dependency that the app registered: `@Dependency var catalog: AlbumCatalog`.
    public typealias Dependency = AppDependency
}

/// What an intent does, in a sentence or two.
public struct IntentDescription: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The description.
    public var text: LocalizedStringResource
    /// The category that the intent is listed under.
    public var categoryName: LocalizedStringResource?
    /// Other words that people search for it by.
    public var searchKeywords: [LocalizedStringResource]
    /// What its result is called, such as “Album”.
    public var resultValueName: LocalizedStringResource?

    /// A description, with a category if intents are listed by category.
    public init(
        _ text: LocalizedStringResource, categoryName: LocalizedStringResource? = nil,
        searchKeywords: [LocalizedStringResource] = [], resultValueName: LocalizedStringResource? = nil
    ) {
        self.text = text
        self.categoryName = categoryName
        self.searchKeywords = searchKeywords
        self.resultValueName = resultValueName
    }

    public init(stringLiteral value: String) { self.init(LocalizedStringResource(value)) }
}

/// Where an intent may be performed: with the app out of sight, in front, or both.
public struct IntentModes: OptionSet, Sendable, Hashable {
    /// When the app comes to the front.
    public enum ForegroundMode: Sendable, Hashable {
        /// Before the intent is performed.
        case immediate
        /// While it is performed, if the intent asks for it.
        case dynamic
        /// At the latest when it was performed.
        case deferred
    }

    /// The modes as bits.
    public let rawValue: Int

    /// Modes from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// With the app out of sight.
    public static let background = IntentModes(rawValue: 1)
    /// In front from the beginning.
    public static let foreground = foreground(.immediate)

    /// In front, from the moment that the mode says.
    public static func foreground(_ mode: ForegroundMode) -> IntentModes {
        switch mode {
        case .immediate: IntentModes(rawValue: 2)
        case .dynamic: IntentModes(rawValue: 4)
        case .deferred: IntentModes(rawValue: 8)
        }
    }
}

/// What a person has to do before an intent is performed. Whatever performs intents checks it.
public enum IntentAuthenticationPolicy: Sendable, Hashable {
    /// Nothing.
    case alwaysAllowed
    /// The person has unlocked a device of theirs.
    case requiresAuthentication
    /// The person has unlocked this device.
    case requiresLocalDeviceAuthentication
}
