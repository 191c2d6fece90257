import GRDB

/// Which entities may be found at all. An empty filter lets all of them through.
///
/// Filters are applied before the nearest are picked: ten matches are asked for, and ten of those
/// that pass come.
public struct CatalogFilter: Sendable, Hashable, Codable {
    /// One of these types; any, where empty.
    public var types: Set<String>
    /// All of these labels.
    public var labels: Set<String>
    /// For each of these attributes, one of the values.
    public var attributes: [String: Set<String>]

    public init(types: Set<String> = [], labels: Set<String> = [], attributes: [String: Set<String>] = [:]) {
        self.types = types
        self.labels = labels
        self.attributes = attributes
    }

    public var isEmpty: Bool { types.isEmpty && labels.isEmpty && attributes.isEmpty }

    /// What passes both filters.
    public func and(_ other: CatalogFilter) -> CatalogFilter {
        // Two lists of types that share none let nothing through, which an empty list would not say.
        let common = types.isEmpty ? other.types : other.types.isEmpty ? types : types.intersection(other.types)
        var both = CatalogFilter(types: common, labels: labels.union(other.labels), attributes: attributes)
        for (key, values) in other.attributes {
            both.attributes[key] = both.attributes[key].map { $0.intersection(values) } ?? values
        }
        if common.isEmpty, !types.isEmpty { both.attributes["", default: []] = [] }
        return both
    }

    /// A condition on the table of entities.
    var condition: SQL {
        var parts: [SQL] = []
        if !types.isEmpty { parts.append("entity.type IN \(types.sorted())") }
        for label in labels.sorted() {
            parts.append("EXISTS (SELECT 1 FROM json_each(entity.labels) AS one WHERE one.value = \(label))")
        }
        for (key, values) in attributes.sorted(by: { $0.key < $1.key }) {
            parts.append(
                "EXISTS (SELECT 1 FROM json_each(entity.attributes) AS one WHERE one.key = \(key) AND one.value IN \(values.sorted()))")
        }
        return parts.isEmpty ? "1" : parts.joined(separator: " AND ")
    }
}
