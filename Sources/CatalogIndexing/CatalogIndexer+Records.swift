public import CatalogEntities
import CatalogStore
import FeaturePrints
import Foundation
import LocalFeatures
import Synchronization

extension CatalogIndexer {
    /// Stores records, in their order. What is stored already as it should be is only compared, so a run that was
    /// interrupted is completed by another one. Call ``finishRecords()`` after the last ones.
    ///
    /// - Parameter localFeatureModel: the digest of the model of their local features.
    /// - Returns: what was stored. A record of which something is damaged is reported, and the others are stored.
    /// - Throws: ``CatalogError`` if the catalog cannot be written, or local features are of another model.
    /// - Complexity: O(images).
    public func store(_ records: [CatalogRecord], localFeatureModel: String?) throws -> IndexReport {
        let own = try CatalogModels.defaultLocalFeatureModel()
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

extension ImageStamp {
    fileprivate init(_ file: CatalogRecord.Image.File) {
        self.init(
            file: FileStamp(size: file.size, modified: file.modified), changed: file.changed, inode: file.inode)
    }
}
