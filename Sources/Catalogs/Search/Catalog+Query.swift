import Compute
import FeaturePrints
import Foundation
import GRDB
import Imaging
import LocalFeatures
import VectorSearch

/// An image with everything that is computed of it before a catalog is read.
struct AnalyzedImage: Sendable {
    let image: PixelBuffer
    let effort: SearchEffort
    let embedded: EmbeddedQuery
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
    ) async throws -> CatalogQuery {
        try await scans.countingSearch {
            try await executor.compute { cancellation in
                let analyzed = try analyze(
                    image, effort: effort, crops: crops, timings: timings, cancellation: cancellation)
                return try await query(for: analyzed, filter: filter, timings: timings, cancellation: cancellation)
            }
        }
    }

    func analyze(
        _ image: PixelBuffer, effort: SearchEffort, crops: QueryCrops?, timings: StageTimings?,
        cancellation: Cancellation
    ) throws -> AnalyzedImage {
        let image = hasLocalFeatures && effort != .prints ? reduced(image) : image
        let embedded = try QueryEmbedder(model, crops: crops ?? (hasLocalFeatures ? effort : .prints).crops).embed(
            image, timings: timings, cancellation: cancellation)
        try cancellation.check()
        let features =
            effort == .prints
            ? nil
            : extractor.map { extractor in
                measured(timings, .features) {
                    LocalFeatureQuery(
                        extractor.queryFeatures(of: image, detail: .query, cancellation: cancellation),
                        model: extractor.model)
                }
            }
        try cancellation.check()
        return AnalyzedImage(image: image, effort: effort, embedded: embedded, features: features)
    }

    /// A large image, reduced once for all stages: it keeps a pixel for each of the finest keypoints' plane, and two
    /// for each of the network's input, however narrow it is.
    private func reduced(_ image: PixelBuffer) -> PixelBuffer {
        let inputSide = max(model.inputSize.width, model.inputSize.height)
        let largest = min(
            max(image.width, image.height) / LocalFeatureExtractor.Detail.fineQuery.longSide,
            min(image.width, image.height) / (2 * inputSide), 16)
        // Squares of 2 pixels, and of multiples of 4, are summed by whole vectors.
        let factor = largest < 4 ? min(largest, 2) : largest / 4 * 4
        return factor > 1 ? BoxReducer(factor: factor).reduce(image) : image
    }

    /// - Parameter excluded: entities that are treated as if the catalog did not have them.
    func query(
        for analyzed: AnalyzedImage, filter: CatalogFilter, excluding excluded: Set<Int64> = [],
        timings: StageTimings?, cancellation: Cancellation
    ) async throws -> CatalogQuery {
        let embedded = analyzed.embedded
        guard let features = analyzed.features, let lists = try currentLists(), let extractor else {
            return CatalogQuery(prints: embedded.prints, matchThreshold: embedded.matchThreshold)
        }
        let matrix = try currentMatrix()
        let search = CandidateSearch(
            catalog: self, lists: lists, matrix: matrix, prints: embedded.prints,
            allowed: try rows(of: matrix, passing: filter), excluded: excluded, effort: analyzed.effort,
            cancellation: cancellation)
        let start = ContinuousClock.now
        let scan = try await search.scanPrints()
        let printCandidates = search.candidates(of: scan)
        timings?.add(ContinuousClock.now - start, to: .search)
        let first = try search.verify(features, with: printCandidates, timings: timings)
        var verified = first.verified
        var candidates = first.candidates
        if analyzed.effort == .thorough || search.needsFinerKeypoints(verified) {
            try cancellation.check()
            let fine = measured(timings, .features) {
                LocalFeatureQuery(
                    extractor.queryFeatures(
                        of: analyzed.image, detail: .fineQuery, cancellation: cancellation), model: extractor.model)
            }
            try cancellation.check()
            let second = try search.verify(fine, with: printCandidates, timings: timings)
            verified.merge(second.verified) { $0.evidence >= $1.evidence ? $0 : $1 }
            candidates = second.candidates
        }
        try cancellation.check()
        let compared = try search.compareRectified(
            verified.values.sorted { $0.key < $1.key }, in: analyzed.image, timings: timings)
        try matrix.checkIsUnchanged(in: folder)
        try lists.checkIsUnchanged(in: folder)
        return CatalogQuery(
            prints: embedded.prints, matchThreshold: embedded.matchThreshold, verified: compared, isVerified: true,
            candidates: candidates, scan: scan)
    }
}
