import CatalogEntities
import Compute
import FeaturePrints
import Imaging
import LocalFeatures

/// The search for all that an image shows: a wall of records, a shelf, a long screenshot.
///
/// The image is divided into tiles, whose keypoints are extracted at a finer scale. In each tile, what is found
/// explains the keypoints within its outline; the others vote again, until nothing new is found.
extension CandidateSearch {
    /// Entities at three places with this many inliers show that there is more than one thing to find, and so do two of
    /// which this share agrees: fewer agree by chance in an image that shows nothing of the catalog.
    private static let likelyFound = 7
    private static let agreeingShare = 0.1
    /// A single entity that covers less of the query than this may be one of very many.
    private static let tinyEntity = 0.04
    /// An entity with fewer of its visible features among the inliers may have a part in common with what is shown, so
    /// it does not explain what lies within its outline.
    private static let explainingShare = 0.2
    /// With fewer keypoints left, or a smaller share of them, nothing else is looked for.
    private static let fewestKeypoints = 12
    private static let leastUnexplained = 0.1
    /// The maximum number of tiles of an image.
    private static let mostTiles = 24
    /// Each thread takes 60 MB to extract keypoints, and the extractor keeps them.
    private static let mostExtractions = 4

    /// Whether to search tiles of an image: it is long or large, or it shows several things, and others may be left.
    ///
    /// - Parameter features: the keypoints that were compared.
    func needsTiles(
        _ verified: [Int64: VerifiedEntity], in features: QueryFeatures, of image: PixelBuffer, mostObjects: Int
    ) -> Bool {
        guard !hasFound(mostObjects, of: verified) else { return false }
        let surely = verified.values.filter { $0.inlierCount >= Self.surelyFound }
            .sorted { ($1.inlierCount, $0.key) < ($0.inlierCount, $1.key) }
        // A photograph of one thing is not searched in tiles because the camera has many pixels.
        if ImageTiles.isLongOrLarge(image), Self.places(of: surely).reduce(0, { $0 + $1.area }) < Self.filled {
            return true
        }
        let likely = verified.values.filter { $0.inlierCount >= Self.likelyFound }
            .sorted { ($1.inlierCount, $0.key) < ($0.inlierCount, $1.key) }
        let places = Self.places(of: likely)
        let agreeing = Self.places(of: likely.filter { $0.evidence.share >= Self.agreeingShare })
        guard places.count > 2 || agreeing.count > 1 || agreeing.contains(where: { $0.area < Self.tinyEntity })
        else { return false }
        let left = Self.unexplained(features, Array(0..<features.count), by: places)
        return Double(left.count) >= Self.leastUnexplained * Double(features.count)
    }

    /// Adds the entities that are found in tiles of an image to those that were verified.
    func verifyTiles(
        of image: PixelBuffer, besides known: [Int64: VerifiedEntity], mostObjects: Int,
        extractor: LocalFeatureExtractor, timings: StageTimings?
    ) async throws -> [Int64: VerifiedEntity] {
        let tiles = ImageTiles(of: image, count: Self.mostTiles)
        let features = try measured(timings, .features, count: tiles.regions.count) {
            let parts = try tiles.regions.map(image.cropped)
            return concurrentMap(parts.count, threads: min(availableThreadCount, Self.mostExtractions)) {
                extractor.queryFeatures(of: parts[$0], detail: tiles.detail(of: parts[$0]), cancellation: cancellation)
            }
        }
        var verified = known
        for (region, features) in zip(tiles.regions, features) {
            try cancellation.check()
            if hasFound(mostObjects, of: verified) { break }
            let found = try await verify(
                features, of: TilePlace(region, in: image), besides: verified.values.filter(Self.explains),
                model: extractor.model, timings: timings)
            verified.merge(found) { $0.evidence.inliers >= $1.evidence.inliers ? $0 : $1 }
        }
        return verified
    }

    /// The entities that a tile shows, round by round, with outlines in the whole image.
    private func verify(
        _ features: QueryFeatures, of place: TilePlace, besides known: [VerifiedEntity], model: LocalFeatureModel,
        timings: StageTimings?
    ) async throws -> [Int64: VerifiedEntity] {
        var seen = excluded.union(known.map(\.entity))
        var rest = Self.unexplained(
            features, Array(0..<features.count), by: known.compactMap(\.outline).map(place.local))
        let all = LocalFeatureQuery(features, model: model)
        var compared: [ComparedImage] = []
        var found: [Int64: VerifiedEntity] = [:]
        while rest.count >= Self.fewestKeypoints {
            try cancellation.check()
            let query = LocalFeatureQuery(features.selecting(rest), model: model)
            let start = ContinuousClock.now
            let voted = try await state.mostVoted(Self.featureCandidates, by: query, in: selection, without: seen)
            timings?.add(ContinuousClock.now - start, to: .search)
            seen.formUnion(voted.map(ImageRow.entity))
            // All rounds are judged together: what many images share is no evidence in a later round either.
            compared += try await compare(voted[...], with: query, timings: timings).compactMap { image in
                image.outline.map {
                    ComparedImage(key: image.key, features: image.features, outline: $0.renumbered(rest))
                }
            }
            let before = Set(found.keys)
            // Far more images are compared with tiles than with a whole image, so more agree by chance.
            found = try await judge(compared, by: all, isTile: true).filter {
                $0.value.outline != nil && $0.value.inlierCount >= Self.likelyFound
            }
            let new = found.values.filter { Self.explains($0) && !before.contains($0.key) }
            if new.isEmpty { break }
            rest = Self.unexplained(features, rest, by: new.compactMap(\.outline))
        }
        for (key, entity) in found { found[key]?.outline = entity.outline.map(place.global) }
        return found
    }

