import GRDB

/// A field of an entity that lookups compare.
public enum EntityField: Sendable, Hashable, Codable, CustomStringConvertible {
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

    /// The name of the field, as in a manifest.
    public var description: String {
        switch self {
        case .id: "id"
        case .type: "type"
        case .title: "title"
        case .subtitle: "subtitle"
        case .label: "label"
        case .attribute(let name): name
        }
    }

    /// Whether an entity's field has one of the values.
    func condition(isAnyOf values: [String]) -> SQL {
        switch self {
        case .id: "entity.id IN \(values)"
        case .type: "entity.type IN \(values)"
        case .title: "entity.title IN \(values)"
        case .subtitle: "entity.subtitle IN \(values)"
        case .label: "EXISTS (SELECT 1 FROM json_each(entity.labels) AS one WHERE one.value IN \(values))"
        case .attribute(let name):
            """
            EXISTS (SELECT 1 FROM json_each(entity.attributes) AS one \
            WHERE one.key = \(name) AND one.value IN \(values))
            """
        }
    }

    /// The values of an entity's field.
    func values(of entity: CatalogEntity) -> [String] {
        switch self {
        case .id: [entity.id]
        case .type: entity.type.map { [$0] } ?? []
        case .title: entity.title.map { [$0] } ?? []
        case .subtitle: entity.subtitle.map { [$0] } ?? []
        case .label: entity.labels
        case .attribute(let name): entity.attributes[name].map { [$0] } ?? []
        }
    }
}
