import Compute
import FeaturePrints
public import Foundation
public import LocalFeatures
import Synchronization

/// All that a catalog stores of an entity: to keep it in a database elsewhere, and to store it again in a catalog.
public struct CatalogRecord: Sendable {
    /// What is stored of an image.
    public struct Image: Sendable {
        /// The file when it was read, by which a change is noticed.
        public struct File: Sendable, Hashable, Codable {
            /// Bytes; -1 for an image that was indexed from memory.
            public var size: Int64
            /// When the contents were changed, in nanoseconds since 1970.
            public var modified: Int64
            /// When anything of the file was changed, in nanoseconds since 1970.
            public var changed: Int64
            /// The number of the file in its file system.
            public var inode: Int64

            /// A file with these properties.
            public init(size: Int64, modified: Int64, changed: Int64, inode: Int64) {
                (self.size, self.modified, self.changed, self.inode) = (size, modified, changed, inode)
            }
        }

        /// A JPEG file, and the long side that it was made for.
        public struct Thumbnail: Sendable, Hashable {
            /// Pixels.
            public var side: Int
            /// The file.
            public var data: Data

            /// A thumbnail.
            public init(side: Int, data: Data) { (self.side, self.data) = (side, data) }
        }

        /// Ascending in the catalog's order: ``CatalogRecord/row`` · 16,384 + the image's place in the entity.
        public var key: Int64
        /// The image's file.
        public var file: File
        /// SHA-256 of its contents.
        public var contentHash: Data
        /// The components of its print.
        public var print: [Float]
        /// Its local features, as `LocalFeatures.encoded` has them; nil without.
        public var features: Data?
        /// The visual words of its local features; they follow from these.
        public var words: [VisualWord]
        /// Nil if none is stored.
        public var thumbnail: Thumbnail?

        /// An image with what is stored of it; words are needed by who keeps it elsewhere alone.
        public init(
            key: Int64, file: File, contentHash: Data, print: [Float], features: Data?, words: [VisualWord] = [],
            thumbnail: Thumbnail?
        ) {
            (self.key, self.file, self.contentHash, self.print) = (key, file, contentHash, print)
            (self.features, self.words, self.thumbnail) = (features, words, thumbnail)
        }
    }

    /// The place of the entity in the catalog's order; later entities have larger ones.
    public var row: Int64
    /// The record.
    public var entity: CatalogEntity
    /// One per path of the entity, in their order.
    public var images: [Image]

    /// A record.
    public init(row: Int64, entity: CatalogEntity, images: [Image]) {
        (self.row, self.entity, self.images) = (row, entity, images)
    }
}
