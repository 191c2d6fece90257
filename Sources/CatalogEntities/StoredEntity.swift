package import Foundation

/// A stored entity, with its row in the database.
package struct StoredEntity: Sendable {
    package let entity: CatalogEntity
    package let key: Int64
    /// A JPEG file; nil if none was made or requested.
    package let thumbnail: Data?

    package init(entity: CatalogEntity, key: Int64, thumbnail: Data?) {
        (self.entity, self.key, self.thumbnail) = (entity, key, thumbnail)
    }
}

/// An entity with the number of phrases that its text contains.
package struct PhraseMatch: Sendable {
    package let key: Int64
    package let count: Int

    package init(key: Int64, count: Int) {
        self.key = key
        self.count = count
    }
}
