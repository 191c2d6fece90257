/// An entity of a catalog: an album, a product, a landmark.
public struct CatalogEntity: Sendable, Hashable, Codable, Identifiable {
    /// Unique in its catalog; bytes decide. It has no NUL.
    public var id: String
    /// A type of the app's choice, such as `album`.
    public var type: String?
    /// The name to display; searched by text.
    public var title: String?
    /// A second line to display, such as an artist; searched by text.
    public var subtitle: String?
    /// Free labels, to filter by and to search by text.
    public var labels: [String]
    /// The manifest's other columns. An array in JSON, such as `["red","blue"]`, is a list: conditions hold for it if
    /// they hold for one of its values, facets count each, and orders look at the first.
    public var attributes: [String: String]
    /// A path per image, the first of which is the cover; for an image that was indexed from memory, whatever the app
    /// likes to keep here.
    public var images: [String]
    /// The path of its first image; empty for an entity without one.
    public var image: String {
        get { images.first ?? "" }
        set { images.replaceSubrange(..<min(1, images.count), with: [newValue]) }
    }

    /// An entity with one image.
    public init(
        id: String, type: String? = nil, title: String? = nil, subtitle: String? = nil,
        labels: [String] = [], attributes: [String: String] = [:], image: String = ""
    ) {
        self.init(
            id: id, type: type, title: title, subtitle: subtitle, labels: labels, attributes: attributes,
            images: [image])
    }

    /// An entity with any number of images.
    public init(
        id: String, type: String? = nil, title: String? = nil, subtitle: String? = nil,
        labels: [String] = [], attributes: [String: String] = [:], images: [String]
    ) {
        self.id = id
        self.type = type
        self.title = title
        self.subtitle = subtitle
        self.labels = labels
        self.attributes = attributes
        self.images = images
    }

    /// The entity of a manifest's row: values of fields by name; other names are attributes.
    package init(id: String, values: [String: String], labels: [String], images: [String]) {
        var attributes = values
        for key in ["id", "image", "images", "labels"] { attributes[key] = nil }
        self.init(
            id: id, type: attributes.removeValue(forKey: "type"), title: attributes.removeValue(forKey: "title"),
            subtitle: attributes.removeValue(forKey: "subtitle"), labels: labels, attributes: [:], images: images)
        self.attributes = attributes
    }

    /// SQLite's text ends at a NUL in some places and not in others.
    package var hasNUL: Bool {
        ([id, type, title, subtitle].compactMap(\.self) + images + labels + attributes.flatMap { [$0.key, $0.value] })
            .contains { $0.utf8.contains(0) }
    }

    /// Whether both are stored as the same bytes.
    package func isStored(as other: CatalogEntity) -> Bool { exactTexts == other.exactTexts }

    /// The texts of each field, none of one that is absent; then each attribute, in the order of names.
    private var exactTexts: [[ExactText]] {
        [[id] + images, [type].compactMap(\.self), [title].compactMap(\.self), [subtitle].compactMap(\.self), labels]
            .map { $0.map(ExactText.init) }
            + attributes.sorted { $0.key < $1.key }.map { [ExactText($0.key), ExactText($0.value)] }
    }
}

/// Coded as its properties; `images` is absent from an entity with one image.
extension CatalogEntity {
    private enum CodingKeys: CodingKey { case id, type, title, subtitle, labels, attributes, image, images }

    /// Decodes an entity, with `images` or a single `image`.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        type = try values.decodeIfPresent(String.self, forKey: .type)
        title = try values.decodeIfPresent(String.self, forKey: .title)
        subtitle = try values.decodeIfPresent(String.self, forKey: .subtitle)
        labels = try values.decode([String].self, forKey: .labels)
        attributes = try values.decode([String: String].self, forKey: .attributes)
        images =
            try values.decodeIfPresent([String].self, forKey: .images)
            ?? [values.decode(String.self, forKey: .image)]
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(id, forKey: .id)
        try values.encodeIfPresent(type, forKey: .type)
        try values.encodeIfPresent(title, forKey: .title)
        try values.encodeIfPresent(subtitle, forKey: .subtitle)
        try values.encode(labels, forKey: .labels)
        try values.encode(attributes, forKey: .attributes)
        try values.encode(image, forKey: .image)
        if images.count > 1 { try values.encode(images, forKey: .images) }
    }
}
