import Compute
public import FeaturePrints
public import Foundation
public import LocalFeatures
import Synchronization
import VectorSearch

/// A catalog that a database elsewhere keeps: what an image search asks of it.
///
/// ``Catalog/init(_:model:precision:executor:)`` searches one with the same code as a catalog in a folder: crops,
/// thresholds, verification, confidence and outlines are computed here. The database finds the images with the nearest
/// prints and those with the most votes, and returns what ``CatalogRecord`` has of them. Images are named by their
/// ``CatalogRecord/Image/key``, entities by their ``CatalogRecord/row``.
///
/// What a method throws ends the search. Methods are called from several tasks at once.
public protocol RemoteCatalog: Sendable {
    /// What errors call it, such as its address.
    var name: String { get }
    /// The models that it was made with.
    var models: RemoteModels { get }

    /// The number of entities and of images.
    func counts() async throws -> RemoteCounts

    /// The images with the prints nearest to any of the given ones, in any order, with their prints.
    ///
    /// - Parameter count: how many to return; fewer only if no others are selected.
    func nearest(
        _ count: Int, to prints: [FeaturePrint], in selection: RemoteSelection
    ) async throws -> [Int64: [Float]]

    /// The prints of images, without those that are not there.
    func prints(of keys: [Int64]) async throws -> [Int64: [Float]]

    /// The images that most of a query's visual words vote for, most votes first; none if the database cannot count
    /// votes.
    func mostVoted(_ count: Int, by words: [VisualWord], in selection: RemoteSelection) async throws -> [Int64]

    /// The local features of images, as `LocalFeatures.encoded` has them, without those that have none.
    func localFeatures(of keys: [Int64]) async throws -> [Int64: Data]

    /// The images that are there and selected, of the given ones.
    func selected(_ keys: [Int64], in selection: RemoteSelection) async throws -> Set<Int64>

    /// All images of entities.
    func images(ofEntities rows: [Int64]) async throws -> [Int64]

    /// The records of entities, without those that are not there.
    func entities(for rows: [Int64]) async throws -> [Int64: CatalogEntity]
}

/// An error of a database that keeps a catalog.
public protocol RemoteCatalogError: Error {
    /// What a program that searches for others tells them.
    var failure: RemoteFailure { get }
}

/// What has failed in a database that keeps a catalog.
public enum RemoteFailure: Sendable, Hashable {
    /// The database does not answer, or has too much to do. The same search may succeed in a moment.
    case unavailable
    /// The database cannot answer the search, for a reason that has no address.
    case search(String)
    /// Anything else, such as a collection that is missing.
    case other
}

/// The models that a catalog was made with.
public struct RemoteModels: Sendable, Hashable {
    /// That of the prints.
    public var prints: ModelIdentity
    /// SHA-256 of that of the local features; nil without local features.
    public var localFeatures: String?

    /// The models with these identities.
    public init(prints: ModelIdentity, localFeatures: String?) {
        (self.prints, self.localFeatures) = (prints, localFeatures)
    }
}

/// The size of a catalog.
public struct RemoteCounts: Sendable, Hashable {
    /// Entities.
    public var entities: Int
    /// Images; an entity may have several.
    public var images: Int

    /// A size.
    public init(entities: Int, images: Int) { (self.entities, self.images) = (entities, images) }
}

/// The entities that a search is restricted to.
public struct RemoteSelection: Sendable, Hashable {
    /// What holds of them.
    public var condition: Condition
    /// They are among these; nil for no such restriction.
    public var only: [Int64]?
    /// They are none of these.
    public var excluded: [Int64]

    /// Entities that satisfy a condition.
    public init(_ condition: Condition = .everything, only: [Int64]? = nil, excluded: [Int64] = []) {
        (self.condition, self.only, self.excluded) = (condition, only, excluded)
    }
}

/// A catalog elsewhere, for one step of a search. Prints that were received are kept for it.
///
/// Distances are computed here, with the kernels of a local search: those of a database differ in the last bits, and
/// would change the order of ties.
final class RemoteState: CatalogState {
    private let remote: any RemoteCatalog
    private let counts: RemoteCounts
    private let model: FeaturePrintModel
    private let known = Mutex<[Int64: [Float]]>([:])

    /// Images beyond those that are needed, which rounding might put in the wrong order at the end of a list.
    private static let surplus = 8
    /// Several images of an entity may be among those with most votes.
    private static let votedImagesPerEntity = 4

    init(_ remote: any RemoteCatalog, counts: RemoteCounts, model: FeaturePrintModel) {
        (self.remote, self.counts, self.model) = (remote, counts, model)
    }

