public import CatalogEntities
import CatalogStore
public import FeaturePrints
public import Foundation
public import Imaging
import LocalFeatures

/// An entity to index, with its images.
///
/// ```swift
/// let entity = CatalogEntity(id: "slow-meridian", type: "album", title: "Slow Meridian")
/// try await indexer.upsert(IndexItem(entity, image: .data(jpeg)))
/// ```
///
/// An entity with several images is found by any of them.
public struct IndexItem: Sendable {
    /// What is known of the entity. Its ``CatalogEntity/images`` are the files that are read, if they are files.
    public var entity: CatalogEntity
    /// Where its images are, the first of which is the entity's cover.
    public var images: [IndexImage]
    /// Its origin, for reports: a path, or a manifest and a line.
    public var origin: String
    /// What its run notes about it.
    package var notes: [IndexReport.Note] = []
    /// The paths of the other images of its folder that have its id; nil for an item that is not of a folder. A folder
    /// says nothing else of its entities, so what is stored of them stays.
    var sameIDs: [String]?
    /// Whether its images come after those that are stored of its entity, whose metadata stays.
    var addsImages = false

    /// An item whose images are files, at the entity's ``CatalogEntity/images``.
    public init(entity: CatalogEntity, origin: String) {
        self.entity = entity
        images = entity.images.map { .file(URL(fileURLWithPath: $0)) }
        self.origin = origin
    }

    /// An item with an image of any kind.
    ///
    /// - Parameters:
    ///   - image: a file, an image in memory, or a print. The path of a file becomes the entity's
    ///     ``CatalogEntity/image``.
    ///   - origin: what reports call the item; the file's path or the entity's id by default.
    public init(_ entity: CatalogEntity, image: IndexImage, origin: String? = nil) {
        self.init(entity, images: [image], origin: origin)
    }

    /// An item with several images of any kind.
    ///
    /// - Parameters:
    ///   - images: at least one. The paths of files become those of the entity's ``CatalogEntity/images``; an image in
    ///     memory keeps what the entity has at its place.
    ///   - origin: what reports call the item; the first file's path or the entity's id by default.
    public init(_ entity: CatalogEntity, images: [IndexImage], origin: String? = nil) {
        self.entity = entity
        self.images = images
        self.origin = origin ?? ""
        for (place, image) in images.enumerated() {
            guard case .file(let url) = image else { continue }
            let missing = max(0, place + 1 - self.entity.images.count)
            self.entity.images += Array(repeating: "", count: missing)
            self.entity.images[place] = url.isFileURL ? url.path : url.absoluteString
        }
        if origin == nil { self.origin = self.entity.image.isEmpty ? "entity “\(entity.id)”" : self.entity.image }
    }

    /// Whether this is its id, byte for byte.
    func hasID(_ id: String) -> Bool { entity.id.utf8.elementsEqual(id.utf8) }

    /// The item of a folder with what is stored of its entity, and with the image that its id has in the catalog as
    /// long as the folder has that; another one is noted.
    func completed(by known: KnownEntity?) -> IndexItem {
        var item = self
        if addsImages, let known {
            item.entity = known.record.entity
            item.entity.images = []
        }
        guard let sameIDs, let known else { return item }
        // A program may have given it a title, or anything else.
        if entity.isStored(as: CatalogEntity(id: entity.id, images: entity.images)) {
            item.entity = known.record.entity
            item.entity.images = entity.images
        }
        guard let stored = known.firstImage(unlessAt: entity.image),
            FolderScan.folder(of: stored) == FolderScan.folder(of: entity.image)
        else { return item }
        if sameIDs.contains(where: { ExactText($0) == ExactText(stored) }) {
            item.entity.images = [stored]
            item.images = [.file(URL(fileURLWithPath: stored))]
            item.origin = stored
        } else {
            item.notes.append(
                IndexReport.Note(subject: origin, text: "has the id “\(entity.id)”, which was that of \(stored)"))
        }
        return item
    }

    /// The entity with a path per image.
    var namedEntity: CatalogEntity {
        var entity = entity
        entity.images = images.indices.map { $0 < entity.images.count ? entity.images[$0] : "" }
        return entity
    }

    /// Asks the system to read the files into its cache, so that they are there when their turn comes.
    func readAhead() {
        #if canImport(Glibc)
        for (image, path) in zip(images, entity.images) {
            guard case .file = image else { continue }
            let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard file >= 0 else { continue }
            posix_fadvise(file, 0, 0, Int32(POSIX_FADV_WILLNEED))
            close(file)
        }
        #endif
    }
}

extension KnownEntity {
    /// The path of its first image; nil if one of its images is at a path.
    func firstImage(unlessAt path: String) -> String? {
        record.images.contains { ExactText($0) == ExactText(path) } ? nil : record.images.first
    }
}

/// Where an image of an item is.
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
    /// A print that was made before, with the catalog's model. It has neither local features nor a thumbnail, so it is
    /// found by its print alone.
    case print(FeaturePrint)
    /// All that a catalog stores of an image, computed before by the same version of the package.
    case computed(ComputedImage)
}

/// What a catalog stores of an image, computed without a catalog, such as on another machine by `lookalike worker`.
public struct ComputedImage: Sendable {
    /// The print, made with the catalog's model.
    public let print: FeaturePrint
    /// The local features as ``LocalFeatures/encoded`` has them; nil for an image that is found by its print alone. A
    /// catalog without local features does not store them.
    public let localFeatures: Data?
    /// A JPEG file with the long side of the indexer's thumbnails, or smaller; nil for none.
    public let thumbnail: Data?

    /// An image with what was computed of it.
    public init(print: FeaturePrint, localFeatures: Data? = nil, thumbnail: Data? = nil) {
        (self.print, self.localFeatures, self.thumbnail) = (print, localFeatures, thumbnail)
    }

    /// What is wrong with the local features or the thumbnail; nil if they can be stored.
    ///
    /// - Parameter wordCount: the number of visual words; any without it.
    func problem(wordCount: Int? = nil) -> String? {
        if let localFeatures, LocalFeatures(encoded: localFeatures, wordCount: wordCount ?? .max) == nil {
            return "its local features cannot be read"
        }
        if let thumbnail, !thumbnail.starts(with: [0xFF, 0xD8, 0xFF]) { return "its thumbnail is not a JPEG file" }
        return nil
    }
}
