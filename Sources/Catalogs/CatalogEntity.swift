import Foundation

/// One thing of a catalog: an album, a product, a landmark.
public struct CatalogEntity: Sendable, Hashable, Codable, Identifiable {
    /// Unique in its catalog.
    public var id: String
    /// A kind of the app's own choosing, such as `album`.
    public var type: String?
    public var title: String?
    public var subtitle: String?
    public var labels: [String]
    /// Whatever else the manifest says of it.
    public var attributes: [String: String]
    /// The path of its image.
    public var image: String

    public init(
        id: String, type: String? = nil, title: String? = nil, subtitle: String? = nil,
        labels: [String] = [], attributes: [String: String] = [:], image: String
    ) {
        self.id = id
        self.type = type
        self.title = title
        self.subtitle = subtitle
        self.labels = labels
        self.attributes = attributes
        self.image = image
    }
}

/// An entity that a search found.
public struct CatalogMatch: Sendable, Hashable {
    public let entity: CatalogEntity
    /// Between the query's print and the entity's, 0...2.
    public var distance: Double { Double(squaredDistance.squareRoot()) }

    /// As it was computed; ranked by, so that a cursor loses nothing.
    let squaredDistance: Float
    /// The entity's row in the database.
    let key: Int64
}

/// An entity as it is stored, with its row in the database.
package struct StoredEntity: Sendable {
    package let entity: CatalogEntity
    package let key: Int64
    /// A JPEG file; nil where none was made or asked for.
    package let thumbnail: Data?
}
