package import CatalogEntities
package import Compute
package import FeaturePrints
package import Imaging
package import LocalFeatures

/// What a search needs of a catalog, in one state of it: nearest prints, votes, local features, records and filters.
///
/// A catalog in a folder answers from its database and its mapped files (``LocalState``), one that is kept elsewhere by
/// asking there (``RemoteState``). Keys are the images' rows in
/// the database (``ImageRow``); they ascend in the catalog's order, which breaks ties. Entities are named by their own
/// rows.
package protocol CatalogState: Sendable {
    /// The state of the prints.
    var revision: CatalogRevision { get }
    /// The number of entities with a print.
    var entityCount: Int { get }
    /// The number of images with a print.
    var imageCount: Int { get }

    /// The entities to search; nil for all of them.
    ///
    /// - Parameter keys: the entities, of those that satisfy the condition; nil for all of them.
    func selection(where condition: Condition, among keys: KeySelection?) async throws -> EntitySelection?

    /// The images that the state has and whose entities are selected, of the given ones.
    func selected(_ keys: [Int64], in selection: EntitySelection?) async throws -> Set<Int64>

    /// The images nearest to any of the prints, nearest first; ties in the catalog's order.
    ///
    /// There are as many as asked for if so many are selected, and follow `last`. On average over queries, at least
    /// the recall is found, whatever the selection, the count and the changes of the catalog before. Rankings and
    /// candidates build on this; `NearestContractTests` and `NearestProductTests` hold all that answers to it.
    ///
    /// - Parameters:
    ///   - last: only what follows this place.
    ///   - recall: the share of them to find, where finding all takes longer.
    /// - Throws: `CancellationError`.
    func nearest(
        _ count: Int, to prints: [FeaturePrint], in selection: EntitySelection?, after last: RankingPlace?,
        recall: Double, cancellation: Cancellation
    ) async throws -> [NearImage]

    /// All images of those of the entities that have several.
    func siblings(of entities: [Int64]) async throws -> [Int64]

    /// The squared distance of each image's print to the nearest of the prints; none for an image without a print.
    func squaredDistances(of keys: [Int64], to prints: [FeaturePrint]) async throws -> [Int64: Float]

    /// The prints of images; none for an image without one.
    func prints(of keys: [Int64]) async throws -> [Int64: [Float]]

    /// The entities that lines of text name, with the probability of each; see ``ReadTexts``.
    ///
    /// - Parameter check: called now and then; what it throws ends the search.
    func entities(namedBy texts: ReadTexts, check: () throws -> Void) async throws -> [Int64: Double]

    /// The images whose visual words have the most votes of a query's features, most first. There are fewer than asked
    /// for only if no others have votes, or the catalog tells no more.
    func mostVotedImages(
        _ count: Int, by query: LocalFeatureQuery, in selection: EntitySelection?, without excluded: Set<Int64>
    ) async throws -> [Int64]

    /// The local features of images, without those that have none.
    func localFeatures(of keys: [Int64]) async throws -> [(key: Int64, features: LocalFeatures)]

    /// The thumbnails of images, without those that have none, or one that cannot be read.
    func thumbnails(of keys: [Int64]) async throws -> [Int64: PixelBuffer]

    /// The images that were stored after the given revision of each.
    func keys(changedSince revisions: [Int64: Int64]) async throws -> Set<Int64>

    /// The records of entities, by their rows, without those that were removed since.
    func entities(for rows: [Int64]) async throws -> [Int64: StoredEntity]

    /// Throws if something that was read is not of this state, because a file was changed by another program.
    func check() throws
}

extension CatalogState {
    /// The images whose visual words have the most votes of a query's features, one per entity, most first.
    package func mostVoted(
        _ count: Int, by query: LocalFeatureQuery, in selection: EntitySelection?, without excluded: Set<Int64>
    ) async throws -> [Int64] {
        // Several images of an entity may be among those with most votes: of a building there may be hundreds.
        var limit = entityCount < imageCount ? count * 4 : count
        while true {
            let images = try await mostVotedImages(limit, by: query, in: selection, without: excluded)
            let voted = images.firstOfEachEntity { $0 }.prefix(count)
            if voted.count == count || images.count < limit || limit >= Self.mostVotedAtOnce { return Array(voted) }
            limit *= 4
        }
    }

    /// Databases answer with some ten thousand rows at most.
    private static var mostVotedAtOnce: Int { 4_000 }
}

/// An image with the squared distance of its print.
package struct NearImage: Sendable, Equatable {
    package let key: Int64
    package let squaredDistance: Float
    /// The row of its entity.
    package var entity: Int64 { ImageRow.entity(key) }
    /// 0...2.
    package var distance: Double { Double(squaredDistance.squareRoot()) }

    package init(key: Int64, squaredDistance: Float) { (self.key, self.squaredDistance) = (key, squaredDistance) }
}

/// The place of an entity in a ranking by the distance of prints.
package struct RankingPlace: Sendable {
    package let entity: Int64
    package let squaredDistance: Float
}

extension Sequence {
    /// The first element of each entity.
    ///
    /// - Parameter key: the row of an element's image.
    package func firstOfEachEntity(_ key: (Element) -> Int64) -> [Element] {
        var seen: Set<Int64> = []
        return filter { seen.insert(ImageRow.entity(key($0))).inserted }
    }
}

/// The entities that a search is restricted to.
package struct EntitySelection: Sendable, Equatable {
    package let condition: Condition
    package let keys: KeySelection?
    /// The rows of a local catalog's matrix.
    package let rows: [Range<Int>]

    package init(condition: Condition, keys: KeySelection?, rows: [Range<Int>]) {
        (self.condition, self.keys, self.rows) = (condition, keys, rows)
    }
}

/// Some entities of a catalog, by their rows in the database.
package enum KeySelection: Sendable, Equatable {
    /// These entities; ascending.
    case only([Int64])
    /// All entities but these; ascending.
    case allBut([Int64])
}

/// The images with the nearest prints that the first stage of a search found. A ranking of the same query starts with
/// them instead of scanning all prints again.
package struct PrintScan: Sendable {
    /// Images that the first stage finds at least: enough for a first page with its verified entities. A scan for
    /// more takes no longer.
    static let leastCount = 32

    let revision: CatalogRevision
    /// The entities that were scanned; nil for all.
    let selection: EntitySelection?
    /// Nearest first.
    let nearest: [NearImage]
    /// The images that were looked for. There are fewer only if no others are selected.
    let count: Int
    /// The share of the nearest that was to be found.
    let recall: Double

    /// The nearest image of each entity, without some entities; nearest first.
    package func nearest(without excluded: Set<Int64>) -> [NearImage] {
        nearest.filter { !excluded.contains($0.entity) }.firstOfEachEntity(\.key)
    }

    /// The first of the nearest of some entities; nil if others were scanned, or fewer were looked for.
    func nearest(
        _ count: Int, at revision: CatalogRevision, in selection: EntitySelection?, recall: Double
    ) -> [NearImage]? {
        guard revision == self.revision, selection == self.selection, recall <= self.recall,
            count <= self.count || nearest.count < self.count
        else { return nil }
        return Array(nearest.prefix(count))
    }
}
