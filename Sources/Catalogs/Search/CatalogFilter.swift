import GRDB

/// Which entities may be found at all. An empty filter lets all of them through.
///
/// Filters are applied before the nearest are picked: ten matches are asked for, and ten of those
/// that pass come.
public struct CatalogFilter: Sendable, Hashable, Codable {
    /// One of these types; nil for any, and for entities without one.
    public var types: Set<String>?
    /// All of these labels.
    public var labels: Set<String>
    /// For each of these attributes, one of the values.
    public var attributes: [String: Set<String>]

    public init(types: Set<String>? = nil, labels: Set<String> = [], attributes: [String: Set<String>] = [:]) {
        self.types = types
        self.labels = labels
        self.attributes = attributes
    }

    public var isEmpty: Bool { types == nil && labels.isEmpty && attributes.isEmpty }

    /// What passes both filters.
    public func and(_ other: CatalogFilter) -> CatalogFilter {
        var both = CatalogFilter(types: types, labels: labels.union(other.labels), attributes: attributes)
        if let others = other.types { both.types = types?.intersection(others) ?? others }
        for (key, values) in other.attributes {
            both.attributes[key] = both.attributes[key].map { $0.intersection(values) } ?? values
        }
        return both
    }

    /// A condition on the table of entities.
    var condition: SQL {
        var parts: [SQL] = []
        if let types { parts.append("entity.type IN \(types.sorted())") }
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
