import CatalogEntities
import Compute
import FeaturePrints
import Imaging
import LocalFeatures

/// One search by an image that has been analyzed, from the nearest prints to the decision. The stages follow each other
/// from top to bottom, each beside the limits that say whether it is needed.
struct SearchRun {
    private let analyzed: AnalyzedImage
    private let options: SearchOptions
    private let extractor: LocalFeatureExtractor?
    private let cancellation: Cancellation
    private var search: CandidateSearch

    /// The nearest prints, and the images of the nearest entities.
    private var scan: PrintScan
    private var printCandidates: [Int64] = []
    /// What codes and texts name.
    private var named: [VerifiedEntity] = []
    /// What local features were compared with, by the images' rows.
    private var verified: [Int64: VerifiedEntity] = [:]
    private var candidates: [Int64] = []
    /// The dense descriptors of the images that were read.
    private var dense: [Int64: [UInt64]] = [:]
    /// The finest features of the query so far.
    private var compared: QueryFeatures?
    /// What matches are looked for in, and the crops of it that outlines may rectify.
    private var image: PixelBuffer
    private var mostCrops: Int
    /// Whether all was done that the effort asks for.
    private var isComplete: Bool

    /// The maximum number of verified entities whose rectified crop is embedded; one forward pass each.
    private static let rectifiedCrops = 16

    /// Runs the stages.
    ///
    /// - Parameter excluded: entities that are treated as if the catalog did not have them.
    static func query(
        for analyzed: AnalyzedImage, in state: any CatalogState, model: FeaturePrintModel,
        extractor: LocalFeatureExtractor?, options: SearchOptions, excluding excluded: Set<Int64>,
        cancellation: Cancellation
    ) async throws -> CatalogQuery {
        let search = CandidateSearch(
            state: state, model: model, prints: analyzed.embedded.prints,
            selection: try await state.selection(where: options.condition, among: nil), excluded: excluded,
            recall: options.recall, cancellation: cancellation)
        var run = SearchRun(
            analyzed: analyzed, options: options, extractor: extractor, cancellation: cancellation, search: search,
            scan: try await search.scanPrints(timings: options.timings), image: analyzed.image,
            mostCrops: rectifiedCrops, isComplete: analyzed.isComplete)
        run.named = try await search.named(by: options)
        guard let features = analyzed.features, let extractor, run.hasTime() else {
            return try await run.decideByPrints()
        }
        try await run.verifyCandidates(features)
        try await run.lookForDetail(extractor)
        try await run.lookIntoTiles(extractor)
        try await run.lookIntoMirror(extractor)
        try await run.compareDensely(analyzed.overview, by: extractor)
        let decision = try await run.decide()
        return try await run.lookIntoNegative(beside: decision, extractor)
    }

    /// Decides by prints that were made before.
    static func query(
        for prints: [FeaturePrint], in state: any CatalogState, model: FeaturePrintModel, options: SearchOptions,
        cancellation: Cancellation
    ) async throws -> CatalogQuery {
        let search = CandidateSearch(
            state: state, model: model, prints: prints,
            selection: try await state.selection(where: options.condition, among: nil), excluded: [],
            recall: options.recall, cancellation: cancellation)
        return search.decision(
            beside: try await search.scanPrints(timings: options.timings), named: try await search.named(by: options))
    }

    // MARK: Time

    /// Whether the budget is not spent. Nothing else asks for it, and nothing is left out without ``isComplete``.
    private mutating func hasTime() -> Bool {
        guard options.budget?.isSpent == true else { return true }
        isComplete = false
        return false
    }

    /// Whether a stage begins: it is needed, and there is time.
    private mutating func begins(_ isNeeded: Bool) throws -> Bool {
        try cancellation.check()
        return isNeeded && hasTime()
    }

    private func features(
        of image: PixelBuffer, detail: LocalFeatureExtractor.Detail, by extractor: LocalFeatureExtractor,
        votingCount: Int = .max
    ) -> LocalFeatureQuery {
        measured(options.timings, .features) {
            LocalFeatureQuery(
                extractor.queryFeatures(of: image, detail: detail, cancellation: cancellation), model: extractor.model,
                votingCount: votingCount)
        }
    }

    /// Entities with this many inliers count as found.
    private var hasSurelyFound: Bool { verified.values.contains { $0.inlierCount >= CandidateSearch.surelyFound } }

    // MARK: Stages

