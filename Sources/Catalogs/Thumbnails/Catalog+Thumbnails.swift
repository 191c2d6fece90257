import Foundation
import GRDB
import Imaging

extension Catalog {
    /// A small JPEG file of an entity's image: the one that was made when it was indexed, or where it has to be
    /// larger than that, or none was made, a new one from the image.
    ///
    /// - Parameter longSide: of the longer side, in pixels; the thumbnail is no larger than the image.
    /// - Returns: nil for an id that is not in the catalog.
    /// - Throws: ``CatalogError``, and ``ImageError`` when the image has to be read and cannot.
    public func thumbnail(for id: String, longSide: Int? = nil) throws -> Data? {
        let found = try folder.attempt {
            try database.reader.read { db in
                try Row.fetchOne(
                    db, sql: "SELECT entity.image, thumbnail.side, thumbnail.data FROM entity LEFT JOIN thumbnail USING (row) WHERE id = ?",
                    arguments: [id])
            }
        }
        guard let found else { return nil }
        if let stored: Data = found[2], longSide.map({ $0 <= (found[1] as Int) }) ?? true { return stored }
        let side = max(1, longSide ?? CatalogIndexer.defaultThumbnailSide)
        let path: String = found[0]
        let image = try PixelBuffer(contentsOf: URL(fileURLWithPath: path), options: DecodingOptions(neededSize: (side, side)))
        return try Thumbnail.jpeg(of: image, longSide: side, named: path)
    }
}
