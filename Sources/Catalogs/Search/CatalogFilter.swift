import GRDB

/// Restricts a search to some entities. An empty filter passes all of them.
///
/// A filter is applied before the nearest entities are selected: a search with limit 10 returns ten entities that pass,
/// if there are as many.
///
/// Stored text is compared by its bytes. Swift's sets and dictionaries hold only one of two strings that are
/// canonically equivalent, such as an “é” of one scalar and one of two: a catalog that has both needs a filter for
/// each.
public struct CatalogFilter: Sendable, Hashable, Codable {
    /// The entity has one of these types; nil for any type or none.
    public var types: Set<String>?
    /// The entity has all of these labels.
    public var labels: Set<String>
    /// The entity has, for each of these attributes, one of the values.
    public var attributes: [String: Set<String>]

    /// A filter; each condition that is given has to hold.
    public init(types: Set<String>? = nil, labels: Set<String> = [], attributes: [String: Set<String>] = [:]) {
        self.types = types
        self.labels = labels
        self.attributes = attributes
    }

    /// Whether every entity passes.
    public var isEmpty: Bool { types == nil && labels.isEmpty && attributes.isEmpty }

    /// The filter that passes what passes both filters.
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
                """
                EXISTS (SELECT 1 FROM json_each(entity.attributes) AS one \
                WHERE one.key = \(key) AND one.value IN \(values.sorted()))
                """
            )
        }
        return parts.isEmpty ? "1" : Self.all(parts[...])
    }

    /// A balanced tree: SQLite refuses expressions deeper than 1,000.
    private static func all(_ parts: ArraySlice<SQL>) -> SQL {
        guard parts.count > 1 else { return parts[parts.startIndex] }
        let middle = parts.startIndex + parts.count / 2
        return "(\(all(parts[..<middle])) AND \(all(parts[middle...])))"
    }
}
