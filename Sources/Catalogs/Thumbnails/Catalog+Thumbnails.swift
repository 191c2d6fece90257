import Foundation
import GRDB
import Imaging

extension Catalog {
    /// The thumbnail of an entity, a JPEG file: the stored one if it is large enough, otherwise a new one from the
    /// image.
    ///
    /// - Parameter longSide: the longer side in pixels; the thumbnail is never larger than the image, nor than the
    ///   stored one if the entity was indexed from memory.
    /// - Returns: nil for an unknown id, and for an entity that was indexed from memory without a thumbnail.
    /// - Throws: ``CatalogError``, `ImageError` if the image has to be read and cannot, and `CancellationError`.
    public func thumbnail(for id: String, longSide: Int? = nil) async throws -> Data? {
        try await reading { try readThumbnail(for: id, longSide: longSide) }
    }

    private func readThumbnail(for id: String, longSide: Int?) throws -> Data? {
        let found = try folder.mappingErrors {
            try database.reader.read { db in
                let request: SQLRequest<Row> = """
                    SELECT entity.image, thumbnail.side, thumbnail.data, entity.size \
                    FROM entity LEFT JOIN thumbnail USING (row) WHERE id = \(id)
                    """
                return try request.fetchOne(db)
            }
        }
        guard let found else { return nil }
        if let stored: Data = found[2], longSide.map({ $0 <= (found[1] as Int) }) ?? true { return stored }
        if (found[3] as Int64) == FileStamp.inMemory.size { return found[2] }
        let side = max(1, longSide ?? CatalogIndexer.defaultThumbnailSide)
        let path: String = found[0]
        let image = try PixelBuffer(
            contentsOf: URL(fileURLWithPath: path), options: DecodingOptions(neededLongSide: side))
        return try Thumbnail.jpeg(of: image, longSide: side, named: path)
    }
}