    /// From this confidence on the whole image shows one thing, and no crops are needed. Of 1,272 queries of the
    /// validation sets 914 are accepted and right then (916 with all crops), of 1,418 without a target 93 (91).
    private static let sureByPrint = 0.9

    /// What prints alone say: those of more crops, if the whole image is not surely something of the catalog.
    private mutating func decideByPrints() async throws -> CatalogQuery {
        var decision = search.decision(beside: scan, named: named, isComplete: isComplete)
        let isSure = decision.matchThreshold != nil && decision.withoutVerified.largestConfidence >= Self.sureByPrint
        if let crops = analyzed.cropsInDoubt, try begins(!isSure) {
            try await embed(crops)
            decision = search.decision(beside: scan, named: named)
        }
        return decision.complete(isComplete)
    }

    /// Embeds more crops, and finds the nearest prints of all.
    private mutating func embed(_ crops: QueryCrops) async throws {
        let embedded = try QueryEmbedder(search.model, crops: crops).embed(
            analyzed.image, overview: analyzed.overview, first: analyzed.embedded.crops.first,
            timings: options.timings, cancellation: cancellation)
        search.prints = embedded.prints
        scan = try await search.scanPrints(timings: options.timings)
    }

    private mutating func verifyCandidates(_ features: LocalFeatureQuery) async throws {
        printCandidates = search.candidates(of: scan)
        let found = try await search.verify(features, with: printCandidates, timings: options.timings)
        (verified, candidates, dense, compared) = (found.verified, found.candidates, found.dense, features.features)
    }

    /// A single entity that covers less of the query than this may be one of many small ones.
    private static let largeEntity = 0.08
    /// A query of which several entities cover less than this shows more of them in most cases.
    private static let wellCovered = 0.6

    /// Entities with this many inliers cover what their outlines enclose.
    private static let coveringInliers = 10

    /// Whether more crops and finer keypoints could find more: nothing is found yet, or what is found covers little of
    /// the image.
    private var needsMoreDetail: Bool {
        let found = verified.values.filter { $0.inlierCount >= Self.coveringInliers }
            .sorted { ($1.inlierCount, $0.key) < ($0.inlierCount, $1.key) }.firstOfEachEntity(\.key)
        let covered = found.reduce(0) { $0 + ($1.outline?.area ?? 0) }
        return covered < (found.count < 2 ? Self.largeEntity : Self.wellCovered)
    }

    /// The finer features that vote, of 1,600 that are verified. Among 101,569 images the votes of the strongest 500
    /// find the same entity first for all of 599 real queries, those of 300 for all but one.
    private static let fineVotes = 500

    /// More crops, finer keypoints.
    private mutating func lookForDetail(_ extractor: LocalFeatureExtractor) async throws {
        guard try begins(needsMoreDetail) else { return }
        if let crops = analyzed.cropsInDoubt {
            try await embed(crops)
            printCandidates = search.candidates(of: scan)
            verified = try await search.measuredAnew(verified)
        }
        let fine = features(
            of: analyzed.image, detail: .fineQuery, by: extractor, votingCount: Self.fineVotes)
        try cancellation.check()
        let found = try await search.verify(fine, with: printCandidates, timings: options.timings)
        verified.merge(found.verified) { $0.evidence.inliers >= $1.evidence.inliers ? $0 : $1 }
        candidates = found.candidates
        dense.merge(found.dense) { known, _ in known }
        compared = fine.features
    }

    /// Large and long images, and those that show more than was found, in parts.
    private mutating func lookIntoTiles(_ extractor: LocalFeatureExtractor) async throws {
        guard let compared,
            try begins(
                search.needsTiles(verified, in: compared, of: analyzed.original, mostObjects: options.maxObjects))
        else { return }
        (image, mostCrops) = (analyzed.original, max(mostCrops, options.maxObjects))
        verified = try await search.verifyTiles(
            of: image, besides: verified, mostObjects: options.maxObjects, extractor: extractor,
            timings: options.timings)
    }

    /// The mirrored image, for candidates whose print is near although their features disagree, if nothing is found.
    private mutating func lookIntoMirror(_ extractor: LocalFeatureExtractor) async throws {
        let disagreeing = verified.values.filter { $0.outline == nil }.map(\.key)
        let mirrorCandidates =
            hasSurelyFound ? [] : printCandidates.filter(disagreeing.contains)
        guard try begins(!mirrorCandidates.isEmpty) else { return }
        let mirrored = features(of: try analyzed.overview.mirrored(), detail: .query, by: extractor)
        let found = try await search.verify(
            mirrored, with: mirrorCandidates, isMirrored: true, timings: options.timings)
        verified.merge(found.verified) { $0.inlierCount >= $1.inlierCount ? $0 : $1 }
    }

