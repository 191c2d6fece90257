import Foundation

/// How an entity is displayed in a list of results: a title, a line below it, and a small picture.
public struct DisplayRepresentation: Sendable, Hashable, Codable {
    /// A picture: the data of an image file, or the name of a picture that whoever shows the entity has.
    public struct Image: Sendable, Hashable, Codable {
        /// The bytes of an image file; nil for other pictures.
        public let data: Data?
        /// The name of a picture of the app; nil for other pictures.
        public let name: String?
        /// The name of a symbol of the system; nil for other pictures.
        public let systemName: String?

        /// A picture in memory.
        public init(data: Data) { (self.data, name, systemName) = (data, nil, nil) }

        /// A picture of the app.
        public init(named name: String) { (data, self.name, systemName) = (nil, name, nil) }

        /// A symbol of the system.
        public init(systemName: String) { (data, name, self.systemName) = (nil, nil, systemName) }
    }

    /// The name of the entity.
    public var title: LocalizedStringResource
    /// A second line, such as an artist.
    public var subtitle: LocalizedStringResource?
    /// A small picture.
    public var image: Image?

    /// A title with what is displayed beside it.
    public init(title: LocalizedStringResource, subtitle: LocalizedStringResource? = nil, image: Image? = nil) {
        self.title = title
        self.subtitle = subtitle
        self.image = image
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
    /// How the value is displayed. It is read often: keep its picture small and in memory.
    var displayRepresentation: DisplayRepresentation { get }
}

/// The name of a type of entities.
public struct TypeDisplayRepresentation: Sendable, Hashable, Codable {
    /// The name of one entity of the type.
    public var name: LocalizedStringResource
    /// The name of several entities, such as `"\(placeholder: .int) landmarks"`; nil if the type has none.
    public var numericFormat: LocalizedStringResource?

    /// The names of a type.
    public init(name: LocalizedStringResource, numericFormat: LocalizedStringResource? = nil) {
        self.name = name
        self.numericFormat = numericFormat
    }

    /// The name of a number of entities: the numeric format with the number in its place, or the number and the name.
    public func localized(count: Int, for languages: [String] = Locale.preferredLanguages) -> String {
        guard count != 1, let format = numericFormat?.localized(for: languages) else {
            return "\(count) \(name.localized(for: languages))"
        }
        let placeholder = LocalizedStringResource.StringInterpolation.Placeholder.int.rawValue
        return format.replacingOccurrences(of: placeholder, with: "\(count)")
    }
}

extension TypeDisplayRepresentation: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(name: LocalizedStringResource(value)) }

    public init(stringInterpolation: LocalizedStringResource.StringInterpolation) {
        self.init(name: LocalizedStringResource(stringInterpolation: stringInterpolation))
    }
}
