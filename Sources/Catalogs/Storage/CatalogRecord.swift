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

extension Catalog {
    /// SHA-256 of the model of the local features; nil in a catalog without local features.
    public var localFeatureModelDigest: String? { extractor?.model.digest }

    /// The next entities in the catalog's order, with all that is stored of them, as of one moment.
    ///
    /// - Parameters:
    ///   - row: that of the last entity before; nil for the first.
    ///   - limit: the maximum number of entities.
    /// - Returns: the records, a problem for each entity that is left out because something of it is damaged, and where
    ///   to go on; nil at the end.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    /// - Complexity: O(images of the entities).
    public func records(
        after row: Int64? = nil, limit: Int
    ) async throws -> (records: [CatalogRecord], problems: [IndexProblem], next: Int64?) {
        try await executor.compute { cancellation in
            try store.page(after: row ?? .min, limit: max(limit, 1)) { page in
                var (records, problems) = ([CatalogRecord](), [IndexProblem]())
                for entity in page.entities {
                    try cancellation.check()
                    do {
                        records.append(try record(of: entity, in: page))
                    } catch let problem as IndexProblem {
                        problems.append(problem)
                    }
                }
                let next = page.entities.count < max(limit, 1) ? nil : page.entities.last?.record.row
                return (records, problems, next)
            }
        }
    }

    private func record(of entity: DigestedEntity, in page: MergedPage) throws -> CatalogRecord {
        let row = entity.record.row ?? 0
        let images = try page.images(of: entity, dimension: model.dimension, wordCount: extractor?.model.wordCount)
        return CatalogRecord(
            row: row, entity: entity.record.entity,
            images: images.enumerated().compactMap { place, image in
                guard let stored = image.new, let print = HalfPrecision.vector(stored.print, dimension: model.dimension)
                else { return nil }
                let words = stored.features.flatMap(LocalFeatures.init(encoded:)).map(\.visualWords)
                return CatalogRecord.Image(
                    key: ImageRow.row(of: row, place: place), file: CatalogRecord.Image.File(image.file),
                    contentHash: image.contentHash, print: print, features: stored.features, words: words ?? [],
                    thumbnail: stored.thumbnail.map { .init(side: $0.side, data: $0.data) })
            })
    }
}

extension CatalogIndexer {
    /// Stores records, in their order. What is stored already as it should be is only compared, so a run that was
    /// interrupted is completed by another one. Call ``finishRecords()`` after the last ones.
    ///
    /// - Parameter localFeatureModel: the digest of the model of their local features.
    /// - Returns: what was stored. A record of which something is damaged is reported, and the others are stored.
    /// - Throws: ``CatalogError`` if the catalog cannot be written, or local features are of another model.
    /// - Complexity: O(images).
    public func store(_ records: [CatalogRecord], localFeatureModel: String?) throws -> IndexReport {
        let own = try Catalog.defaultLocalFeatureModel()
        if let localFeatureModel, own?.digest != localFeatureModel { throw folder.error(.otherLocalFeatures) }
        var report = IndexReport()
        let byID = Dictionary(records.map { (ExactText($0.entity.id), $0) }) { $1 }
        try turn.withLock { _ in
            try merge(
                records.map(DigestedEntity.init), localFeatureModel: localFeatureModel, into: &report
            ) { entity in
                try byID[ExactText(entity.record.id)].map { try images(of: $0, wordCount: own?.wordCount) } ?? []
            }
        }
        return report
    }

    /// Makes the derived files after records were stored: what searches read.
    ///
    /// - Throws: ``CatalogError`` if the catalog cannot be written.
    /// - Complexity: O(entities).
    public func finishRecords() throws { try turn.withLock { _ in try refreshDerivedFiles() } }

    private func images(of record: CatalogRecord, wordCount: Int?) throws -> [PreparedImage] {
        func problem(_ words: String) -> IndexProblem {
            IndexProblem(subject: "entity “\(record.entity.id)”", reason: words)
        }
        guard !record.entity.hasNUL else { throw problem("contains a NUL character") }
        guard record.images.count == record.entity.images.count else { throw problem("its images are not all there") }
        return try record.images.map { image in
            guard image.print.count == model.dimension, image.print.allSatisfy(\.isFinite),
                abs(FeaturePrintModel.norm(of: image.print) - 1) <= FeaturePrintModel.normTolerance
            else { throw problem("its print is not \(model.dimension) floats of a unit vector") }
            if let features = image.features, LocalFeatures(encoded: features, wordCount: wordCount ?? .max) == nil {
                throw problem("its local features cannot be read")
            }
            return PreparedImage(
                file: ImageStamp(image.file), contentHash: image.contentHash, keptPlace: nil,
                new: StoredImage(
                    print: HalfPrecision.data(image.print),
                    thumbnail: image.thumbnail.map { StoredThumbnail(side: $0.side, data: $0.data) },
                    features: image.features))
        }
    }
}

extension DigestedEntity {
    fileprivate init(_ record: CatalogRecord) {
        self.init(
            record: EntityRecord(record.entity),
            images: record.images.enumerated().map { place, image in
                func digest(_ blob: Data) -> Data {
                    EntityStore.digest(of: blob, id: record.entity.id, contentHash: image.contentHash)
                }
                return Image(
                    place: place, file: ImageStamp(image.file), contentHash: image.contentHash,
                    print: digest(HalfPrecision.data(image.print)), localFeatures: image.features.map(digest),
                    thumbnail: image.thumbnail.map { digest($0.data) })
            })
    }
}

extension CatalogRecord.Image.File {
    fileprivate init(_ stamp: ImageStamp) {
        self.init(
            size: stamp.file.size, modified: stamp.file.modified, changed: stamp.changed, inode: stamp.inode)
    }
}

extension ImageStamp {
    fileprivate init(_ file: CatalogRecord.Image.File) {
        self.init(
            file: FileStamp(size: file.size, modified: file.modified), changed: file.changed, inode: file.inode)
    }
}
