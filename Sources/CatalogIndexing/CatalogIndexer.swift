public import CatalogEntities
import CatalogStore
import Compute
public import FeaturePrints
public import Foundation
public import Imaging
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
    let store: EntityStore
    /// Where the indexer computes.
    let executor: any TaskExecutor
    /// One chunk at a time is compared with the database and committed.
    let turn = Mutex(())
    /// Asynchronous changes wait here, not for ``turn``, which keeps a thread.
    let changes = ChangeQueue()
    let reader: ItemReader
    private let lock: WriterLock

    /// The default long side of thumbnails, in pixels.
    public static let defaultThumbnailSide = 256

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
    ///   - readsUnchangedFiles: whether files are read, and compared by their contents with what was indexed, although
    ///     their size, times and inode are those that were indexed.
    ///   - executor: where asynchronous methods compute; `ComputeExecutor.shared` by default.
    /// - Throws: ``CatalogError``.
    public init(
        at url: URL, model: FeaturePrintModel? = nil, precision: FeaturePrintModel.Precision? = nil,
        thumbnailSide: Int? = CatalogIndexer.defaultThumbnailSide,
        localFeatures: Bool? = nil, limits: DecodingOptions = DecodingOptions(), readsUnchangedFiles: Bool = false,
        executor: (any TaskExecutor)? = nil
    ) throws {
        self.executor = executor ?? ComputeExecutor.shared
        let folder = try CatalogFolder(checking: url)
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw folder.error(.unwritable((error as NSError).localizedDescription))
        }
        lock = try WriterLock(folder)
        if try folder.lacksDatabase() {
            try EntityStore.create(folder, model: try Self.chosenModel(model, precision: precision, for: folder))
        }
        store = try EntityStore.writing(folder)
        guard let identity = try store.model() else {
            throw folder.error(.damaged("its settings name no model"))
        }
        self.model = try CatalogModels.model(of: folder, identity: identity, given: model, precision: precision)
        let wantsLocalFeatures =
            try localFeatures ?? (self.model.usesLocalFeatures || CatalogModels.localFeatureModel(of: store) != nil)
        let extractor =
            try wantsLocalFeatures
            ? (CatalogModels.localFeatureModel(of: store) ?? CatalogModels.defaultLocalFeatureModel())
                .map { SharedModels.extractor(for: $0) } : nil
        if let extractor {
            // A catalog with entities gets it with its first features: until then its matches are by prints alone.
            try store.noteLocalFeaturesIfEmpty(model: extractor.model.digest)
        }
        extractsLocalFeatures = extractor != nil
        reader = ItemReader(
            model: self.model, thumbnailSide: thumbnailSide.map { max(1, $0) }, limits: limits,
            readsUnchangedFiles: readsUnchangedFiles, extractor: extractor)
        self.folder = folder
    }

    /// Opens a catalog for writing, or creates one, without keeping the calling task's thread. Parameters and errors
    /// are those of ``init(at:model:precision:thumbnailSide:localFeatures:limits:readsUnchangedFiles:executor:)``.
    public static func open(
        at url: URL, model: FeaturePrintModel? = nil, precision: FeaturePrintModel.Precision? = nil,
        thumbnailSide: Int? = CatalogIndexer.defaultThumbnailSide,
        localFeatures: Bool? = nil, limits: DecodingOptions = DecodingOptions(), readsUnchangedFiles: Bool = false,
        executor: (any TaskExecutor)? = nil
    ) async throws -> CatalogIndexer {
        let chosen = executor ?? ComputeExecutor.shared
        return try await chosen.compute { _ in
            try CatalogIndexer(
                at: url, model: model, precision: precision, thumbnailSide: thumbnailSide,
                localFeatures: localFeatures, limits: limits, readsUnchangedFiles: readsUnchangedFiles,
                executor: chosen)
        }
    }

    /// The model of a new catalog. One that is not the default model is kept in the catalog's folder.
    private static func chosenModel(
        _ given: FeaturePrintModel?, precision: FeaturePrintModel.Precision?, for folder: CatalogFolder
    ) throws -> FeaturePrintModel {
        guard let chosen = try given ?? CatalogModels.defaultModel(precision: precision) else {
            throw folder.error(.noModel)
        }
        // The catalog would take it for its own, and not open.
        if !FileStamp.isMissing(folder.model.path), CatalogModels.isDefault(chosen) {
            throw folder.error(.strayModel)
        }
        if given != nil, !CatalogModels.isDefault(chosen) {
            do {
                try chosen.fileData.write(to: folder.model, options: .atomic)
            } catch {
                throw folder.error(.failed("\(error)"))
            }
        }
        return chosen
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

    /// Indexes the items of a source: new ones, those whose images or metadata changed, and those that lack local
    /// features. Of an entity with several images, those are read that changed.
    ///
    /// An image that cannot be read is reported, and the others are indexed; what is stored of it stays. An entity none
    /// of whose images can be read stays as it was. Memory does not grow with the number of items, except for reported
    /// problems and notes. The calling thread is kept until all is done; a task had better use `run(over:jobs:)`.
    /// - Parameters:
    ///   - jobs: the number of threads; all cores by default.
    ///   - progress: called after every commit.
    /// - Throws: ``CatalogError`` if the catalog cannot be written, and `CancellationError` if the task is cancelled.
    ///   What was committed stays.
    public func index(
        _ entries: IndexEntries, jobs: Int? = nil, timings: StageTimings? = nil,
        progress: (IndexReport) -> Void = { _ in }
    ) throws -> IndexReport {
        var pipeline = IndexPipeline(indexer: self, jobs: jobs ?? availableProcessorCount, timings: timings)
        try pipeline.begin()
        for entry in entries {
            switch entry {
            case .failure(let problem): pipeline.add(problem)
            case .success(let item): if try pipeline.add(item) { progress(pipeline.report) }
            }
        }
        while try pipeline.flush() { progress(pipeline.report) }
        return try pipeline.end()
    }
}

