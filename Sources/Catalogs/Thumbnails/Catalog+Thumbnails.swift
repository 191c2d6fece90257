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

    /// The stored thumbnail of an entity, a JPEG file. No image file is read, as ``thumbnail(for:longSide:)`` may: the
    /// paths of a catalog from elsewhere can be those of any file.
    ///
    /// - Returns: nil for an unknown id, and for an entity without a stored thumbnail.
    /// - Throws: ``CatalogError``, and `CancellationError`.
    public func storedThumbnail(for id: String) async throws -> Data? {
        try await reading {
            try folder.mappingErrors {
                try database.reader.read { db in
                    let request: SQLRequest<Data> =
                        "SELECT thumbnail.data FROM thumbnail JOIN entity USING (row) WHERE entity.id = \(id)"
                    return try request.fetchOne(db)
                }
            }
        }
    }

    private func readThumbnail(for id: String, longSide: Int?) throws -> Data? {
        let found = try folder.mappingErrors {
            try database.reader.read { db -> (image: String, side: Int?, data: Data?, size: Int64)? in
                let request: SQLRequest<Row> = """
                    SELECT entity.image, thumbnail.side, thumbnail.data, entity.size \
                    FROM entity LEFT JOIN thumbnail USING (row) WHERE id = \(id)
                    """
                return try request.fetchOne(db).map { row in
                    try (
                        row.decode(atIndex: 0), row.decode(atIndex: 1), row.decode(atIndex: 2), row.decode(atIndex: 3)
                    )
                }
            }
        }
        guard let found else { return nil }
        if let stored = found.data, longSide.map({ $0 <= found.side ?? 0 }) ?? true { return stored }
        if found.size == FileStamp.inMemory.size { return found.data }
        let side = max(1, longSide ?? CatalogIndexer.defaultThumbnailSide)
        let image = try PixelBuffer(
            contentsOf: URL(fileURLWithPath: found.image), options: DecodingOptions(neededLongSide: side))
        return try Thumbnail.jpeg(of: image, longSide: side, named: found.image)
    }
}
