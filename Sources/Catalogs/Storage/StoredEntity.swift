import Foundation

/// A stored entity, with its row in the database.
package struct StoredEntity: Sendable {
    package let entity: CatalogEntity
    package let key: Int64
    /// A JPEG file; nil if none was made or requested.
    package let thumbnail: Data?
}