extension CatalogIndexer {
    /// Indexes the items of a sequence as they come: new ones, those whose images or metadata changed, and those that
    /// lack local features. An id that comes again replaces the one before.
    ///
    /// ```swift
    /// let (items, continuation) = AsyncStream.makeStream(of: IndexItem.self)
    /// for try await report in indexer.run(over: items) { show(report.processed) }
    /// ```
    ///
    /// An image that cannot be read is reported, and the others are indexed; what is stored of it stays.
    /// - Parameter jobs: the number of threads; those that have nothing else to do by default.
    /// - Returns: the run, which is done by iterating it or by ``IndexRun/report()``.
    public func run<Items: AsyncSequence>(over items: Items, jobs: Int? = nil) -> IndexRun<Items>
    where Items.Element == IndexItem {
        IndexRun(indexer: self, items: items, entry: { .success($0) }, jobs: jobs)
    }

    /// Indexes the images of a folder, or what a `.csv`, `.tsv` or `.jsonl` manifest names, without keeping the thread
    /// of the calling task.
    ///
    /// ```swift
    /// let indexer = try await CatalogIndexer.open(at: catalogFolder)
    /// let report = try await indexer.run(overFolder: pictures).report()
    /// ```
    ///
    /// What cannot be read is among the problems of the report.
    /// - Parameters:
    ///   - url: the folder, with the folders in it, or the manifest.
    ///   - jobs: the number of threads; those that have nothing else to do by default.
    /// - Throws: ``IndexProblem`` if there is no such folder or manifest, or none of a manifest can be read.
    public func run(overFolder url: URL, jobs: Int? = nil) throws -> IndexRun<IndexEntries> {
        try run(over: ImageSource.entries(at: url), jobs: jobs)
    }

    /// Indexes the entries of a source, as `index(_:jobs:timings:progress:)` does, without keeping the thread of the
    /// calling task.
    public func run(over entries: IndexEntries, jobs: Int? = nil) -> IndexRun<IndexEntries> {
        IndexRun(indexer: self, items: entries, entry: { $0 }, jobs: jobs)
    }

    /// The same for items that are there already; as `index(_:jobs:timings:progress:)`, without keeping the thread of
    /// the calling task.
    ///
    /// ```swift
    /// let report = try await indexer.run(over: items).report()
    /// ```
    public func run(over items: [IndexItem], jobs: Int? = nil) -> IndexRun<IndexEntries> {
        run(over: IndexEntries(items), jobs: jobs)
    }

    /// Adds an entity, or replaces it. It is searchable when this returns, in catalogs that are open too.
    ///
    /// - Throws: ``IndexProblem`` if one of its images cannot be used, ``CatalogError`` if the catalog cannot be
    ///   written, and `CancellationError`. The catalog is then unchanged, except with the reason `unsearchable`: the
    ///   entity is stored, and found by its picture once the derived files can be written.
    /// - Complexity: O(entities), since the derived files are written again: 0.1 s for 100,000. For many entities use
    ///   a run over items.
    public func upsert(_ item: IndexItem) async throws { try await changing { try store(item) } }

