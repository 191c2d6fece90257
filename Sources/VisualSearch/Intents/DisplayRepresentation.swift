import Foundation

/// How an entity is displayed in a list of results: a title, a line below it, and a small picture.
public struct DisplayRepresentation: Sendable, Hashable, Codable {
    /// A picture as data of an image file, or where to find one.
    ///
    /// Apple's type also takes names of an app's assets and of system symbols, which do not exist here.
    public struct Image: Sendable, Hashable, Codable {
        /// The bytes of an image file; nil for a picture at a URL.
        public let data: Data?
        /// Where the picture is; nil for data.
        public let url: URL?

        /// A picture in memory.
        public init(data: Data) {
            self.data = data
            url = nil
        }

        /// A picture at a URL.
        public init(url: URL) {
            data = nil
            self.url = url
        }
    }

    /// The name of the entity.
    public var title: LocalizedStringResource
    /// A second line, such as an artist.
    public var subtitle: LocalizedStringResource?
    /// A small picture.
    public var image: Image?
    /// Other words for the entity.
    public var synonyms: [LocalizedStringResource]

    /// A title with what is displayed beside it.
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
    /// The name of one entity of the type.
    public var name: LocalizedStringResource
    /// For several of them, such as `"\(placeholder: .int) landmarks"`.
    public var numericFormat: LocalizedStringResource?
    /// Other names of the type.
    public var synonyms: [LocalizedStringResource]

    /// The names of a type.
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
