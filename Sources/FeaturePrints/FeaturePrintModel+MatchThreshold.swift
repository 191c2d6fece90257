extension FeaturePrintModel {
    /// The match threshold for a query, given the prints of its crops. The distance of a match is its minimum distance
    /// to them.
    ///
    /// The threshold is ``matchThreshold``, moved by score normalization if the file has a background set: lower for a
    /// query that resembles many images, higher for one that resembles none. For no prints it is ``matchThreshold``.
    ///
    /// - Returns: a distance in 0...2; nil if the file has no threshold.
    /// - Precondition: the prints were made with this model; see ``check(_:)``.
    /// - Complexity: O(prints · background set · dimension); 0.1 ms for four prints and the default model's 2,048.
    public func matchThreshold(for prints: [FeaturePrint]) -> Double? {
        precondition(prints.allSatisfy { $0.model == identity }, "the prints were made with another model")
        guard let matchThreshold, let scoreNormalization, !prints.isEmpty else { return matchThreshold }
        return min(max(matchThreshold + scoreNormalization.offset(for: prints.map(\.vector)), 0), 2)
    }

    /// The size of the background set that score normalization compares a query with; 0 without one.
    public var backgroundSetCount: Int { scoreNormalization?.count ?? 0 }
}
