/// Entities of a catalog whose images have the same picture.
public struct DuplicateGroup: Sendable, Hashable, Codable {
    /// How the image of an entity differs from that of its group's reference.
    public enum Difference: String, Sendable, Hashable, Codable, CaseIterable {
        /// The same pixels, as far as the catalog can tell: prints and local features are equal.
        case none
        /// The size, the quality or the file format differs; nothing that the picture shows.
        case quality
        /// One of both shows less of the picture, or has a border.
        case crop
        /// The picture is mirrored from left to right.
        case mirrored
        /// The picture is turned.
        case turned
        /// Text, a watermark or another mark is on one of both, or another text.
        case mark
        /// The picture has other colors, or none.
        case color
    }

    /// An entity with the picture of the reference.
    public struct Member: Sendable, Hashable, Codable {
        /// The entity.
        public let entity: CatalogEntity
        /// What differs from the reference.
        public let difference: Difference
        /// The distance between both prints, 0...2.
        public let distance: Double

        /// An entity of a group.
        public init(entity: CatalogEntity, difference: Difference, distance: Double) {
            (self.entity, self.difference, self.distance) = (entity, difference, distance)
        }
    }

    /// The first in the catalog's order of those that show most of the picture.
    public let reference: CatalogEntity
    /// The others, in the catalog's order; never empty.
    public let duplicates: [Member]

    /// A group.
    public init(reference: CatalogEntity, duplicates: [Member]) {
        (self.reference, self.duplicates) = (reference, duplicates)
    }
}
