/// An action of an app.
public protocol AppIntent: Sendable {
    associatedtype PerformResult: IntentResult
    associatedtype SummaryContent: ParameterSummary

    static var title: LocalizedStringResource { get }
    static var description: IntentDescription? { get }
    /// Whether the app comes to the foreground to perform it.
    static var openAppWhenRun: Bool { get }
    /// Where it may be performed.
    static var supportedModes: IntentModes { get }
    /// Whether lists of an app's intents show it.
    static var isDiscoverable: Bool { get }
    /// What a person has to do before it is performed.
    static var authenticationPolicy: IntentAuthenticationPolicy { get }
    @ParameterSummaryBuilder static var parameterSummary: SummaryContent { get }

    init()

    func perform() async throws -> PerformResult
}

extension AppIntent {
    public static var description: IntentDescription? { nil }
    public static var openAppWhenRun: Bool { false }
    public static var supportedModes: IntentModes { openAppWhenRun ? .foreground : .background }
    public static var isDiscoverable: Bool { true }
    public static var authenticationPolicy: IntentAuthenticationPolicy { .alwaysAllowed }
    public static var parameterSummary: some ParameterSummary { IntentParameterSummary<Self>(segments: []) }

    /// An input of the intent: `@Parameter(title: "Album") var target: AlbumEntity`.
    public typealias Parameter = IntentParameter
    /// A dependency that the app registered: `@Dependency var catalog: AlbumCatalog`.
    public typealias Dependency = AppDependency
}

/// What an intent does, in a sentence or two.
public struct IntentDescription: Sendable, Hashable, ExpressibleByStringLiteral {
    public var text: LocalizedStringResource
    public var categoryName: LocalizedStringResource?
    /// Other words that people search for it by.
    public var searchKeywords: [LocalizedStringResource]
    /// What its result is called, such as “Album”.
    public var resultValueName: LocalizedStringResource?

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

    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let background = IntentModes(rawValue: 1)
    /// In front from the beginning.
    public static let foreground = foreground(.immediate)

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
    case alwaysAllowed
    /// The person has unlocked a device of theirs.
    case requiresAuthentication
    /// The person has unlocked this device.
    case requiresLocalDeviceAuthentication
}
