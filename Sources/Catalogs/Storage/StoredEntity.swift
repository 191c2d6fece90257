import Foundation

/// An entity as it is stored, with its row in the database.
package struct StoredEntity: Sendable {
    package let entity: CatalogEntity
    package let key: Int64
    /// A JPEG file; nil where none was made or asked for.
    package let thumbnail: Data?
}
