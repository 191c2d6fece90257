/// A field of an entity, as conditions, facets and lookups name it.
///
/// As text, a field is its name: `id`, `type`, `title`, `subtitle`, `label`, or the name of an attribute. An attribute
/// that has one of these names is written `attribute.type`.
public enum EntityField: Sendable, Hashable {
    /// The id.
    case id
    /// The type.
    case type
    /// The title.
    case title
    /// The subtitle.
    case subtitle
    /// Any of the labels.
    case label
    /// A column of the manifest besides the known ones.
    case attribute(String)

    /// The fields besides attributes, by their names.
    package static let named: [String: EntityField] = [
        "id": .id, "type": .type, "title": .title, "subtitle": .subtitle, "label": .label,
    ]
    private static let attributePrefix = "attribute."

    /// The field that a text names.
    public init(_ name: String) {
        if let known = Self.named[name] {
            self = known
        } else {
            self = .attribute(
                name.hasPrefix(Self.attributePrefix) ? String(name.dropFirst(Self.attributePrefix.count)) : name)
        }
    }

    /// The name under which a catalog stores the field: that of an attribute always starts with `attribute.`.
    package var storedName: String {
        switch self {
        case .id: "id"
        case .type: "type"
        case .title: "title"
        case .subtitle: "subtitle"
        case .label: "label"
        case .attribute(let name): Self.attributePrefix + name
        }
    }

    /// The name of an attribute; nil for other fields.
    package var attributeName: String? { if case .attribute(let name) = self { name } else { nil } }

    /// The values of the field: one, none, or several labels or members of a list.
    public func values(of entity: CatalogEntity) -> [String] {
        switch self {
        case .id: [entity.id]
        case .type: [entity.type].compactMap(\.self)
        case .title: [entity.title].compactMap(\.self)
        case .subtitle: [entity.subtitle].compactMap(\.self)
        case .label: entity.labels
        case .attribute(let name): entity.attributes[name].map(AttributeList.texts) ?? []
        }
    }
}

extension EntityField: CustomStringConvertible {
    /// The name of the field.
    public var description: String {
        guard case .attribute(let name) = self else { return storedName }
        let isAmbiguous = Self.named[name] != nil || name.hasPrefix(Self.attributePrefix)
        return isAmbiguous ? storedName : name
    }
}

/// A field is coded as its name.
extension EntityField: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
