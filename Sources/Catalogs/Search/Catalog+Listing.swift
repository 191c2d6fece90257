import GRDB

extension Catalog {
    /// The ids of the first entities that pass the filter, in the catalog's order.
    package func firstIDs(_ limit: Int, filter: CatalogFilter) throws -> [String] {
        guard limit > 0 else { return [] }
        return try folder.mappingErrors {
            try database.reader.read { db in
                let request: SQLRequest<String> =
                    "SELECT id FROM entity WHERE \(filter.condition) ORDER BY row LIMIT \(limit)"
                return try request.fetchAll(db)
            }
        }
    }
}
