/// An entity of a catalog: an album, a product, a landmark.
public struct CatalogEntity: Sendable, Hashable, Codable, Identifiable {
    /// Unique in its catalog.
    public var id: String
    /// A type of the app's choice, such as `album`.
    public var type: String?
    public var title: String?
    public var subtitle: String?
    public var labels: [String]
    /// The manifest's other columns.
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
