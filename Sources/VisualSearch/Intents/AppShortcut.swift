/// An intent that people can ask for by a phrase; plain data, for whatever listens to phrases.
public struct AppShortcut: Sendable {
    /// A phrase of any intent.
    public struct Phrase: Sendable, Hashable {
        /// The phrase, the app as `${applicationName}` and parameters as `${title}`.
        public let text: String

        /// The phrase as people say it.
        ///
        /// - Parameters:
        ///   - applicationName: what people call the app.
        ///   - parameters: the values of parameters, by their titles; others keep their places.
        public func spoken(applicationName: String, parameters: [String: String] = [:]) -> String {
            var values = parameters
            values[AppShortcutPhraseToken.name] = applicationName
            // In one pass: a value is no place for another.
            var (spoken, rest) = ("", text[...])
            while let start = rest.firstRange(of: "${"), let end = rest[start.upperBound...].firstIndex(of: "}") {
                spoken += rest[..<start.lowerBound]
                spoken += values[String(rest[start.upperBound..<end])] ?? String(rest[start.lowerBound...end])
                rest = rest[rest.index(after: end)...]
            }
            return spoken + rest
        }
    }

    /// The intent to perform.
    public let intent: any AppIntent
    /// The phrases that people ask for it by.
    public let phrases: [Phrase]
    /// The name of the shortcut.
    public let shortTitle: LocalizedStringResource
    /// The name of a system symbol, for platforms that have them.
    public let systemImageName: String

    /// A shortcut to an intent.
    public init<Intent: AppIntent>(
        intent: Intent, phrases: [AppShortcutPhrase<Intent>], shortTitle: LocalizedStringResource,
        systemImageName: String
    ) {
        self.intent = intent
        self.phrases = phrases.map { Phrase(text: $0.text) }
        self.shortTitle = shortTitle
        self.systemImageName = systemImageName
    }
}

/// The part of a phrase that stands for the app.
public struct AppShortcutPhraseToken: Sendable {
    static let name = "applicationName"

    /// The name of the app.
    public static let applicationName = AppShortcutPhraseToken()
}

/// A phrase for an intent: `\(.applicationName)` stands for the app, `\(\.$target)` for a parameter.
public struct AppShortcutPhrase<Intent: AppIntent>: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// The phrase, the app as `${applicationName}` and parameters as `${title}`.
    public let text: String

    public init(stringLiteral value: String) { text = value }

    /// Collects the parts of a phrase.
    public struct StringInterpolation: StringInterpolationProtocol {
        var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) { text += literal }

        /// Adds the name of the app.
        public mutating func appendInterpolation(_ token: AppShortcutPhraseToken) {
            text += "${\(AppShortcutPhraseToken.name)}"
        }

        /// A parameter, by its title or, without one, its type.
        public mutating func appendInterpolation<Value>(_ parameter: KeyPath<Intent, IntentParameter<Value>>) {
            text += "${\(Intent.name(of: parameter))}"
        }
    }

    public init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
}

/// The color behind an app's shortcuts.
public enum ShortcutTileColor: Sendable, Hashable {
    /// A color of the system.
    case blue, grape, grayBlue, grayBrown, grayGreen, lightBlue, lime, navy, orange, pink, purple, red, tangerine
    /// A color of the system.
    case teal, yellow
}

/// The shortcuts of an app.
public protocol AppShortcutsProvider: Sendable {
    /// The shortcuts.
    @AppShortcutsBuilder static var appShortcuts: [AppShortcut] { get }
    static var shortcutTileColor: ShortcutTileColor { get }
}

extension AppShortcutsProvider {
    /// The color behind the shortcuts; blue by default.
    public static var shortcutTileColor: ShortcutTileColor { .blue }
}

/// Builds a list of shortcuts from one per line.
@resultBuilder
public enum AppShortcutsBuilder {
    /// One shortcut.
    public static func buildExpression(_ shortcut: AppShortcut) -> [AppShortcut] { [shortcut] }
    /// The shortcuts in the order of their lines.
    public static func buildBlock(_ shortcuts: [AppShortcut]...) -> [AppShortcut] { shortcuts.flatMap { $0 } }
    /// The shortcuts of an `if`.
    public static func buildOptional(_ shortcuts: [AppShortcut]?) -> [AppShortcut] { shortcuts ?? [] }
    /// The shortcuts of an `if` with an `else`.
    public static func buildEither(first shortcuts: [AppShortcut]) -> [AppShortcut] { shortcuts }
    /// The shortcuts of an `else`.
    public static func buildEither(second shortcuts: [AppShortcut]) -> [AppShortcut] { shortcuts }
    /// The shortcuts of an `if #available`.
    public static func buildLimitedAvailability(_ shortcuts: [AppShortcut]) -> [AppShortcut] { shortcuts }
}
