import Compute
import FeaturePrints
public import Imaging

extension SearchableCatalog {
    /// The entities whose images words describe, nearest first.
    ///
    /// ```swift
    /// let options = SearchOptions(limit: 20, condition: .isAnyOf(.type, ["furniture"]))
    /// let matches = try await catalog.search(describedBy: "a red lamp", options: options)
    /// ```
    ///
    /// All entities are ranked by the distance of their prints to that of the words: there is no decision which are
    /// matches, and `bounds.minConfidence` does not count. ``CatalogMatch/confidence`` is the probability that the
    /// words are about the image, for a model that gives one (`FeaturePrintModel.probability(ofDistance:)`), and 0 for
    /// others.
    ///
    /// - Parameters:
    ///   - image: what the entities are to resemble as well; nil for nothing.
    ///   - weight: that of the words beside the image, 0...1.
    ///   - options: the limit, the maximum distance, the condition, the cursor, the recall and the timings count here.
    /// - Throws: `ModelError` in a catalog whose model reads no texts; ``CatalogError``; ``SearchOptionsError``, for
    ///   words that are empty or a weight that is none, too; and `CancellationError`.
    /// - Complexity: O(entities · dimension), besides forward passes for the words and the image.
    public func search(
        describedBy words: String, beside image: PixelBuffer? = nil, weight: Double = 0.5,
        options: SearchOptions = SearchOptions()
    ) async throws -> [CatalogMatch] {
        try await search(
            try await query(describedBy: words, beside: image, weight: weight, options: options), options: options)
    }

    /// A query by words, for the pages of its ranking; see ``search(describedBy:beside:weight:options:)``.
    ///
    /// - Parameter options: the timings count here.
    /// - Throws: `ModelError` in a catalog whose model reads no texts; ``SearchOptionsError`` for words that are empty
    ///   or a weight that is none; and `CancellationError`.
    public func query(
        describedBy words: String, beside image: PixelBuffer? = nil, weight: Double = 0.5,
        options: SearchOptions = SearchOptions()
    ) async throws -> CatalogQuery {
        guard words.contains(where: { !$0.isWhitespace }) else {
            throw SearchOptionsError(subject: "words", reason: "they are empty")
        }
        guard (0...1).contains(weight) else {
            throw SearchOptionsError(subject: "weight", reason: "\(weight) is not in 0...1")
        }
        return try await scans.countingSearch {
            try await executor.compute { cancellation in
                var print = try measured(options.timings, .network) { try model.featurePrint(describedBy: words) }
                try cancellation.check()
                if let image {
                    let other = try model.featurePrint(for: image, timings: options.timings)
                    print = try model.featurePrint(between: print, and: other, weight: weight)
                }
                return CatalogQuery(
                    describedBy: print, coefficients: model.confidence, logits: image == nil ? model.textLogits : nil)
            }
        }
    }
}
