import VectorSearch

/// The rows with the nearest prints that the first stage of a search found. A ranking of the same query starts with
/// them instead of scanning all prints again.
package struct PrintScan: Sendable {
    /// Rows that the first stage finds at least: enough for a first page with its verified entities. A scan for more
    /// takes no longer.
    static let leastRows = 32

    let matrix: MappedPrintMatrix
    let filter: CatalogFilter
    /// Nearest first.
    let nearest: [Neighbor]
    /// The rows that were looked for. There are fewer only if no others pass the filter.
    let k: Int

    /// The `k` nearest rows; nil if other ones or more were looked for.
    func nearest(_ k: Int, in matrix: MappedPrintMatrix, passing filter: CatalogFilter) -> [Neighbor]? {
        guard matrix === self.matrix, filter == self.filter, k <= self.k || nearest.count < self.k else { return nil }
        return Array(nearest.prefix(k))
    }
}
