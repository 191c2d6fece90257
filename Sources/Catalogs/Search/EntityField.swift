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

    /// The rows of the entities whose field has one of the values, with the value. An entity with several of them comes
    /// as often, in a row.
    func rows(of values: [String], where condition: SQL) -> SQLRequest<Row> {
        switch self {
        case .id: Self.rows("entity.id", of: values, where: condition)
        case .type: Self.rows("entity.type", of: values, where: condition)
        case .title: Self.rows("entity.title", of: values, where: condition)
        case .subtitle: Self.rows("entity.subtitle", of: values, where: condition)
        case .label:
            Self.rows("one.value", in: ", json_each(entity.labels) AS one", of: values, where: condition)
        case .attribute(let name):
            Self.rows(
                "one.value", in: ", json_each(entity.attributes) AS one", of: values,
                where: "\(condition) AND one.key = \(name)")
        }
    }

    private static func rows(
        _ value: SQL, in list: SQL = "", of values: [String], where condition: SQL
    ) -> SQLRequest<Row> {
        "SELECT entity.row, \(value) FROM entity\(list) WHERE \(condition) AND \(value) IN \(values)"
    }
}
