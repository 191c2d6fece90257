import CatalogEntities
import CatalogSearch
import CatalogStore
import Compute
import FeaturePrints
import Foundation
import Imaging
import LocalFeatures
import VectorSearch

/// Rows of a catalog's matrix that have the same picture.
struct DuplicateSearch {
    private let state: LocalState
    private let comparison: PictureRelation.Comparison
    private let cancellation: Cancellation
    private var sets: DisjointSets
    /// What a row differs by from the one that it was first joined with.
    private var links: [Int: DuplicateGroup.Difference] = [:]

    /// The entities with the nearest prints, and with most visual words in common, that each one is compared with.
    private static let neighborCount = 10
    private static let votedCount = 6
    private static let rowsPerBatch = 256
    private static let pairsPerBatch = 256

    init(state: LocalState, model: LocalFeatureModel?, cancellation: Cancellation) {
        (self.state, self.cancellation) = (state, cancellation)
        comparison = PictureRelation.Comparison(model: model)
        sets = DisjointSets(count: state.imageCount)
    }

    /// Pairs of rows with near prints, or with many visual words in common: nearest first.
    ///
    /// - Parameter progress: called with the share of the rows that is done.
    func candidates(in selection: EntitySelection?, progress: (Double) -> Void) throws -> [RowPair] {
        let matrix = state.matrix.matrix
        let search = ExactSearch(matrix)
        let limit = comparison.mostDistance * comparison.mostDistance
        let all = selection?.rows.flatMap { Array($0) } ?? Array(0..<matrix.rowCount)
        var pairs: Set<RowPair> = []
        for start in stride(from: 0, to: all.count, by: Self.rowsPerBatch) {
            progress(Double(start) / Double(all.count))
            let rows = Array(all[start..<min(start + Self.rowsPerBatch, all.count)])
            let prints = rows.map { matrix.row($0) }
            // The images of an entity may be nearest to each other.
            let ownCount = rows.map { state.matrix.rows(ofEntity: entity($0)).count }.max() ?? 1
            let (count, cancellation) = (Self.neighborCount + ownCount, cancellation)
            let found =
                selection.map { selection in
                    prints.map {
                        search.nearest(toAnyOf: [$0], k: count, among: selection.rows, cancellation: cancellation)
                    }
                } ?? search.nearest(toEach: prints, k: count, cancellation: cancellation)
            try cancellation.check()
            for (row, neighbors) in zip(rows, found) {
                for other in neighbors where entity(other.row) != entity(row) && other.squaredDistance <= limit {
                    pairs.insert(pair(row, other.row))
                }
            }
            pairs.formUnion(try votedPairs(rows, in: selection))
        }
        return pairs.sorted { ($0.squaredDistance, $0.first, $0.second) < ($1.squaredDistance, $1.first, $1.second) }
    }

    /// Pairs of these rows and others with many visual words in common: copies in other colors have distant prints.
    private func votedPairs(_ rows: [Int], in selection: EntitySelection?) throws -> [RowPair] {
        guard let model = comparison.model else { return [] }
        let images = try state.localFeatures(of: rows.map { state.matrix.key($0) })
        let voted = concurrentMap(images.count, threads: availableThreadCount) { index -> [Int64] in
            if cancellation.isCancelled { return [] }
            let query = LocalFeatureQuery(images[index].features, model: model)
            let others = state.mostVotedImages(
                4 * Self.votedCount, by: query, in: selection, without: [ImageRow.entity(images[index].key)])
            return Array(others.firstOfEachEntity { $0 }.prefix(Self.votedCount))
        }
        try cancellation.check()
        return zip(images, voted).flatMap { image, others in
            let rows = ([image.key] + others).map { state.matrix.row(withKey: $0) }
            return rows.dropFirst().compactMap { other -> RowPair? in
                guard let row = rows[0], let other, entity(row) != entity(other) else { return nil }
                return pair(row, other)
            }
        }
    }

