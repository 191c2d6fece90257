import CatalogEntities
import CatalogStore
public import FeaturePrints
public import Foundation
import LocalFeatures
import Synchronization

extension CatalogIndexer {
    /// Merges catalogs into one, which is made if there is none: what several machines indexed becomes one catalog.
    ///
    /// ```swift
    /// let report = try CatalogIndexer.merge([shard1, shard2], into: all)
    /// ```
    ///
    /// A new catalog has the model of the first one, with its match threshold and confidence. Everything else is as for
    /// the method ``merge(_:progress:)`` of an indexer. Nothing is made if one of the catalogs cannot be merged.
    ///
    /// - Parameters:
    ///   - model: the model of the catalogs. Without it, the copy in the folder of the one that is merged into, or of
    ///     the first, or the default model is used.
    ///   - precision: the number format of that copy or of the default model.
    public static func merge(
        _ catalogs: [URL], into url: URL, model: FeaturePrintModel? = nil,
        precision: FeaturePrintModel.Precision? = nil, progress: (IndexReport) -> Void = { _ in }
    ) throws -> IndexReport {
        let target = CatalogFolder(url: url)
        let sources = try open(catalogs, toMergeInto: target)
        var model = model
        if try target.lacksDatabase(), let first = sources.first {
            let identity = try identity(of: first)
            model = try CatalogModels.model(of: first.folder, identity: identity, given: model, precision: precision)
            try check(sources, against: identity)
        }
        let haveLocalFeatures = try sources.contains { try $0.localFeatureModelDigest() != nil }
        let indexer = try CatalogIndexer(
            at: url, model: model, precision: precision, localFeatures: haveLocalFeatures)
        return try indexer.merge(sources, progress: progress)
    }

    /// Adds the entities of other catalogs, with all that is stored of their images: prints, local features,
    /// thumbnails, and what tells whether a file has changed. No image is read.
    ///
    /// The catalogs are read as they are at one moment, one after the other, and their entities are committed in small
    /// batches. A merge that was interrupted is completed by another one: what is as it should be is only compared.
    /// An entity takes the place of one with the same id that this catalog has. If several of the catalogs have an id,
    /// the entity of the last of them is taken, and a note in the report says so. An entity of which something is
    /// damaged is reported, and the others are merged. The catalog keeps the match threshold and the confidence of its
    /// model; a note names those that have others.
    ///
    /// - Parameter progress: called after every commit.
    /// - Throws: ``CatalogError`` if a catalog cannot be read, was made with another model, or is this one, before
    ///   anything is merged, or if this one cannot be written; and `CancellationError` if the task is cancelled. What
    ///   was committed stays.
    /// - Complexity: O(entities). Memory does not grow with their number, except for reported problems.
    public func merge(_ catalogs: [URL], progress: (IndexReport) -> Void = { _ in }) throws -> IndexReport {
        try merge(Self.open(catalogs, toMergeInto: folder), progress: progress)
    }

    private func merge(_ sources: [EntityStore], progress: (IndexReport) -> Void) throws -> IndexReport {
        try Self.check(sources, against: model.identity)
        // An error if the features of a catalog are not those of this version.
        let models = try sources.map { try CatalogModels.localFeatureModel(of: $0) }
        var report = IndexReport()
        var replacedCounts = sources.map { _ in 0 }
        try EntityStore.forEachPage(of: sources) { page in
            try Task.checkCancellation()
            replacedCounts[page.catalog] += page.replacedCount
            let localFeatureModel = models[page.catalog]
            // One page after the other is compared with the database and committed, as other chunks are.
            try turn.withLock { _ in
                try merge(page.entities, localFeatureModel: localFeatureModel?.digest, into: &report) {
                    try page.images(
                        of: $0, dimension: model.dimension, wordCount: localFeatureModel?.wordCount)
                }
            }
            progress(report)
        }
        for (source, count) in zip(sources, replacedCounts) where count > 0 {
            let words = "\(count) of its entities \(count == 1 ? "is" : "are") taken from a catalog that is named later"
            report.notes.append(IndexReport.Note(subject: source.folder.path, text: words))
        }
        // A model that was fitted to queries has the same identity.
        let kept = folder.modelFileData
        for source in sources where source.folder.modelFileData != kept {
            let words = "its model has another match threshold and confidence; those of the merged catalog stay"
            report.notes.append(IndexReport.Note(subject: source.folder.path, text: words))
        }
        try turn.withLock { _ in try refreshDerivedFiles() }
        return report
    }

    /// What is in memory of a page at once, besides one entity.
    private static let mostBytes = 32 << 20

    /// Stores entities that are not stored yet as they are.
    ///
    /// - Parameters:
    ///   - localFeatureModel: the digest of the model of their local features.
    ///   - images: the images of an entity; throws an ``IndexProblem`` for one that is damaged.
    func merge(
        _ entities: [DigestedEntity], localFeatureModel: String?, into report: inout IndexReport,
        images read: (DigestedEntity) throws -> [PreparedImage]
    ) throws {
        let known = try store.digestedEntities(forIDs: entities.map(\.record.id))
        var (chunk, byteCount) = (PreparedChunk(), 0)
        func commit() throws {
            report.add(try store(chunk, localFeatureModel: localFeatureModel))
            (chunk, byteCount) = (PreparedChunk(), 0)
        }
        for entity in entities {
            let stored = known[ExactText(entity.record.id)]
            let images: [PreparedImage]
            if let stored, stored.isWhole, stored.images == entity.images {
                if stored.record.entity.isStored(as: entity.record.entity) {
                    chunk.unchanged += 1
                    continue
                }
                images = entity.images.map {
                    PreparedImage(file: $0.file, contentHash: $0.contentHash, keptPlace: $0.place, new: nil)
                }
            } else {
                do {
                    images = try read(entity)
                } catch let problem as IndexProblem {
                    chunk.failed += 1
                    chunk.problems.append(problem)
                    continue
                }
            }
            var record = entity.record
            record.row = nil
            chunk.entities.append(PreparedEntity(record: record, images: images))
            byteCount += images.reduce(0) { $0 + ($1.new?.byteCount ?? 0) }
            if byteCount >= Self.mostBytes { try commit() }
        }
        try commit()
    }

    /// Opens catalogs for reading.
    private static func open(_ catalogs: [URL], toMergeInto target: CatalogFolder) throws -> [EntityStore] {
        try catalogs.map { url in
            let folder = CatalogFolder(url: url)
            let store = try EntityStore.reading(folder)
            if let database = FileIdentity(target.database), database == FileIdentity(folder.database) {
                throw folder.error(.failed("cannot be merged into itself"))
            }
            return store
        }
    }

    private static func identity(of store: EntityStore) throws -> ModelIdentity {
        guard let identity = try store.model() else { throw store.folder.error(.damaged("its settings name no model")) }
        return identity
    }

    private static func check(_ sources: [EntityStore], against identity: ModelIdentity) throws {
        for source in sources {
            let own = try Self.identity(of: source)
            guard own == identity else { throw source.folder.error(.otherModel(catalog: own, given: identity)) }
        }
    }
}

extension CatalogFolder {
    /// The model file that the catalog keeps; nil for the default model.
    fileprivate var modelFileData: Data? { try? Data(contentsOf: model, options: .mappedIfSafe) }
}
