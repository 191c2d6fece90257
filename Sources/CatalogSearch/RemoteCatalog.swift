public import CatalogEntities
import Compute
public import FeaturePrints
public import Foundation
public import LocalFeatures
import Synchronization
import VectorSearch

/// A catalog that a database elsewhere keeps: what an image search asks of it.
///
/// A ``RemoteCatalogSearch`` searches one with the same code as a catalog in a folder: crops,
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

    /// The thumbnails of images, JPEG files, without those that have none. They tell the images of a template apart.
    func thumbnails(of keys: [Int64]) async throws -> [Int64: Data]

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
