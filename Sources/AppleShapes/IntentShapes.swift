public import VisualSearch

// The shapes of App Intents that have no meaning outside of Apple's systems: they compile and keep what they are given,
// and nothing here reads it. AppIntentsCoverage lists them as data.

/// The parameters of a widget, which people edit. It is not performed: the widget reads its parameters.
public protocol WidgetConfigurationIntent: PassiveIntent {}

/// The parameters of a control, which people edit. It is not performed: the control reads its parameters.
public protocol ControlConfigurationIntent: PassiveIntent {}

/// An intent whose target the app shows outside of `perform()`.
public protocol TargetContentProvidingIntent: PassiveIntent {}

/// The shortcuts of an app.
public protocol AppShortcutsProvider: Sendable {
    /// The shortcuts.
    @AppShortcutsBuilder static var appShortcuts: [AppShortcut] { get }
    /// The color behind the shortcuts; blue by default.
    static var shortcutTileColor: ShortcutTileColor { get }
}

extension AppShortcutsProvider {
    public static var shortcutTileColor: ShortcutTileColor { .blue }
}

/// The color behind an app's shortcuts.
public enum ShortcutTileColor: Sendable, Hashable {
    /// A color of the system.
    case blue, grape, grayBlue, grayBrown, grayGreen, lightBlue, lime, navy, orange, pink, purple, red, tangerine
    /// A color of the system.
    case teal, yellow
}

/// Builds a list of shortcuts from one per line.
@resultBuilder
public enum AppShortcutsBuilder {
    /// The shortcuts in the order of their lines.
    public static func buildBlock(_ shortcuts: AppShortcut...) -> [AppShortcut] { shortcuts }
}

/// An intent that people can ask for by a phrase.
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
            // One pass over the text: places in a value are not filled.
            return text.replacing(/\$\{([^}]*)\}/) { values[String($0.1)] ?? String($0.0) }
        }
    }

    /// The intent to perform.
    public let intent: any AppIntent
    /// The phrases that people ask for it by.
    public let phrases: [Phrase]
    /// The name of the shortcut.
    public let shortTitle: LocalizedStringResource
    /// The name of a system symbol.
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
    fileprivate static let name = "applicationName"

    /// The name of the app.
    public static let applicationName = AppShortcutPhraseToken()
}

/// A phrase for an intent: `\(.applicationName)` stands for the app, `\(\.$target)` for a parameter.
public struct AppShortcutPhrase<Intent: AppIntent>: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// The phrase, the app as `${applicationName}` and parameters as `${title}`.
    public let text: String

    public init(stringLiteral value: String) { text = value }

    public init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    /// Collects the parts of a phrase.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) { text += literal }

        /// Adds the name of the app.
        public mutating func appendInterpolation(_: AppShortcutPhraseToken) {
            text += "${\(AppShortcutPhraseToken.name)}"
        }

        /// Adds a parameter, by its title or, without one, its type.
        public mutating func appendInterpolation<Value>(_ parameter: KeyPath<Intent, IntentParameter<Value>>) {
            text += "${\(Intent.name(of: parameter))}"
        }
    }
}
