import Compute
import FeaturePrints
import Imaging
import LocalFeatures

/// The two stages of a search by local features: candidates by prints and by visual words, then their verification.
struct CandidateSearch {
    let state: any CatalogState
    let model: FeaturePrintModel
    let prints: [FeaturePrint]
    /// The entities that are searched; nil for all.
    let selection: EntitySelection?
    let excluded: Set<Int64>
    let effort: SearchEffort
    let cancellation: Cancellation

    /// A single entity that covers less of the query than this may be one of many small ones.
    private static let largeEntity = 0.08
    /// A query of which several entities cover less than this shows more of them in most cases.
    private static let wellCovered = 0.6
    /// Less evidence is no match, however close the print of the rectified crop.
    private static let leastEvidence = 7.0
    /// An entity with this many inliers counts as found when more work is decided on.
    private static let surelyFound = 12
    /// The most likely candidates are verified first, and the others only if these leave something to be found.
    private static let firstCandidates = 12
    /// Entities of the first candidates that cover this share of the query leave little room for others.
    private static let filled = 0.3

    /// The entities with the nearest prints.
    func scanPrints() async throws -> PrintScan {
        let count = max(effort.printCandidates + excluded.count, PrintScan.leastCount)
        let nearest = try await state.nearest(
            count, to: prints, in: selection, after: nil, cancellation: cancellation)
        return PrintScan(revision: state.revision, selection: selection, nearest: nearest, count: count)
    }

    /// The entities with the nearest prints, nearest first.
    func candidates(of scan: PrintScan) -> [Int64] {
        let keys = scan.nearest.lazy.map(\.key).filter { !excluded.contains($0) }
        return Array(keys.prefix(effort.printCandidates))
    }

    /// Whether finer keypoints could find more: nothing is found yet, or what is found covers little of the image.
    func needsFinerKeypoints(_ verified: [Int64: VerifiedEntity]) -> Bool {
        let found = verified.values.filter { $0.inlierCount >= Self.surelyFound }
        let covered = found.reduce(0) { $0 + $1.outline.area }
        return covered < (found.count < 2 ? Self.largeEntity : Self.wellCovered)
    }

    /// Votes, joins both kinds of candidates in turn, and verifies them.
    func verify(
        _ query: LocalFeatureQuery, with printCandidates: [Int64], timings: StageTimings?
    ) async throws -> (verified: [Int64: VerifiedEntity], candidates: [Int64]) {
        let start = ContinuousClock.now
        let voted = try await state.mostVoted(
            effort.featureCandidates, by: query, in: selection, without: excluded)
        timings?.add(ContinuousClock.now - start, to: .search)
        try cancellation.check()
        var candidates: [Int64] = []
        var known: Set<Int64> = []
        for rank in 0..<max(voted.count, printCandidates.count) {
            for list in [voted, printCandidates] where rank < list.count && known.insert(list[rank]).inserted {
                candidates.append(list[rank])
            }
        }
        var found = try await outlines(of: candidates.prefix(Self.firstCandidates), in: query, timings: timings)
        if effort == .thorough || !Self.isFilled(found.map(\.1)) {
            found += try await outlines(of: candidates.dropFirst(Self.firstCandidates), in: query, timings: timings)
        }
        let distances = try await state.squaredDistances(of: found.map(\.0), to: prints)
        var verified: [Int64: VerifiedEntity] = [:]
        let claims = Self.claims(found.map(\.1))
        for (key, outline) in found {
            guard let distance = distances[key] else { continue }
            verified[key] = VerifiedEntity(
                key: key, revision: state.revision.number, inlierCount: outline.inlierCount,
                evidence: outline.inliers.reduce(0) { $0 + 1 / Double(claims[$1, default: 1]) },
                outline: outline.outline, squaredDistance: distance,
                rectifiedDistance: nil)
        }
        return (verified, candidates)
    }

    /// Whether the best of some outlines is certain and they cover so much that little else can be seen.
    private static func isFilled(_ outlines: [VerifiedOutline]) -> Bool {
        let found = outlines.filter { $0.inlierCount >= surelyFound }
        return found.contains { Double($0.inlierCount) >= MatchConfidence.mostInliers }
            && found.reduce(0) { $0 + $1.outline.area } >= filled
    }

    /// Embeds what the outlines of the best verified entities rectify, and compares it with the entities' prints: a
    /// logo or a frame that many images share has inliers, but the print of the rectified crop tells the images apart.
    func compareRectified(
        _ verified: [VerifiedEntity], in image: PixelBuffer, timings: StageTimings?
    ) async throws -> [VerifiedEntity] {
        var verified = verified
        let chosen = verified.indices
            .filter { verified[$0].evidence >= Self.leastEvidence && model.canEmbed(verified[$0].outline) }
            .sorted { (verified[$1].evidence, $0) < (verified[$0].evidence, $1) }
            .prefix(effort.rectifiedCrops)
        guard let best = chosen.first else { return verified }
        // Nothing competes with it, and no distance makes it unlikely.
        if effort != .thorough, chosen.count == 1, verified[best].evidence >= MatchConfidence.mostInliers {
            return verified
        }
        let crops = chosen.map { ImageCrop(image, quadrilateral: verified[$0].outline) }
        let prints = try model.embed(crops, timings: timings, cancellation: cancellation).map(\.print)
        for (index, print) in zip(chosen, prints) {
            let key = verified[index].key
            guard let distance = try await state.squaredDistances(of: [key], to: [print])[key] else { continue }
            verified[index].rectifiedDistance = Double(distance.squareRoot())
            verified[index].squaredDistance = min(verified[index].squaredDistance, distance)
        }
        return verified
    }

    /// How many entities have each of the query's keypoints among their inliers.
    ///
    /// A logo, a frame or a sticker that many images of a catalog share is found in all of them: each gets its share of
    /// such a keypoint, and what only one image explains counts in full.
    private static func claims(_ outlines: [VerifiedOutline]) -> [Int: Int] {
        var claims: [Int: Int] = [:]
        for outline in outlines {
            for keypoint in outline.inliers { claims[keypoint, default: 0] += 1 }
        }
        return claims
    }

    private func outlines(
        of candidates: ArraySlice<Int64>, in query: LocalFeatureQuery, timings: StageTimings?
    ) async throws -> [(Int64, VerifiedOutline)] {
        let images = try await state.localFeatures(of: Array(candidates))
        let outlines = measured(timings, .verify, count: images.count) {
            concurrentMap(images.count, threads: availableThreadCount) {
                cancellation.isCancelled ? nil : query.verify(images[$0].features)
            }
        }
        try cancellation.check()
        return zip(images, outlines).compactMap { image, outline in outline.map { (image.key, $0) } }
    }
}
