/// An intent that people can ask for by a phrase; plain data, for whatever listens to phrases.
public struct AppShortcut: Sendable {
    public let intent: any AppIntent
    public let phrases: [AppShortcutPhrase]
    public let shortTitle: LocalizedStringResource
    public let systemImageName: String

    public init(
        intent: any AppIntent, phrases: [AppShortcutPhrase], shortTitle: LocalizedStringResource,
        systemImageName: String
    ) {
        self.intent = intent
        self.phrases = phrases
        self.shortTitle = shortTitle
        self.systemImageName = systemImageName
    }
}

/// A phrase, in which `\(.applicationName)` stands for the app.
public struct AppShortcutPhrase: Sendable, Hashable, ExpressibleByStringInterpolation {
    public enum Token: String, Sendable {
        case applicationName = "${applicationName}"
    }

    public let text: String

    public init(stringLiteral value: String) { text = value }

    public struct StringInterpolation: StringInterpolationProtocol {
        var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) { text += literal }
        public mutating func appendInterpolation(_ token: Token) { text += token.rawValue }
    }

    public init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    /// The phrase as people say it.
    public func spoken(applicationName: String) -> String {
        text.replacing(Token.applicationName.rawValue, with: applicationName)
    }
}

/// The shortcuts of an app.
public protocol AppShortcutsProvider: Sendable {
    @AppShortcutsBuilder static var appShortcuts: [AppShortcut] { get }
}

@resultBuilder
public enum AppShortcutsBuilder {
    public static func buildBlock(_ shortcuts: AppShortcut...) -> [AppShortcut] { shortcuts }
}
