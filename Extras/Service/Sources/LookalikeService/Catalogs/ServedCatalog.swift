#if Service
import CatalogEntities
import Catalogs
import Foundation
import Lookalike
import Synchronization

/// A catalog that is open for searches and changes.
@_spi(Service) public final class ServedCatalog: Sendable {
    let id: UUID
    /// What its database calls it; nil for one that a database elsewhere keeps.
    let databaseID: UUID?
    let name: CatalogName
    let catalog: any SearchableCatalog
    let writer: CatalogWriter
    /// How often the catalog of the name was swapped before.
    let swapCount: Int
    private let folder: (url: URL, identity: FolderState.Identity?)
    private let used = Mutex(ContinuousClock.now)
    private let known = Mutex<(revision: Revision, vocabulary: Vocabulary)?>(nil)
    /// The facets of lists that were asked for last, the latest at the end.
    private let facets = Mutex<[(key: ExactText, state: EntityState, facets: [SearchResponse.FacetAnswer])]>([])
    private static let mostFacets = 32
    /// Lets one request at a time count the entities; the next one finds what it counted.
    private let counting = WorkPool(places: 1)

    private struct Revision: Equatable {
        let entities: Int64
        let metadata: Int64
    }

    /// - Parameter id: names the entities that the catalog has: a restored one of the same name has another id.
    init(
        name: CatalogName, catalog: any SearchableCatalog, writer: CatalogWriter, id: UUID = UUID(), swapCount: Int = 0,
        databaseID: UUID? = nil
    ) {
        (self.id, self.databaseID) = (id, databaseID)
        self.swapCount = swapCount
        self.name = name
        folder = (writer.url, FolderState(writer.url)?.identity)
        self.catalog = catalog
        self.writer = writer
    }

    /// The catalog in its folder.
    ///
    /// - Throws: ``Problem`` for one that a database elsewhere keeps.
    var local: Catalog {
        get throws(Problem) {
            guard let local = catalog as? Catalog else {
                throw Problem(
                    .remoteCatalog,
                    "A database elsewhere keeps the catalog; it is searched with images and prints alone.")
            }
            return local
        }
    }

    /// Whether the folder is where it was when the catalog was opened: it may have been moved, removed, or replaced.
    var isInPlace: Bool { FolderState(folder.url)?.identity == folder.identity }

    /// When a request asked for the catalog last.
    var lastUse: ContinuousClock.Instant { used.withLock { $0 } }

    func use() { used.withLock { $0 = .now } }

    /// What the entities can be filtered by.
    struct Vocabulary: Sendable, Encodable {
        /// Entities per label.
        var labels: [String: Int] = [:]
        /// Entities per attribute.
        var attributes: [String: Int] = [:]
    }

    /// The catalog's size, and its most frequent labels and names of attributes with counts. O(entities), once per
    /// change of the catalog.
    ///
    /// - Parameter pool: where the entities are counted; nil to count them at once.
    func summary(in pool: WorkPool?) async throws -> (info: CatalogInfo, vocabulary: Vocabulary) {
        try await counting.run {
            let info = try await self.local.info
            let revision = Revision(entities: info.revision, metadata: info.metadataRevision)
            if let known = self.known.withLock({ $0 }), known.revision == revision { return (info, known.vocabulary) }
            let vocabulary =
                if let pool {
                    try await pool.run { try await self.countedVocabulary() }
                } else {
                    try await self.countedVocabulary()
                }
            self.known.withLock { $0 = (revision, vocabulary) }
            return (info, vocabulary)
        }
    }

    /// The facets of the entities that satisfy a condition and contain all words of a text. They are counted once per
    /// change of the catalog.
    func facets(
        where condition: Condition, text: String?, by fields: [EntityField]
    ) async throws -> [SearchResponse.FacetAnswer] {
        let key = ExactText(
            ([condition.description, text ?? "\u{1}"] + fields.map(\.description)).joined(separator: "\0"))
        let known = facets.withLock { all in all.first { $0.key == key } }
        let (state, counted) = try await local.facets(
            where: condition, text: text, by: fields, unlessAt: known?.state)
        let answers = counted.map(SearchResponse.answers) ?? known?.facets ?? []
        facets.withLock { all in
            all.removeAll { $0.key == key }
            all.append((key, state, answers))
            if all.count > Self.mostFacets { all.removeFirst() }
        }
        return answers
    }

    private func countedVocabulary() async throws -> Vocabulary {
        let all = try await local.reduceEntities(into: Vocabulary()) { vocabulary, entity in
            for label in Set(entity.labels) { vocabulary.labels[label, default: 0] += 1 }
            for name in entity.attributes.keys { vocabulary.attributes[name, default: 0] += 1 }
        }
        return Vocabulary(labels: all.labels.mostFrequent, attributes: all.attributes.mostFrequent)
    }
}

extension [String: Int] {
    /// The entries that an answer may have, the most frequent ones: each entity may have labels of its own.
    var mostFrequent: Self {
        guard count > SearchResponse.mostValues else { return self }
        let sorted = sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return Dictionary(uniqueKeysWithValues: sorted.prefix(SearchResponse.mostValues).map { ($0.key, $0.value) })
    }
}

/// The name of a catalog in paths, and of its folder.
///
/// A name starts with a letter or a digit, so it is neither hidden nor `..`, and has no separator of paths.
@_spi(Service) public struct CatalogName: Hashable, Sendable, LosslessStringConvertible {
    @_spi(Service) public let description: String

    static let rule =
        "A catalog's name has 1 to 64 letters of a to z, digits, “-”, “_” and “.”, and starts with a letter or a digit."

    @_spi(Service) public init?(_ text: String) {
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        let bytes = Array(text.utf8)
        guard (1...64).contains(bytes.count), isAlphanumeric(bytes[0]),
            bytes.allSatisfy({ isAlphanumeric($0) || "-_.".utf8.contains($0) })
        else { return nil }
        description = text
    }
}

/// What is known of a catalog that is not open.
struct ClosedCatalog: Sendable {
    let id: UUID
    let writer: CatalogWriter
    /// The number of entities, as long as the folder is in this state.
    let count: Int
    let databaseID: UUID?
    let folder: FolderState?

    init(_ served: ServedCatalog) {
        (id, writer) = (served.id, served.writer)
        (count, databaseID) = (served.catalog.count, served.databaseID)
        folder = FolderState(served.writer.url)
    }
}

/// Which folder is at a path, and when its files were last made, renamed or removed.
struct FolderState: Equatable, Sendable {
    struct Identity: Equatable, Sendable {
        let device: UInt64
        let inode: UInt64
    }

    let identity: Identity
    private let seconds: Int
    private let nanoseconds: Int

    /// Nil if there is none.
    init?(_ url: URL) {
        var status = stat()
        guard stat(url.path, &status) == 0 else { return nil }
        identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }
}
#endif
