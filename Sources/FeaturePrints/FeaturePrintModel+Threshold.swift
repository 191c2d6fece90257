extension FeaturePrintModel {
    /// Up to this distance a match is taken to show what a query shows that these are the prints of, one for each look at it.
    ///
    /// ``recommendedMaxDistance`` for a file without background prints. With them, less for a query that resembles
    /// many things, and more for one that resembles none; 0...2. A match's distance is the least of those to the prints.
    ///
    /// Of no prints it is ``recommendedMaxDistance`` too.
    ///
    /// - Precondition: the prints were made with this model.
    /// - Complexity: O(prints · background prints · print length): for four prints and the shipped 2,048, a tenth of a millisecond.
    public func recommendedMaxDistance(forQuery prints: [FeaturePrint]) -> Double? {
        precondition(prints.allSatisfy { $0.model == identity }, "the prints are of this model")
        guard let recommendedMaxDistance, let background, !prints.isEmpty else { return recommendedMaxDistance }
        return min(max(recommendedMaxDistance + background.offset(forQuery: prints.map(\.vector)), 0), 2)
    }

    /// How many prints of images that are in nobody's catalog tell how near a match has to be.
    public var backgroundPrintCount: Int { background?.count ?? 0 }
}