    /// Compares pairs, and joins those that have the same picture.
    ///
    /// - Parameter progress: called with the share of the pairs that is done.
    mutating func join(_ pairs: [RowPair], progress: (Double) -> Void) throws {
        defer { progress(1) }
        for start in stride(from: 0, to: pairs.count, by: Self.pairsPerBatch) {
            progress(Double(start) / Double(pairs.count))
            var open: [RowPair] = []
            for pair in pairs[start..<min(start + Self.pairsPerBatch, pairs.count)]
            where sets.root(of: pair.first) != sets.root(of: pair.second) {
                open.append(pair)
            }
            for (pair, relation) in zip(open, try relations(open)) {
                guard let relation else { continue }
                sets.join(pair.first, pair.second)
                for row in [pair.first, pair.second] where links[row] == nil { links[row] = relation.difference }
            }
        }
    }

    /// The positions of rows, each with the first row that has the same picture; nil is a row of its own.
    func fold(_ rows: [Int?]) throws -> [[Int]] {
        var groups: [[Int]] = []
        for (index, row) in rows.enumerated() {
            let heads = groups.indices.compactMap { group in
                rows[groups[group][0]].map { (group: group, row: $0) }
            }
            let relations = try relations(row.map { row in heads.map { pair($0.row, row) } } ?? [])
            if let same = zip(heads, relations).first(where: { $1 != nil }) {
                groups[same.0.group].append(index)
            } else {
                groups.append([index])
            }
        }
        return groups
    }

    /// The groups of two and more, in the order of their first members.
    mutating func groups() throws -> [StoredDuplicates] {
        var groups: [StoredDuplicates] = []
        var known: Set<[Int64]> = []
        for all in sets.members() {
            // An entity comes once, however many of its images have the picture, and so do the same entities.
            let rows = all.firstOfEachEntity { state.matrix.key($0) }
            guard rows.count > 1, known.insert(rows.map(entity)).inserted else { continue }
            let reference = try reference(of: rows)
            let others = rows.filter { $0 != reference }
            let pairs = others.map { pair(reference, $0) }
            let relations = try relations(pairs)
            let members = zip(others, zip(pairs, relations)).map { row, found in
                StoredDuplicates.Member(
                    key: state.matrix.key(row), difference: found.1?.difference ?? links[row] ?? .quality,
                    distance: found.0.squaredDistance.squareRoot())
            }
            let first = StoredDuplicates.Member(key: state.matrix.key(reference), difference: .none, distance: 0)
            groups.append(StoredDuplicates(members: [first] + members))
        }
        return groups
    }

    /// The first row, or the first that shows more of the picture than those before it.
    private func reference(of rows: [Int]) throws -> Int {
        var reference = rows[0]
        for row in rows.dropFirst() {
            guard let relation = try relations([pair(reference, row)])[0] else { continue }
            if reference < row ? relation.isSecondLarger : relation.isFirstLarger { reference = row }
        }
        return reference
    }

    /// The row in the database of the entity whose image a row is.
    private func entity(_ row: Int) -> Int64 { ImageRow.entity(state.matrix.key(row)) }

    private func pair(_ a: Int, _ b: Int) -> RowPair {
        let matrix = state.matrix.matrix
        let (first, second) = (min(a, b), max(a, b))
        let squaredDistance = zip(matrix.row(first), matrix.row(second)).reduce(0) { sum, components in
            sum + (components.0 - components.1) * (components.0 - components.1)
        }
        return RowPair(first: first, second: second, squaredDistance: squaredDistance)
    }

    private func relations(_ pairs: [RowPair]) throws -> [PictureRelation?] {
        let keys = Set(pairs.flatMap { [$0.first, $0.second] }).map { state.matrix.key($0) }
        let features = comparison.model == nil ? [] : try state.localFeatures(of: keys)
        let known = Dictionary(features.map { ($0.key, $0.features) }, uniquingKeysWith: { first, _ in first })
        let relations = concurrentMap(pairs.count, threads: availableThreadCount) {
            index -> Result<PictureRelation?, any Error> in
            let pair = pairs[index]
            if cancellation.isCancelled { return .success(nil) }
            let keys = [state.matrix.key(pair.first), state.matrix.key(pair.second)]
            return Result {
                try comparison.relation(
                    known[keys[0]], known[keys[1]], squaredDistance: pair.squaredDistance
                ) {
                    let thumbnails = try state.thumbnails(of: keys)
                    guard let first = thumbnails[keys[0]], let second = thumbnails[keys[1]] else { return nil }
                    return (first, second)
                }
            }
        }
        try cancellation.check()
        return try relations.map { try $0.get() }
    }
}

/// Two rows of a matrix.
struct RowPair: Hashable {
    let first: Int
    let second: Int
    let squaredDistance: Float
}