    /// A thing that fills less of the query than of its catalog image has more cells in the center of the query. Of 213
    /// photographs of things with depth 5 more are accepted, and none without a target; a center of 50 % adds nothing.
    private static let denseCenter = 0.72

    /// Things with depth, whose keypoints need not agree from another side, if nothing is found.
    private mutating func compareDensely(_ picture: PixelBuffer, by extractor: LocalFeatureExtractor) async throws {
        guard try begins(!hasSurelyFound) else { return }
        let views = measured(options.timings, .features) {
            [picture, picture.centerCrop(Self.denseCenter)].map { extractor.model.denseDescriptors(of: $0) }
        }
        verified = try await search.compareDensely(views, scan, verified, known: dense)
    }

    /// A negative has the long side of the finest keypoints' plane at most.
    private static let negativeSide = LocalFeatureExtractor.Detail.fineQuery.longSide
    /// A negative that shows something has a print this near to it, and is hardly further away than the image itself:
    /// 9 of 10 white icons that are found without these limits, and 3 in 100 photographs of other things.
    private static let (nearToNegative, negativeSlack) = (0.9, 0.04)
    /// What is less sure is not taken from a negative: simple shapes resemble each other. Of 60 icons that a catalog
    /// lacks 1 more is accepted then, with ½ it would be 6.
    private static let sureInNegative = 0.9

    /// The negative of an image in which nothing is found: a mark on a ground of the other brightness, as a white logo
    /// on dark cloth.
    ///
    /// - Returns: what is sure in the negative, or else what the image itself decided.
    private mutating func lookIntoNegative(
        beside decision: CatalogQuery, _ extractor: LocalFeatureExtractor
    ) async throws -> CatalogQuery {
        let isFound = decision.largestConfidence >= MatchBounds.accepted.minConfidence
        guard try begins(!isFound && decision.matchThreshold != nil) else { return decision.complete(isComplete) }
        let negative = analyzed.overview.negative(longSide: Self.negativeSide)
        var run = self
        run.search.prints = try QueryEmbedder(search.model, crops: .whole).embed(
            negative, timings: options.timings, cancellation: cancellation
        ).prints
        run.scan = try await run.search.scanPrints(timings: options.timings)
        func nearest(_ scan: PrintScan) -> Double {
            scan.nearest(without: search.excluded).first?.distance ?? .infinity
        }
        guard nearest(run.scan) < min(Self.nearToNegative, nearest(scan) + Self.negativeSlack) else { return decision }
        (run.image, run.mostCrops) = (negative, Self.rectifiedCrops)
        try await run.verifyCandidates(features(of: negative, detail: .query, by: extractor))
        try await run.compareDensely(negative, by: extractor)
        let other = try await run.decide()
        return other.largestConfidence >= Self.sureInNegative ? other : decision.complete(other.isComplete)
    }

    private mutating func decide() async throws -> CatalogQuery {
        try cancellation.check()
        let threshold = search.threshold(beside: scan)
        var rectified = try await search.compareRectified(
            verified.values.sorted { $0.key < $1.key }, in: image, beside: scan, threshold: threshold,
            mostCrops: verified.isEmpty || hasTime() ? mostCrops : 0, timings: options.timings)
        if rectified.count > 1, hasTime() { rectified = try await search.compareSiblings(rectified, in: image) }
        if hasTime() { rectified = try await search.compareLikeness(rectified, among: candidates, in: image) }
        rectified = try await search.withLeads(rectified, threshold: threshold)
        if hasTime() { rectified = try await search.withCopies(rectified, among: candidates) }
        // What a code or a text names is a match, whatever the image shows besides.
        let likely = named.filter { $0.isNamedByCode || $0.textProbability >= MatchBounds.accepted.minConfidence }
        let surplus = search.surplus(of: rectified, mostObjects: options.maxObjects, threshold: threshold ?? 2)
            .subtracting(likely.map(\.entity))
        try search.state.check()
        return CatalogQuery(
            prints: search.prints, matchThreshold: threshold, coefficients: search.model.confidence,
            verified: VerifiedEntity.joined(rectified, named: named), isVerified: true, candidates: candidates,
            excluded: search.excluded.union(surplus), scan: scan, isComplete: isComplete,
            revision: search.state.revision.number)
    }
}
