import Compute
import FeaturePrints
import Foundation
import GRDB
import Imaging
import LocalFeatures
import VectorSearch

/// The two stages of a search by local features: candidates by prints and by visual words, then their verification.
struct CandidateSearch {
    let catalog: Catalog
    let lists: MappedInvertedLists
    let matrix: MappedPrintMatrix
    let prints: [FeaturePrint]
    /// The rows of the matrix that are searched; nil for all.
    let allowed: [Range<Int>]?
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

    /// The rows with the nearest prints.
    func scanPrints() async throws -> PrintScan {
        let k = max(effort.printCandidates + excluded.count, PrintScan.leastRows)
        let nearest = try await catalog.nearest(
            toAnyOf: prints, k: k, in: matrix, among: allowed, cancellation: cancellation)
        return PrintScan(matrix: matrix, allowed: allowed, nearest: nearest, k: k)
    }

    /// The entities with the nearest prints, nearest first.
    func candidates(of scan: PrintScan) -> [Int64] {
        let keys = scan.nearest.lazy.map { matrix.key($0.row) }.filter { !excluded.contains($0) }
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
    ) throws -> (verified: [Int64: VerifiedEntity], candidates: [Int64]) {
        let voted = measured(timings, .search) { byVotes(query) }
        try cancellation.check()
        var candidates: [Int64] = []
        var known: Set<Int64> = []
        for rank in 0..<max(voted.count, printCandidates.count) {
            for list in [voted, printCandidates] where rank < list.count && known.insert(list[rank]).inserted {
                candidates.append(list[rank])
            }
        }
        var found = try outlines(of: candidates.prefix(Self.firstCandidates), in: query, timings: timings)
        if effort == .thorough || !Self.isFilled(found.map(\.1)) {
            found += try outlines(of: candidates.dropFirst(Self.firstCandidates), in: query, timings: timings)
        }
        let distances = squaredDistances(of: found.map(\.0))
        var verified: [Int64: VerifiedEntity] = [:]
        let claims = Self.claims(found.map(\.1))
        for (key, outline) in found {
            guard let distance = distances[key] else { continue }
            verified[key] = VerifiedEntity(
                key: key, revision: matrix.header.revision.number, inlierCount: outline.inlierCount,
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
    ) throws -> [VerifiedEntity] {
        var verified = verified
        let model = catalog.model
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
            guard let row = matrix.row(withKey: verified[index].key),
                let found = ExactSearch(matrix.matrix).nearest(
                    toAnyOf: [print.vector], k: 1, among: [row..<(row + 1)]
                ).first
            else { continue }
            verified[index].rectifiedDistance = Double(found.squaredDistance.squareRoot())
            verified[index].squaredDistance = min(verified[index].squaredDistance, found.squaredDistance)
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

    private func byVotes(_ query: LocalFeatureQuery) -> [Int64] {
        func isIncluded(_ position: Int) -> Bool {
            let key = lists.key(position)
            guard !excluded.contains(key) else { return false }
            guard let allowed else { return true }
            guard let row = matrix.row(withKey: key) else { return false }
            return allowed.contains { $0.contains(row) }
        }
        return lists.lists.candidates(for: query.words, limit: effort.featureCandidates, where: isIncluded)
            .map { lists.key($0.image) }
    }

    private func outlines(
        of candidates: ArraySlice<Int64>, in query: LocalFeatureQuery, timings: StageTimings?
    ) throws -> [(Int64, VerifiedOutline)] {
        let images = try features(of: Array(candidates))
        let outlines = measured(timings, .verify, count: images.count) {
            concurrentMap(images.count, threads: availableThreadCount) {
                cancellation.isCancelled ? nil : query.verify(images[$0].features)
            }
        }
        try cancellation.check()
        return zip(images, outlines).compactMap { image, outline in outline.map { (image.key, $0) } }
    }

    private func features(of keys: [Int64]) throws -> [(key: Int64, features: LocalFeatures)] {
        try catalog.folder.mappingErrors {
            try catalog.database.reader.read { db in
                let request: SQLRequest<Row> = "SELECT row, data FROM localFeatures WHERE row IN \(keys)"
                return try request.fetchAll(db).compactMap { row in
                    let key: Int64 = try row.decode(forColumn: "row")
                    return Data.fromDatabaseValue(row["data"]).flatMap(LocalFeatures.init(encoded:)).map { (key, $0) }
                }
            }
        }
    }

    /// Of the prints of entities to the query's; without those that the matrix does not have.
    private func squaredDistances(of keys: [Int64]) -> [Int64: Float] {
        let rows = keys.sorted().compactMap { matrix.row(withKey: $0) }.map { $0..<($0 + 1) }
        guard !rows.isEmpty else { return [:] }
        return ExactSearch(matrix.matrix)
            .nearest(toAnyOf: prints.map(\.vector), k: keys.count, among: rows, after: nil)
            .reduce(into: [:]) { $0[matrix.key($1.row)] = $1.squaredDistance }
    }
}
