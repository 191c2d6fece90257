import GRDB

/// What results are grouped by.
public enum FacetKey: Sendable, Hashable, Codable {
    /// The type of the entity.
    case type
    /// Each label of the entity.
    case label
    /// The attribute of this name.
    case attribute(String)
}

/// The values of a facet key, with the number of results that have each.
public struct Facet: Sendable, Hashable, Codable {
    /// A value, and how many results have it.
    public struct Value: Sendable, Hashable, Codable {
        /// A type, a label, or the value of an attribute.
        public let value: String
        /// The number of results with this value.
        public let count: Int
    }

    /// What the results are grouped by.
    public let key: FacetKey
    /// The most frequent first; ties by name.
    public let values: [Value]
}

extension Catalog {
    /// The facets of some entities.
    package func facets(of keys: [Int64], by wanted: [FacetKey]) throws -> [Facet] {
        try folder.mappingErrors {
            try database.reader.read { db in
                try wanted.map { key in
                    let counted = try CatalogDatabase.inParts(of: keys) { part -> [(String, Int)] in
                        let request: SQLRequest<Row> =
                            switch key {
                            case .type:
                                "SELECT type, COUNT(*) FROM entity WHERE row IN \(part) AND type IS NOT NULL GROUP BY 1"
                            case .label:
                                """
                                SELECT one.value, COUNT(DISTINCT entity.row) \
                                FROM entity, json_each(entity.labels) AS one \
                                WHERE entity.row IN \(part) GROUP BY 1
                                """
                            case .attribute(let name):
                                """
                                SELECT one.value, COUNT(*) FROM entity, json_each(entity.attributes) AS one \
                                WHERE entity.row IN \(part) AND one.key = \(name) GROUP BY 1
                                """
                            }
                        return try request.fetchAll(db).map { ($0[0], $0[1]) }
                    }
                    let sums = Dictionary(counted, uniquingKeysWith: +)
                    return Facet(
                        key: key,
                        values: sums.map { Facet.Value(value: $0.key, count: $0.value) }
                            .sorted { ($1.count, $0.value) < ($0.count, $1.value) })
                }
            }
        }
    }
}
