/// An intent that people can ask for by a phrase; plain data, for whatever listens to phrases.
public struct AppShortcut: Sendable {
    /// The intent to perform.
    public let intent: any AppIntent
    /// The phrases that people ask for it by.
    public let phrases: [AppShortcutPhrase]
    /// The name of the shortcut.
    public let shortTitle: LocalizedStringResource
    /// The name of a system symbol, for platforms that have them.
    public let systemImageName: String

    /// A shortcut to an intent.
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
    /// What an interpolation stands for.
    public enum Token: String, Sendable {
        /// The name of the app.
        case applicationName = "${applicationName}"
    }

    /// The phrase, with tokens as `${name}`.
    public let text: String

    public init(stringLiteral value: String) { text = value }

    public struct StringInterpolation: StringInterpolationProtocol {
        var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) { text += literal }
        /// Adds a token.
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
    /// The shortcuts.
    @AppShortcutsBuilder static var appShortcuts: [AppShortcut] { get }
}

/// Builds a list of shortcuts from one per line.
@resultBuilder
public enum AppShortcutsBuilder {
    /// The shortcuts in the order of their lines.
    public static func buildBlock(_ shortcuts: AppShortcut...) -> [AppShortcut] { shortcuts }
}
