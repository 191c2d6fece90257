import Compute
import FeaturePrints
import Foundation
import GRDB
import Imaging
import LocalFeatures
import VectorSearch

/// An image with everything that is computed of it before a catalog is read.
package struct AnalyzedImage: Sendable {
    let image: PixelBuffer
    let effort: SearchEffort
    package let embedded: EmbeddedQuery
    let features: LocalFeatureQuery?
}

extension Catalog {
    /// Embeds an image, finds candidates by prints and local features, and verifies them: all of a search that reads
    /// the pixels. Pages of the ranking follow from the result.
    ///
    /// - Parameters:
    ///   - effort: quality for time.
    ///   - crops: the crops of the image to embed, one forward pass per crop; those of the effort by default.
    ///   - filter: the entities to search.
    /// - Throws: ``CatalogError``, `ModelError` if the image cannot be embedded, and `CancellationError`.
    /// - Complexity: O(crops · entities · dimension + entities with common visual words), besides forward passes and
    ///   the extraction of features.
    public func query(
        for image: PixelBuffer, effort: SearchEffort = .standard, crops: QueryCrops? = nil,
        filter: CatalogFilter = CatalogFilter(), timings: StageTimings? = nil
    ) throws -> CatalogQuery {
        try query(for: analyze(image, effort: effort, crops: crops, timings: timings), filter: filter, timings: timings)
    }

    package func analyze(
        _ image: PixelBuffer, effort: SearchEffort, crops: QueryCrops?, timings: StageTimings?
    ) throws -> AnalyzedImage {
        let image = hasLocalFeatures && effort != .prints ? Self.reduced(image) : image
        let embedded = try QueryEmbedder(model, crops: crops ?? (hasLocalFeatures ? effort : .prints).crops).embed(
            image, timings: timings)
        try Task.checkCancellation()
        let features =
            effort == .prints
            ? nil
            : extractor.map { extractor in
                measured(timings, .features) {
                    LocalFeatureQuery(extractor.queryFeatures(of: image, detail: .query), model: extractor.model)
                }
            }
        try Task.checkCancellation()
        return AnalyzedImage(image: image, effort: effort, embedded: embedded, features: features)
    }

    /// A large image, reduced once for all stages: it keeps a pixel for each of the finest keypoints' plane.
    private static func reduced(_ image: PixelBuffer) -> PixelBuffer {
        let factor = max(image.width, image.height) / LocalFeatureExtractor.Detail.fineQuery.longSide
        return factor > 1 ? BoxReducer(factor: min(factor, 16)).reduce(image) : image
    }

    /// - Parameter excluded: entities that are treated as if the catalog did not have them.
    package func query(
        for analyzed: AnalyzedImage, filter: CatalogFilter, excluding excluded: Set<Int64> = [],
        timings: StageTimings?
    ) throws -> CatalogQuery {
        let embedded = analyzed.embedded
        guard let features = analyzed.features, let lists = try currentLists(), let extractor else {
            return CatalogQuery(prints: embedded.prints, matchThreshold: embedded.matchThreshold)
        }
        let search = CandidateSearch(
            catalog: self, lists: lists, matrix: try currentMatrix(), prints: embedded.prints, filter: filter,
            excluded: excluded, effort: analyzed.effort)
        let printCandidates = try measured(timings, .search) { try search.byPrints() }
        let first = try search.verify(features, with: printCandidates, timings: timings)
        var verified = first.verified
        var candidates = first.candidates
        if analyzed.effort == .thorough || search.needsFinerKeypoints(verified) {
            try Task.checkCancellation()
            let fine = measured(timings, .features) {
                LocalFeatureQuery(
                    extractor.queryFeatures(of: analyzed.image, detail: .fineQuery), model: extractor.model)
            }
            let second = try search.verify(fine, with: printCandidates, timings: timings)
            verified.merge(second.verified) { $0.evidence >= $1.evidence ? $0 : $1 }
            candidates = second.candidates
        }
        try Task.checkCancellation()
        let compared = try search.compareRectified(
            verified.values.sorted { $0.key < $1.key }, in: analyzed.image, timings: timings)
        return CatalogQuery(
            prints: embedded.prints, matchThreshold: embedded.matchThreshold, verified: compared, isVerified: true,
            candidates: candidates)
    }
}
