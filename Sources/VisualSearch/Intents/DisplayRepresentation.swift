import Foundation

/// How an entity is displayed in a list of results: a title, a line below it, and a small picture.
public struct DisplayRepresentation: Sendable, Hashable, Codable {
    /// A picture as data of an image file, or where to find one.
    ///
    /// Apple's type also takes names of an app's assets and of system symbols, which do not exist here.
    public struct Image: Sendable, Hashable, Codable {
        public let data: Data?
        public let url: URL?

        public init(data: Data) {
            self.data = data
            url = nil
        }

        public init(url: URL) {
            data = nil
            self.url = url
        }
    }

    public var title: LocalizedStringResource
    public var subtitle: LocalizedStringResource?
    public var image: Image?
    /// Other words for the entity.
    public var synonyms: [LocalizedStringResource]

    public init(
        title: LocalizedStringResource, subtitle: LocalizedStringResource? = nil, image: Image? = nil,
        synonyms: [LocalizedStringResource] = []
    ) {
        self.title = title
        self.subtitle = subtitle
        self.image = image
        self.synonyms = synonyms
    }
}

extension DisplayRepresentation: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(title: LocalizedStringResource(value)) }

    public init(stringInterpolation: LocalizedStringResource.StringInterpolation) {
        self.init(title: LocalizedStringResource(stringInterpolation: stringInterpolation))
    }
}

/// The name of a type of entities.
public struct TypeDisplayRepresentation: Sendable, Hashable, Codable {
    public var name: LocalizedStringResource
    /// For several of them, such as `"\(placeholder: .int) landmarks"`.
    public var numericFormat: LocalizedStringResource?
    public var synonyms: [LocalizedStringResource]

    public init(
        name: LocalizedStringResource, numericFormat: LocalizedStringResource? = nil,
        synonyms: [LocalizedStringResource] = []
    ) {
        self.name = name
        self.numericFormat = numericFormat
        self.synonyms = synonyms
    }
}

extension TypeDisplayRepresentation: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(name: LocalizedStringResource(value)) }

    public init(stringInterpolation: LocalizedStringResource.StringInterpolation) {
        self.init(name: LocalizedStringResource(stringInterpolation: stringInterpolation))
    }
}
