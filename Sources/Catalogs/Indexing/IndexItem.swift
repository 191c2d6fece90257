public import FeaturePrints
public import Foundation
public import Imaging

/// An entity to index, with its image.
///
/// ```swift
/// let entity = CatalogEntity(id: "slow-meridian", type: "album", title: "Slow Meridian")
/// try await indexer.upsert(IndexItem(entity, image: .data(jpeg)))
/// ```
public struct IndexItem: Sendable {
    /// What is known of the entity. Its ``CatalogEntity/image`` is the file that is read, if it is a file.
    public var entity: CatalogEntity
    /// Where its image is.
    public var image: IndexImage
    /// Its origin, for reports: a path, or a manifest and a line.
    public var origin: String

    /// An item whose image is a file, at the entity's ``CatalogEntity/image``.
    public init(entity: CatalogEntity, origin: String) {
        self.entity = entity
        image = .file(URL(fileURLWithPath: entity.image))
        self.origin = origin
    }

    /// An item with an image of any kind.
    ///
    /// - Parameters:
    ///   - image: a file, an image in memory, or a print. The path of a file becomes the entity's
    ///     ``CatalogEntity/image``.
    ///   - origin: what reports call the item; the file's path or the entity's id by default.
    public init(_ entity: CatalogEntity, image: IndexImage, origin: String? = nil) {
        self.entity = entity
        self.image = image
        if case .file(let url) = image { self.entity.image = url.path }
        self.origin = origin ?? (self.entity.image.isEmpty ? "entity “\(entity.id)”" : self.entity.image)
    }

    /// Asks the system to read the file into its cache, so that it is there when its turn comes.
    func readAhead() {
        guard case .file = image else { return }
        #if canImport(Glibc)
            let file = open(entity.image, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard file >= 0 else { return }
            posix_fadvise(file, 0, 0, Int32(POSIX_FADV_WILLNEED))
            close(file)
        #endif
    }
}

/// Where the image of an item is.
///
/// Images in memory are not kept: a catalog stores their prints, local features and thumbnails, as it does for files.
/// They are compared by their contents with what was indexed before.
public enum IndexImage: Sendable {
    /// An image file, which is read again only after it changes.
    case file(URL)
    /// The bytes of an image file.
    case data(Data)
    /// Pixels; they are not copied.
    case pixels(PixelBuffer)
    /// A print that was made before, with the catalog's model. The entity has neither local features nor a thumbnail,
    /// so it is found by its print alone.
    case print(FeaturePrint)
}

/// The outcome of an index run.
public struct IndexReport: Sendable {
    /// New entities.
    public var added = 0
    /// Entities whose image or metadata changed.
    public var updated = 0
    /// Entities whose image and metadata are as stored.
    public var unchanged = 0
    /// Items that were not indexed.
    public var problems: [IndexProblem] = []
    /// What was ignored in items that were indexed.
    public var notes: [IndexNote] = []

    /// A report without items.
    public init() {}

    /// The number of processed items.
    public var processed: Int { added + updated + unchanged + problems.count }

    mutating func add(_ other: IndexReport) {
        added += other.added
        updated += other.updated
        unchanged += other.unchanged
        problems += other.problems
        notes += other.notes
    }
}
