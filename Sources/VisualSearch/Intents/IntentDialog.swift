/// What an intent tells or asks a person.
public struct IntentDialog: Sendable, Hashable {
    /// All of it, for a voice alone.
    public var full: LocalizedStringResource
    /// What is said beside a picture of the rest; the full text if there is none.
    public var supporting: LocalizedStringResource
    /// The name of a system symbol.
    public var systemImageName: String?

    /// The same text for a voice alone and beside a picture.
    public init(_ text: LocalizedStringResource) { self.init(full: text, supporting: text) }

    /// A text for a voice alone, and one beside a picture.
    public init(
        full: LocalizedStringResource, supporting: LocalizedStringResource, systemImageName: String? = nil
    ) {
        self.full = full
        self.supporting = supporting
        self.systemImageName = systemImageName
    }
}

extension IntentDialog: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(LocalizedStringResource(value)) }

    public init(stringInterpolation: LocalizedStringResource.StringInterpolation) {
        self.init(LocalizedStringResource(stringInterpolation: stringInterpolation))
    }
}
