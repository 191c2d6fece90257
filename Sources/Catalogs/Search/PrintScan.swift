import VectorSearch

/// The rows with the nearest prints that the first stage of a search found. A ranking of the same query starts with
/// them instead of scanning all prints again.
package struct PrintScan: Sendable {
    /// Rows that the first stage finds at least: enough for a first page with its verified entities. A scan for more
    /// takes no longer.
    static let leastRows = 32

    let matrix: MappedPrintMatrix
    /// The rows that were scanned; nil for all.
    let allowed: [Range<Int>]?
    /// Nearest first.
    let nearest: [Neighbor]
    /// The rows that were looked for. There are fewer only if no others are allowed.
    let k: Int

    /// The `k` nearest of some rows; nil if other rows were scanned, or more were looked for.
    func nearest(_ k: Int, in matrix: MappedPrintMatrix, among allowed: [Range<Int>]?) -> [Neighbor]? {
        guard matrix === self.matrix, allowed == self.allowed, k <= self.k || nearest.count < self.k else { return nil }
        return Array(nearest.prefix(k))
    }
}
