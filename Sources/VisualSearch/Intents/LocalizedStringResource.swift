import Foundation

/// A text in the reader's language: a default value with translations.
///
/// Foundation's type of this name looks the key up in a table of the app's bundle. Here the translations come with the
/// value; ``localized(for:)`` selects one.
public struct LocalizedStringResource: Sendable, Hashable, Codable {
    /// The key of the text in a strings table.
    public var key: String
    /// The text if there is no translation.
    public var defaultValue: String
    /// The strings table of the key, for string export.
    public var table: String?
    /// A note for translators.
    public var comment: String?
    /// The translations by language tag, such as `ja` or `pt-BR`.
    public var translations: [String: String]

    /// A text with its translations; the key is the default value unless one is given.
    public init(
        _ key: String, defaultValue: String? = nil, table: String? = nil, comment: String? = nil,
        translations: [String: String] = [:]
    ) {
        self.key = key
        self.defaultValue = defaultValue ?? key
        self.table = table
        self.comment = comment
        self.translations = translations
    }

    /// The text in the first of these languages that has a translation, the most preferred first.
    ///
    /// Each language in turn takes its own translation, then the translation of a less specific tag (`pt-BR`, `pt`),
    /// then the translation of another region of the same language and script (`pt-PT`). The default comes after all.
    public func localized(for languages: [String] = Locale.preferredLanguages) -> String {
        let available = Dictionary(
            translations.map { (LanguageTag($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
        for language in languages {
            let wanted = LanguageTag(language)
            var tag: LanguageTag? = wanted
            while let current = tag {
                if let text = available[current] { return text }
                tag = current.lessSpecific
            }
            let relatives = available.keys.filter {
                $0.language == wanted.language && ($0.script == wanted.script || wanted.script == nil)
            }
            if let relative = relatives.min(by: { $0.text < $1.text }), let text = available[relative] { return text }
        }
        return defaultValue
    }
}

extension LocalizedStringResource: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(value) }

    /// Interpolated values are part of the text, except placeholders, which stand for a later number or text.
    public struct StringInterpolation: StringInterpolationProtocol {
        /// What a placeholder stands for.
        public enum Placeholder: String, Sendable {
            /// An integer.
            case int = "%lld"
            /// A floating-point number.
            case double = "%lf"
            /// A text.
            case object = "%@"
        }

        var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + interpolationCount * 8)
        }

        public mutating func appendLiteral(_ literal: String) { text += literal }
        /// Adds the description of a value to the text.
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) { text += value.description }
        /// Adds a placeholder for a later value.
        public mutating func appendInterpolation(placeholder: Placeholder) { text += placeholder.rawValue }
    }

    public init(stringInterpolation: StringInterpolation) { self.init(stringInterpolation.text) }
}

extension String {
    /// The text for a reader who prefers these languages.
    public init(localized resource: LocalizedStringResource, for languages: [String] = Locale.preferredLanguages) {
        self = resource.localized(for: languages)
    }
}

/// The parts of a language tag that translations are picked by (RFC 5646; also with `_` for `-`).
private struct LanguageTag: Hashable {
    let language: String
    var script: String?
    var region: String?

    init(_ text: String) {
        let parts = text.split { $0 == "-" || $0 == "_" }.map { $0.lowercased() }
        language = parts.first ?? ""
        script = parts.dropFirst().first { $0.count == 4 && $0.allSatisfy(\.isLetter) }
        region = parts.dropFirst().first {
            $0.count == 2 && $0.allSatisfy(\.isLetter) || $0.count == 3 && $0.allSatisfy(\.isNumber)
        }
    }

    var text: String { [language, script, region].compactMap { $0 }.joined(separator: "-") }

    /// The tag without its region or, if it has none, without its script; nil for a language alone.
    var lessSpecific: LanguageTag? {
        var tag = self
        if region != nil { tag.region = nil } else if script != nil { tag.script = nil } else { return nil }
        return tag
    }
}
