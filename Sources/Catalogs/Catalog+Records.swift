import CatalogEntities
import CatalogStore
import Compute
import FeaturePrints
import Foundation
import LocalFeatures

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

extension CatalogRecord.Image.File {
    fileprivate init(_ stamp: ImageStamp) {
        self.init(
            size: stamp.file.size, modified: stamp.file.modified, changed: stamp.changed, inode: stamp.inode)
    }
}
