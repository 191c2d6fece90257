import CatalogIndexing
import CatalogStore
public import Foundation
import Imaging

extension Catalog {
    /// The thumbnail of an entity, a JPEG file: the stored one if it is large enough, otherwise a new one from the
    /// image.
    ///
    /// - Parameters:
    ///   - image: the place of the image among the entity's; the first by default.
    ///   - longSide: the longer side in pixels; the thumbnail is never larger than the image, nor than the stored one
    ///     if the image was indexed from memory.
    /// - Returns: nil for an unknown id, for a place without an image, and for an image that was indexed from memory
    ///   without a thumbnail.
    /// - Throws: ``CatalogError``, `ImageError` if the image has to be read and cannot, and `CancellationError`.
    public func thumbnail(for id: String, image: Int = 0, longSide: Int? = nil) async throws -> Data? {
        try await reading { try readThumbnail(for: id, place: image, longSide: longSide) }
    }

    /// The stored thumbnail of an entity, a JPEG file. No image file is read, as ``thumbnail(for:image:longSide:)``
    /// may: the paths of a catalog from elsewhere can be those of any file.
    ///
    /// - Parameter image: the place of the image among the entity's; the first by default.
    /// - Returns: nil for an unknown id, for a place without an image, and for an image without a stored thumbnail.
    /// - Throws: ``CatalogError``, and `CancellationError`.
    public func storedThumbnail(for id: String, image: Int = 0) async throws -> Data? {
        try await reading { try store.thumbnail(forID: id, place: image)?.stored?.data }
    }

    /// SHA-256 of the contents of each image of an entity, in order; none for an unknown id.
    package func contentHashes(for id: String) async throws -> [Data] {
        try await reading { try store.digestedEntities(forIDs: [id]).values.first?.images.map(\.contentHash) ?? [] }
    }

    private func readThumbnail(for id: String, place: Int, longSide: Int?) throws -> Data? {
        guard let found = try store.thumbnail(forID: id, place: place) else { return nil }
        if let stored = found.stored, longSide.map({ $0 <= stored.side }) ?? true { return stored.data }
        if !found.isFile { return found.stored?.data }
        let side = max(1, longSide ?? CatalogIndexer.defaultThumbnailSide)
        let image = try PixelBuffer(
            contentsOf: URL(fileURLWithPath: found.image), options: DecodingOptions(neededLongSide: side))
        return try Thumbnail.jpeg(of: image, longSide: side, named: found.image)
    }
}
