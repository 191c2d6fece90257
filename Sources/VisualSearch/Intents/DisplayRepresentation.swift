import Foundation

/// How an entity is displayed in a list of results: a title, a line below it, and a small picture.
public struct DisplayRepresentation: Sendable, Hashable, Codable {
    /// A picture: data of an image file, where to find one, or the name of one that the app or the system has.
    ///
    /// A name means something to whoever shows the entity; nothing here looks it up.
    public struct Image: Sendable, Hashable, Codable {
        /// The outline of a picture.
        public enum DisplayStyle: String, Sendable, Hashable, Codable {
            /// What the place that shows it has.
            case `default`
            /// A circle.
            case circular
        }

        /// The bytes of an image file; nil for other pictures.
        public let data: Data?
        /// Where the picture is; nil for other pictures.
        public let url: URL?
        /// The name of a picture of the app.
        public let name: String?
        /// The name of a symbol of the system.
        public let systemName: String?
        /// Whether its colors are to be replaced; nil if the picture itself says.
        public let isTemplate: Bool?
        /// Nil for the default.
        public let displayStyle: DisplayStyle?

        private init(
            data: Data? = nil, url: URL? = nil, name: String? = nil, systemName: String? = nil,
            isTemplate: Bool? = nil, displayStyle: DisplayStyle? = nil
        ) {
            self.data = data
            self.url = url
            self.name = name
            self.systemName = systemName
            self.isTemplate = isTemplate
            self.displayStyle = displayStyle
        }

        /// A picture in memory.
        public init(data: Data, isTemplate: Bool? = nil, displayStyle: DisplayStyle? = nil) {
            self.init(
                data: data, url: nil, name: nil, systemName: nil, isTemplate: isTemplate, displayStyle: displayStyle)
        }

        /// A picture at a URL.
        public init(url: URL, isTemplate: Bool? = nil, displayStyle: DisplayStyle? = nil) {
            self.init(
                data: nil, url: url, name: nil, systemName: nil, isTemplate: isTemplate, displayStyle: displayStyle)
        }

        /// A picture of the app.
        public init(named name: String, isTemplate: Bool? = nil, displayStyle: DisplayStyle? = nil) {
            self.init(name: name, systemName: nil, isTemplate: isTemplate, displayStyle: displayStyle)
        }

        /// A symbol of the system.
        public init(systemName: String, isTemplate: Bool? = nil) {
            self.init(name: nil, systemName: systemName, isTemplate: isTemplate)
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

/// A type with a name that people see.
public protocol TypeDisplayRepresentable {
    /// The name of this type.
    static var typeDisplayRepresentation: TypeDisplayRepresentation { get }
}

/// A value that people see.
public protocol InstanceDisplayRepresentable {
    /// How it is displayed. Read often: keep its picture small and in memory.
    var displayRepresentation: DisplayRepresentation { get }
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