    /// Adds images to those of an entity, whose metadata stays. One that it has already, by its contents, is not added
    /// again.
    ///
    /// - Throws: as ``upsert(_:)``, and ``CatalogError`` with the reason `unknownEntities`.
    package func add(_ images: [IndexImage], to id: String) async throws {
        try await changing {
            guard let known = try store.knownEntities(forIDs: [id]).first else {
                throw folder.error(.unknownEntities([id]))
            }
            var item = IndexItem(CatalogEntity(id: id), images: images)
            item.addsImages = true
            let count = known.images.count + images.count
            if let reason = reader.problem(ofCount: count) { throw IndexProblem(subject: item.origin, reason: reason) }
            try store(item)
        }
    }

    /// Removes an image of an entity, and the entity with its last one. There need be none at the place.
    ///
    /// - Throws: ``CatalogError`` if the catalog cannot be written, and `CancellationError`.
    package func removeImage(at place: Int, of id: String) async throws {
        try await changing {
            try turn.withLock { _ in
                _ = try store.removeImages([(id, Set([place]))])
                try refreshDerivedFiles()
            }
        }
    }

    private func store(_ item: IndexItem) throws {
        var pipeline = IndexPipeline(indexer: self, jobs: nil, needsAllImages: true)
        _ = try pipeline.add(item)
        while try pipeline.flush() {}
        if let problem = pipeline.report.problems.first { throw problem }
        _ = try pipeline.end()
    }

    /// Replaces the metadata of an entity: type, title, subtitle, labels and attributes. Its images stay what was
    /// indexed.
    ///
    /// - Throws: ``CatalogError``, with the reason `unknownEntities` if the catalog has no entity of that id;
    ///   ``IndexProblem`` for text with a NUL character; and `CancellationError`.
    /// - Complexity: O(log entities).
    public func update(_ entity: CatalogEntity) async throws { try await update(entity.id) { $0 = entity } }

    /// Changes the metadata of an entity: type, title, subtitle, labels and attributes. What other tasks or processes
    /// changed before is kept.
    ///
    /// ```swift
    /// try await indexer.update("blue-train") { $0.labels.append("jazz") }
    /// ```
    ///
    /// - Parameter change: receives the entity as it is stored. Its id and images stay as they are.
    /// - Throws: what `change` throws; ``CatalogError``, with the reason `unknownEntities` if the catalog has no entity
    ///   of that id; ``IndexProblem`` for text with a NUL character; and `CancellationError`. The entity is as before
    ///   then.
    /// - Complexity: O(log entities).
    public func update(_ id: String, by change: @Sendable (inout CatalogEntity) throws -> Void) async throws {
        try await update([id], by: change)
    }

    /// Changes the metadata of several entities in one commit.
    ///
    /// - Parameter change: receives each entity as it is stored. Its id and images stay as they are.
    /// - Throws: what `change` throws; ``CatalogError``, with the reason `unknownEntities` if the catalog lacks one of
    ///   the entities; ``IndexProblem`` for text with a NUL character; and `CancellationError`. All entities are as
    ///   before then.
    /// - Complexity: O(ids · log entities).
    public func update(_ ids: [String], by change: @Sendable (inout CatalogEntity) throws -> Void) async throws {
        try await changing { try self.change(ids, by: change) }
    }

    /// The same on the calling thread, without a task that might keep the indexer for a moment after it is done.
    package func change(_ ids: [String], by change: (inout CatalogEntity) throws -> Void) throws {
        try turn.withLock { _ in try store.update(ids, by: change) }
    }

    /// Removes an entity. It is found no longer when this returns, in catalogs that are open too.
    ///
    /// - Throws: ``CatalogError``, with the reason `unknownEntities` if the catalog has no entity of that id; and
    ///   `CancellationError`.
    /// - Complexity: O(entities), as for ``upsert(_:)``.
    public func remove(_ id: String) async throws { try await changing { try removeAll([id]) } }

    /// Changes the catalog on the indexer's executor, after the asynchronous changes that came before.
    func changing<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result {
        try await changes.run { try await executor.compute { _ in try body() } }
    }
}