/// How two images that have the same picture differ.
struct PictureRelation: Sendable {
    let difference: DuplicateGroup.Difference
    /// Whether the first image shows more of the picture; `isSecondLarger` likewise.
    var isFirstLarger = false
    var isSecondLarger = false

    /// Decides whether images have the same picture.
    struct Comparison: Sendable {
        /// Nil for a catalog without local features.
        let model: LocalFeatureModel?

        /// Images with fewer features are compared by their prints.
        private static let fewFeatures = 20
        /// Documents of one template, of which most have more features, are 0.07 to 0.2 apart; copies of another
        /// quality 0.05 to 0.35.
        private static let nearlyEqual: Float = 0.15
        /// Copies of pictures with few features, such as monochrome paintings, are 0.14 to 0.26 apart, other pictures
        /// more than 1.
        private static let nearWithFewFeatures: Float = 0.3
        /// Crops of 70 % are at most 0.8 apart. Copies in other colors can be further, and are found by their words.
        private static let mostDistance: Float = 0.85
        /// Mirrored copies are at most 0.47 apart, and a mirrored copy of a crop or in other colors little more.
        private static let mostMirroredDistance: Float = 0.8
        /// One image shows less of the picture, unless the other one covers this share of it.
        private static let mostWhole = 0.9
        /// Copies of half the size are at most 0.5 apart, 98 of 100 at most 0.4; of those in gray or with other hues,
        /// half are further than 0.66. Where there are thumbnails, their pixels say it.
        private static let leastColorDistance: Float = 0.45
        /// A scan may be askew by some degrees.
        private static let leastTurn = 5 * Double.pi / 180

        /// Prints of candidates are no further apart.
        var mostDistance: Float { model == nil ? Self.nearlyEqual : Self.mostDistance }

        /// How two images differ; nil if they have different pictures.
        func relation(
            _ first: LocalFeatures?, _ second: LocalFeatures?, squaredDistance: Float,
            thumbnails: () throws -> (PixelBuffer, PixelBuffer)?
        ) rethrows -> PictureRelation? {
            let distance = squaredDistance.squareRoot()
            if distance == 0, first == second { return PictureRelation(difference: .none) }
            guard let model, let first, let second, min(first.count, second.count) >= Self.fewFeatures else {
                return distance <= (model == nil ? Self.nearlyEqual : Self.nearWithFewFeatures)
                    ? PictureRelation(difference: .quality) : nil
            }
            if let shared = try PictureComparison(first, second, model: model, thumbnails: thumbnails) {
                let isPart = min(shared.firstShare, shared.secondShare) < Self.mostWhole
                let hasOtherColors =
                    shared.pixels.map { $0 == .color } ?? (distance > Self.leastColorDistance)
                let difference: DuplicateGroup.Difference =
                    abs(shared.turn) > Self.leastTurn
                    ? .turned
                    : shared.pixels == .mark ? .mark : isPart ? .crop : hasOtherColors ? .color : .quality
                return PictureRelation(
                    difference: difference,
                    isFirstLarger: isPart && shared.firstShare < shared.secondShare,
                    isSecondLarger: isPart && shared.secondShare < shared.firstShare)
            }
            guard distance <= Self.mostMirroredDistance, first.isMirrored(of: second) else { return nil }
            return PictureRelation(difference: .mirrored)
        }
    }
}

/// A forest of disjoint sets of numbers (R. Tarjan, "Efficiency of a Good But Not Linear Set Union Algorithm", 1975).
private struct DisjointSets {
    private var parents: [Int]

    init(count: Int) { parents = Array(0..<count) }

    /// The smallest number of a set.
    mutating func root(of number: Int) -> Int {
        var number = number
        while parents[number] != number {
            parents[number] = parents[parents[number]]
            number = parents[number]
        }
        return number
    }

    mutating func join(_ a: Int, _ b: Int) {
        let (a, b) = (root(of: a), root(of: b))
        parents[max(a, b)] = min(a, b)
    }

    /// The sets of two and more, ascending, in the order of their smallest numbers.
    mutating func members() -> [[Int]] {
        var members: [Int: [Int]] = [:]
        for number in parents.indices {
            let root = root(of: number)
            if root != number { members[root, default: [root]].append(number) }
        }
        return members.keys.sorted().map { members[$0] ?? [] }
    }
}
