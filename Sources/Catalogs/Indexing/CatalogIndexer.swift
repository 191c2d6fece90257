import Compute
import FeaturePrints
import Foundation
import GRDB
import Imaging
import LocalFeatures
import Synchronization

/// Writes to a catalog: creates it, indexes images, removes entities.
///
/// There is one indexer per catalog at a time; the `init` of a second one throws. Indexed images are committed in small
/// batches, so a process that is killed loses only those in flight.
public final class CatalogIndexer: Sendable {
    /// The model that images are embedded with.
    public let model: FeaturePrintModel
    /// Whether local features are extracted, which verify matches.
    public let extractsLocalFeatures: Bool

    let folder: CatalogFolder
    let database: CatalogDatabase
    let writer: DatabasePool
    /// Where the indexer computes.
    let executor: any TaskExecutor
    /// One chunk at a time is compared with the database and committed.
    let turn = Mutex(())
    let reader: ItemReader
    private let lock: WriterLock

    /// The default long side of thumbnails, in pixels.
    public static let defaultThumbnailSide = 256
    /// Images per thread that are committed together.
    static let imagesPerJob = 16
    /// Of those that come one by one, which wait for each other.
    static let streamedImagesPerJob = 8

    /// Opens a catalog for writing, or creates one.
    ///
    /// - Parameters:
    ///   - model: the model of a new catalog; the default model without it. An existing catalog keeps its model;
    ///     another one is an error.
    ///   - precision: the number format of the catalog's or the default model, unless a model is given; the fastest
    ///     that the CPU supports, by default.
    ///   - thumbnailSide: the long side of the thumbnails to store, in pixels; nil for none.
    ///   - localFeatures: whether to extract local features, which verify matches. Indexing is faster without them, and
    ///     the images that are indexed then are found by their prints alone. By default they are extracted if the
    ///     model uses them (``FeaturePrintModel/usesLocalFeatures``) or the catalog has some already.
    ///   - limits: the largest images that are decoded; `neededSize` and `neededLongSide` are ignored. A thumbnail that
    ///     is larger than the stored one is decoded from the image file when it is requested, with the default limits.
    ///   - executor: where asynchronous methods compute; `ComputeExecutor.shared` by default.
    /// - Throws: ``CatalogError``.
    public init(
        at url: URL, model: FeaturePrintModel? = nil, precision: FeaturePrintModel.Precision? = nil,
        thumbnailSide: Int? = CatalogIndexer.defaultThumbnailSide,
        localFeatures: Bool? = nil, limits: DecodingOptions = DecodingOptions(), executor: (any TaskExecutor)? = nil
    ) throws {
        self.executor = executor ?? ComputeExecutor.shared
        let folder = CatalogFolder(url: url)
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw folder.error(.unwritable((error as NSError).localizedDescription))
        }
        lock = try WriterLock(folder)
        if try folder.lacksDatabase() {
            try CatalogDatabase.create(folder, model: try Self.chosenModel(model, precision: precision, for: folder))
        }
        let writer = try CatalogDatabase.makePool(folder)
        let database = CatalogDatabase(folder: folder, reader: CatalogReader(writer: writer))
        if let identity = try folder.mappingErrors({ try database.reader.read(CatalogDatabase.model) }) {
            self.model = try Catalog.model(of: folder, identity: identity, given: model, precision: precision)
        } else {
            // An earlier version was killed while it made the catalog.
            let chosen = try Self.chosenModel(model, precision: precision, for: folder)
            try folder.mappingErrors { try writer.write { try CatalogDatabase.writeModel(chosen, $0) } }
            self.model = chosen
        }
        let wantsLocalFeatures =
            try localFeatures ?? (self.model.usesLocalFeatures || Catalog.localFeatureModel(of: database) != nil)
        let extractor =
            try wantsLocalFeatures
            ? (Catalog.localFeatureModel(of: database) ?? Catalog.defaultLocalFeatureModel())
                .map { LocalFeatureExtractor($0) } : nil
        if let extractor {
            // A catalog with entities gets it with its first features: until then its matches are by prints alone.
            try folder.mappingErrors {
                try writer.write { db in
                    guard try Int.fetchOne(db, sql: "SELECT 1 FROM entity LIMIT 1") == nil else { return }
                    try Self.noteLocalFeatures(of: extractor.model, db)
                }
            }
        }
        extractsLocalFeatures = extractor != nil
        reader = ItemReader(
            model: self.model, thumbnailSide: thumbnailSide.map { max(1, $0) }, limits: limits, extractor: extractor)
        self.folder = folder
        self.database = database
        self.writer = writer
    }

    /// The model of a new catalog. One that is not the default model is kept in the catalog's folder.
    private static func chosenModel(
        _ given: FeaturePrintModel?, precision: FeaturePrintModel.Precision?, for folder: CatalogFolder
    ) throws -> FeaturePrintModel {
        guard let chosen = try given ?? Catalog.defaultModel(precision: precision) else { throw folder.error(.noModel) }
        // The catalog would take it for its own, and not open.
        if Catalog.isDefault(chosen), !FileStamp.isMissing(folder.model.path) {
            throw folder.error(.strayModel)
        }
        if given != nil, !Catalog.isDefault(chosen) {
            try folder.mappingErrors { try chosen.fileData.write(to: folder.model, options: .atomic) }
        }
        return chosen
    }

    /// Makes a catalog one with local features.
    ///
    /// - Returns: whether it was one without before.
    @discardableResult
    static func noteLocalFeatures(of model: LocalFeatureModel, _ db: Database) throws -> Bool {
        guard try Setting.localFeatureModel.read(db) == nil else { return false }
        try Setting.localFeatureModel.write(model.digest, db)
        return true
    }

    /// Indexes items in memory, as the method that takes the entries of a source does.
    ///
    /// - Throws: ``CatalogError``, and `CancellationError` if the task is cancelled.
    public func index(
        _ items: [IndexItem], jobs: Int? = nil, timings: StageTimings? = nil,
        progress: (IndexReport) -> Void = { _ in }
    ) throws -> IndexReport {
        try index(IndexEntries(items), jobs: jobs, timings: timings, progress: progress)
    }

    /// Indexes the items of a source: new ones, those whose image or metadata changed, and those that lack local
    /// features.
    ///
    /// An image that cannot be read is reported, and the others are indexed; its entity stays as it was. Memory does
    /// not grow with the number of items, except for reported problems and notes. The calling thread is kept until all
    /// is done; a task had better use ``run(over:jobs:)``.
    /// - Parameters:
    ///   - jobs: the number of threads; all cores by default.
    ///   - progress: called after every commit.
    /// - Throws: ``CatalogError`` if the catalog cannot be written, and `CancellationError` if the task is cancelled.
    ///   What was committed stays.
    public func index(
        _ entries: IndexEntries, jobs: Int? = nil, timings: StageTimings? = nil,
        progress: (IndexReport) -> Void = { _ in }
    ) throws -> IndexReport {
        let jobs = threadCount(jobs ?? availableProcessorCount)
        // Readers need them while this runs, even of an empty catalog.
        try turn.withLock { _ in try refreshDerivedFiles() }
        var report = IndexReport()
        var changes = ChangesSinceRefresh()
        var prepared = PreparedChunk()
        func advance(to items: [IndexItem]) throws {
            try Task.checkCancellation()
            let (stored, next) = try turn.withLock { [prepared] _ in
                try store(prepared, whilePreparing: items, jobs: jobs, timings: timings)
            }
            if !prepared.isEmpty {
                report.add(stored)
                progress(report)
                if try changes.areMany(report, in: self) { try turn.withLock { _ in try refreshDerivedFiles() } }
            }
            prepared = next
        }
        func index(_ items: [IndexItem]) throws {
            // An entity that comes again is compared with what is stored, so that has to be stored.
            let ids = prepared.ids
            if items.contains(where: { ids.contains(ExactText($0.entity.id)) }) { try advance(to: []) }
            try advance(to: items)
        }
        var chunk = IndexChunk(limit: jobs * Self.imagesPerJob)
        for entry in entries {
            switch entry {
            case .failure(let problem): report.problems.append(problem)
            case .success(let item):
                guard !chunk.add(item) else { continue }
                try index(chunk.items)
                chunk = IndexChunk(limit: chunk.limit)
                _ = chunk.add(item)
            }
        }
        if !chunk.items.isEmpty { try index(chunk.items) }
        if !prepared.isEmpty { try advance(to: []) }
        try turn.withLock { _ in try refreshDerivedFiles() }
        return report
    }
}
