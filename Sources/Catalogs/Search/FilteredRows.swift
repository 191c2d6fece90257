import GRDB

/// The rows of the matrix that pass a filter, kept from one search to the next: the pages of a search share theirs.
struct FilteredRows: Sendable {
    let filter: ExactFilter
    let revision: CatalogRevision
    let metadataRevision: Int64
    let rows: [Range<Int>]
}

extension Catalog {
    /// The rows of the matrix that pass; nil for all of them. O(entities) for another filter than the last one.
    func rows(of matrix: MappedPrintMatrix, passing filter: CatalogFilter) throws -> [Range<Int>]? {
        guard !filter.isEmpty else { return nil }
        let kept = filtered.withLock { $0 }
        let exact = ExactFilter(filter)
        let current = try folder.mappingErrors {
            try database.reader.read { db in
                let metadataRevision = try CatalogDatabase.metadataRevision(db)
                if let kept, kept.filter == exact, kept.revision == matrix.header.revision,
                    kept.metadataRevision == metadataRevision
                {
                    return kept
                }
                let request: SQLRequest<Int64> = "SELECT row FROM entity WHERE \(filter.condition) ORDER BY row"
                let rows = matrix.rows(withKeys: try request.fetchAll(db))
                return FilteredRows(
                    filter: exact, revision: matrix.header.revision, metadataRevision: metadataRevision, rows: rows)
            }
        }
        try matrix.checkIsUnchanged(in: folder)
        filtered.withLock { $0 = current }
        // If every row passes, no list is needed, and the search can share a scan with others.
        return current.rows == [0..<matrix.rowCount] ? nil : current.rows
    }
}