    /// Rows keep their meaning as long as the catalog is open.
    let revision = CatalogRevision(number: 0, token: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
    var entityCount: Int { counts.entities }
    var imageCount: Int { counts.images }

    func selection(where condition: Condition, among keys: KeySelection?) -> EntitySelection? {
        condition.isEverything && keys == nil ? nil : EntitySelection(condition: condition, keys: keys, rows: [])
    }

    func selected(_ keys: [Int64], in selection: EntitySelection?) async throws -> Set<Int64> {
        try await remote.selected(keys, in: remoteSelection(selection))
    }

    func nearest(
        _ count: Int, to prints: [FeaturePrint], in selection: EntitySelection?, after last: RankingPlace?,
        recall: Double, cancellation: Cancellation
    ) async throws -> [NearImage] {
        let selection = remoteSelection(selection)
        var asked = count + Self.surplus
        while true {
            let found = try await remote.nearest(asked, to: prints, in: selection)
            try cancellation.check()
            known.withLock { $0.merge(found) { $1 } }
            var near = squaredDistances(of: found, to: prints).map { NearImage(key: $0.key, squaredDistance: $0.value) }
                .sorted { ($0.squaredDistance, $0.key) < ($1.squaredDistance, $1.key) }
            let isComplete = found.count < asked
            // The nearest of each print are found. Of what is found, those beyond as many are not the nearest of all.
            if !isComplete { near.removeLast(max(0, near.count - asked)) }
            if let last {
                near.removeAll { ($0.squaredDistance, $0.entity) <= (last.squaredDistance, last.entity) }
            }
            if isComplete || near.count >= count + Self.surplus / 2 { return Array(near.prefix(count)) }
            asked *= 4
        }
    }

    func siblings(of entities: [Int64]) async throws -> [Int64] {
        guard entityCount < imageCount, !entities.isEmpty else { return [] }
        let images = try await remote.images(ofEntities: entities)
        return Dictionary(grouping: images, by: ImageRow.entity).values.filter { $0.count > 1 }.flatMap(\.self)
    }

    func squaredDistances(of keys: [Int64], to prints: [FeaturePrint]) async throws -> [Int64: Float] {
        var present: [Int64: [Float]] = [:]
        known.withLock { known in
            for key in keys { present[key] = known[key] }
        }
        let missing = keys.filter { present[$0] == nil }
        guard !missing.isEmpty else { return squaredDistances(of: present, to: prints) }
        let fetched = try await remote.prints(of: missing)
        known.withLock { $0.merge(fetched) { $1 } }
        return squaredDistances(of: present.merging(fetched) { $1 }, to: prints)
    }

    /// - Parameter vectors: those of another dimension are ignored.
    private func squaredDistances(of vectors: [Int64: [Float]], to prints: [FeaturePrint]) -> [Int64: Float] {
        let dimension = model.dimension
        let rows = vectors.filter { $0.value.count == dimension && $0.value.allSatisfy(\.isFinite) }
            .sorted { $0.key < $1.key }
        guard !rows.isEmpty, !prints.isEmpty else { return [:] }
        let matrix = PrintMatrix(rows.flatMap(\.value), dimension: dimension)
        return ExactSearch(matrix).nearest(toAnyOf: prints.map(\.vector), k: rows.count)
            .reduce(into: [:]) { $0[rows[$1.row].key] = $1.squaredDistance }
    }

    func mostVoted(
        _ count: Int, by query: LocalFeatureQuery, in selection: EntitySelection?, without excluded: Set<Int64>
    ) async throws -> [Int64] {
        var selection = remoteSelection(selection)
        selection.excluded = Set(selection.excluded).union(excluded).sorted()
        let limit = entityCount < imageCount ? count * Self.votedImagesPerEntity : count
        let voted = try await remote.mostVoted(limit, by: query.words.visualWords, in: selection)
        return Array(voted.firstOfEachEntity { $0 }.prefix(count))
    }

    func localFeatures(of keys: [Int64]) async throws -> [(key: Int64, features: LocalFeatures)] {
        guard !keys.isEmpty else { return [] }
        return try await remote.localFeatures(of: keys).compactMap { key, data in
            LocalFeatures(encoded: data).map { (key, $0) }
        }.sorted { $0.key < $1.key }
    }

    /// A catalog elsewhere has no index of words.
    func entities(namedBy texts: ReadTexts, check: () throws -> Void) -> [Int64: Double] { [:] }

    /// A match is judged by what was read for it.
    func keys(changedSince revisions: [Int64: Int64]) -> Set<Int64> { [] }

    func entities(for rows: [Int64]) async throws -> [Int64: StoredEntity] {
        guard !rows.isEmpty else { return [:] }
        return try await remote.entities(for: rows).reduce(into: [:]) {
            $0[$1.key] = StoredEntity(entity: $1.value, key: $1.key, thumbnail: nil)
        }
    }

    func check() {}

    private func remoteSelection(_ selection: EntitySelection?) -> RemoteSelection {
        let condition = selection?.condition ?? .everything
        return switch selection?.keys {
        case .only(let rows)?: RemoteSelection(condition, only: rows)
        case .allBut(let rows)?: RemoteSelection(condition, excluded: rows)
        case nil: RemoteSelection(condition)
        }
    }
}