    /// The likely entities at other places than those of the surest ones, so many that are to be found.
    func surplus(of verified: [VerifiedEntity], mostObjects: Int, threshold: Double) -> Set<Int64> {
        let likely =
            verified.map {
                (entity: $0, odds: model.confidence.logOdds($0.evidence, distance: $0.distance, threshold: threshold))
            }
            .filter { $0.entity.outline != nil && $0.odds >= 0 }
            .sorted { ($1.odds, $0.entity.key) < ($0.odds, $1.entity.key) }
        // An entity whose front and back are shown is one object, where it is surest.
        let places = Self.places(of: likely.map(\.entity).firstOfEachEntity(\.key))
        guard places.count > mostObjects else { return [] }
        let kept = places.prefix(mostObjects)
        let found = likely.map(\.entity).filter { entity in
            entity.outline.map { kept.contains(where: $0.hasPlace) } ?? false
        }
        return Set(likely.map(\.entity.entity)).subtracting(found.map(\.entity))
    }

    /// Whether there are entities at so many places that no distance makes unlikely.
    private func hasFound(_ mostObjects: Int, of verified: [Int64: VerifiedEntity]) -> Bool {
        let certain = verified.values.filter { $0.evidence.inliers >= model.confidence.mostInliers }
            .sorted { $0.key < $1.key }.firstOfEachEntity(\.key)
        return certain.count >= mostObjects && Self.places(of: certain).count >= mostObjects
    }

    private static func explains(_ entity: VerifiedEntity) -> Bool {
        entity.outline != nil && Int(entity.evidence.inliers) >= surelyFound && entity.evidence.share >= explainingShare
    }

    /// The numbers of the keypoints that lie in none of the outlines.
    private static func unexplained(
        _ features: QueryFeatures, _ numbers: [Int], by outlines: [Quadrilateral]
    ) -> [Int] {
        guard !outlines.isEmpty else { return numbers }
        let (width, height) = (Double(features.width), Double(features.height))
        return numbers.filter { number in
            let keypoint = features.keypoints[number]
            let point = Quadrilateral.Point(x: Double(keypoint.x) / width, y: Double(keypoint.y) / height)
            return !outlines.contains { $0.contains(point) }
        }
    }

    /// The outlines of entities without those whose place another one before has.
    static func places(of entities: [VerifiedEntity]) -> [Quadrilateral] {
        var places: [Quadrilateral] = []
        for outline in entities.compactMap(\.outline) where !places.contains(where: outline.hasPlace(of:)) {
            places.append(outline)
        }
        return places
    }
}

/// Where a tile lies in its image: maps outlines from fractions of one to fractions of the other.
private struct TilePlace {
    private let x, y, width, height: Double

    init(_ region: PixelRegion, in image: PixelBuffer) {
        (x, width) = (Double(region.x) / Double(image.width), Double(region.width) / Double(image.width))
        (y, height) = (Double(region.y) / Double(image.height), Double(region.height) / Double(image.height))
    }

    func global(_ outline: Quadrilateral) -> Quadrilateral {
        outline.mapped { .init(x: x + $0.x * width, y: y + $0.y * height) }
    }

    func local(_ outline: Quadrilateral) -> Quadrilateral {
        outline.mapped { .init(x: ($0.x - x) / width, y: ($0.y - y) / height) }
    }
}

extension Quadrilateral {
    fileprivate func mapped(_ map: (Point) -> Point) -> Quadrilateral {
        Quadrilateral(
            topLeft: map(topLeft), topRight: map(topRight), bottomRight: map(bottomRight), bottomLeft: map(bottomLeft))
    }

    /// Whether a point lies within the corners, which go clockwise.
    fileprivate func contains(_ point: Point) -> Bool {
        let corners = corners
        return (0..<4).allSatisfy { index in
            let (a, b) = (corners[index], corners[(index + 1) % 4])
            return (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) >= 0
        }
    }

    /// Whether the center of one lies in the other: an image shows one thing there, whatever entities have its picture.
    func hasPlace(of other: Quadrilateral) -> Bool {
        contains(other.scaled(by: 0).topLeft) || other.contains(scaled(by: 0).topLeft)
    }

    /// Whether the corners are those of another one, about: within a fifth of its size.
    func isAbout(_ other: Quadrilateral) -> Bool {
        let reach = max(other.area, 0).squareRoot() / 5
        return zip(corners, other.corners).allSatisfy { abs($0.x - $1.x) < reach && abs($0.y - $1.y) < reach }
    }
}
