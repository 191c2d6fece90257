import CMappedFiles
import Compute
import Digests
public import FeaturePrints
public import Foundation
public import Imaging
import Inference
import LocalFeatures
import Synchronization

#if DefaultModel
import DefaultModel
#endif

/// A folder of entities with precomputed prints, open for searching; or a catalog that a database elsewhere keeps
/// (``RemoteCatalog``).
///
/// Any number of processes may have a catalog open while one writes to it (``CatalogIndexer``). The prints are mapped
/// into memory, so opening is as fast for a million entities as for a thousand.
///
/// A catalog may be shared between tasks. Its asynchronous methods compute and read on an executor of the package's
/// own, and keep no thread of Swift's tasks. Alone, a search uses all cores; under load, each search has one, and
/// searches that are in flight together share one pass over the prints. A cancelled search ends after the stage that it
/// is in; the stages are a few milliseconds long, and a scan of any number of prints ends within two.
public final class Catalog: Sendable {
    /// The model of the catalog's prints. Queries are embedded with it.
    public let model: FeaturePrintModel

    private enum Source {
        case folder(LocalFiles)
        case remote(any RemoteCatalog, RemoteCounts)
    }

    private let source: Source
    /// Extracts the local features of queries; nil in a catalog without local features.
    let extractor: LocalFeatureExtractor?
    /// Where the catalog computes and reads.
    let executor: any TaskExecutor
    let scans: JoinedScans

    /// Opens the catalog in a folder. O(1), or O(catalog) if a derived file is missing, stale or damaged.
    ///
    /// Such a file is made again from the database, unless another process is writing to the catalog or the folder
    /// cannot be written. Then a file of an earlier state serves until there is the next one, and without any the
    /// contents are made in memory. A catalog that cannot be written is read as its database and its log are now.
    ///
    /// - Parameters:
    ///   - model: the model of the catalog's prints. Without it, the copy in the catalog's folder or the default model
    ///     is used.
    ///   - precision: the number format of that copy or of the default model; the fastest that the CPU supports, by
    ///     default. A given model keeps its own.
    ///   - executor: where searches compute, `ComputeExecutor.shared` by default. Parts of a search that can be split
    ///     are shared with threads of a `ComputeExecutor` that have nothing else to do.
    /// - Throws: ``CatalogError``; one reason is that the prints were made with another model.
    public init(
        at url: URL, model: FeaturePrintModel? = nil, precision: FeaturePrintModel.Precision? = nil,
        executor: (any TaskExecutor)? = nil
    ) throws {
        let folder = try CatalogFolder(checking: url)
        let store = try EntityStore.reading(folder)
        guard let identity = try store.model() else { throw folder.error(.missing) }
        self.model = try Self.model(of: folder, identity: identity, given: model, precision: precision)
        let localFeatureModel = try Self.localFeatureModel(of: store)
        extractor = localFeatureModel.map { SharedModels.extractor(for: $0) }
        let chosen = executor ?? ComputeExecutor.shared
        self.executor = chosen
        scans = JoinedScans(executor: chosen)
        source = .folder(
            try LocalFiles(store: store, model: self.model, localFeatureModel: localFeatureModel, scans: scans))
    }

    /// Opens a catalog that a database elsewhere keeps.
    ///
    /// It answers searches with images, with queries of them, and with prints, and pages of these. What else a catalog
    /// does reads the database of a folder, and throws ``CatalogError/Reason/remote``. The counts of entities and
    /// images are those of this moment: open the catalog again when others have been added.
    ///
    /// - Parameters:
    ///   - model: the model of the catalog's prints; the default model without it.
    ///   - precision: the number format of the default model; the fastest that the CPU supports, by default.
    ///   - executor: where searches compute, `ComputeExecutor.shared` by default.
    /// - Throws: ``CatalogError`` if the prints or the local features were made with another model; and what the
    ///   database throws.
    public init(
        _ remote: any RemoteCatalog, model: FeaturePrintModel? = nil, precision: FeaturePrintModel.Precision? = nil,
        executor: (any TaskExecutor)? = nil
    ) async throws {
        func error(_ reason: CatalogError.Reason) -> CatalogError { CatalogError(subject: remote.name, reason: reason) }
        let models = remote.models
        guard let chosen = try model ?? Self.defaultModel(precision: precision) else {
            throw error(.modelUnavailable(models.prints))
        }
        guard chosen.identity == models.prints else {
            throw error(.otherModel(catalog: models.prints, given: chosen.identity))
        }
        self.model = chosen
        extractor = try models.localFeatures.map { digest in
            guard let own = try Self.defaultLocalFeatureModel(), own.digest == digest else {
                throw error(.otherLocalFeatures)
            }
            return SharedModels.extractor(for: own)
        }
        self.executor = executor ?? ComputeExecutor.shared
        scans = JoinedScans(executor: self.executor)
        source = .remote(remote, try await remote.counts())
    }

    /// Opens the catalog in a folder without keeping the calling task's thread, which matters if a derived file has to
    /// be made. Parameters, errors and complexity are those of ``init(at:model:precision:executor:)``.
    public static func open(
        at url: URL, model: FeaturePrintModel? = nil, precision: FeaturePrintModel.Precision? = nil,
        executor: (any TaskExecutor)? = nil
    ) async throws -> Catalog {
        let chosen = executor ?? ComputeExecutor.shared
        return try await chosen.compute { _ in
            try Catalog(at: url, model: model, precision: precision, executor: chosen)
        }
    }

    /// Passes over the prints that served several searches so far.
    package var sharedPassCount: Int { scans.sharedPassCount.load(ordering: .relaxed) }

    /// Computes, or reads the database, on the catalog's executor.
    package func reading<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result {
        try await executor.compute { _ in try body() }
    }

    /// Runs a search of several steps on the catalog's executor.
    package func computing<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await executor.compute { _ in try await body() }
    }

    /// Whether the catalog has local features. Without them, queries are matched by their prints alone.
    public var hasLocalFeatures: Bool { extractor != nil }

    /// Decodes no more of a large JPEG query than a search at ``SearchEffort/standard`` or more needs.
    public var decodingOptions: DecodingOptions { decodingOptions(for: .standard) }

    /// Decodes no more of a large JPEG query than a search needs.
    ///
    /// Prints need a smaller image than local features: a search by prints alone decodes a photograph of 12 megapixels
    /// at an eighth of its size, others decode it at half of it. Both sides of what is decoded keep at least 1.5 times
    /// as many pixels as the network's input. With more, recall@1 on the validation queries differs by half a point at
    /// most, in either direction. Images with a side above 5,000 pixels are searched in tiles, and keep 2,500 of it.
    /// - Parameter effort: that of the search.
    public func decodingOptions(for effort: SearchEffort) -> DecodingOptions {
        guard hasLocalFeatures, effort != .prints else { return model.decodingOptions }
        let side = LocalFeatureExtractor.Detail.query.longSide
        return DecodingOptions(
            neededSize: (max(model.inputSize.width, side), max(model.inputSize.height, side)),
            largeImages: (above: ImageTiles.largeSide, keptLongSide: ImageTiles.keptLongSide))
    }

    /// The number of entities.
    public var count: Int {
        switch source {
        case .folder(let files): (try? files.matrix.current().entityCount) ?? files.matrix.header.shape.total
        case .remote(_, let counts): counts.entities
        }
    }

    /// What searches read: the newest state that there are files of.
    func state() throws -> any CatalogState {
        switch source {
        case .folder(let files): try files.state()
        case .remote(let remote, let counts): RemoteState(remote, counts: counts, model: model)
        }
    }

    /// Whether a database elsewhere keeps the catalog.
    public var isRemote: Bool {
        switch source {
        case .folder: false
        case .remote: true
        }
    }

    /// The files of a catalog in a folder.
    var files: LocalFiles {
        get throws(CatalogError) {
            switch source {
            case .folder(let files): return files
            case .remote(let remote, _): throw CatalogError(subject: remote.name, reason: .remote)
            }
        }
    }

    /// The database of a catalog in a folder.
    var store: EntityStore { get throws(CatalogError) { try files.store } }

    var folder: CatalogFolder { get throws(CatalogError) { try files.store.folder } }

    /// Lets a search throw if another program truncates a derived file of the catalog meanwhile.
    ///
    /// Catalogs map their derived files into memory. The package replaces these by renaming; another program might
    /// truncate one in place, as copying over it does. Reading what is missing raises SIGBUS, which ends the process.
    /// After this call the search throws ``CatalogError`` instead, and the next one opens the file again, makes it
    /// again, or makes its contents in memory. The same happens if the disk cannot read a page.
    ///
    /// ```swift
    /// Catalog.handleTruncatedFiles()
    /// ```
    ///
    /// Call it once, at the start of a program. It installs a signal handler for the whole process, so a library should
    /// leave it to the program. Up to 4,096 open derived files are covered. Every other SIGBUS goes to the handler that
    /// was installed before.
    ///
    /// - Returns: false if the system refuses the handler.
    @discardableResult
    public static func handleTruncatedFiles() -> Bool { lk_handle_missing_pages() }
}

extension Catalog {
    static func model(
        of folder: CatalogFolder, identity: ModelIdentity, given: FeaturePrintModel?,
        precision: FeaturePrintModel.Precision?
    ) throws -> FeaturePrintModel {
        if let given {
            guard given.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: given.identity))
            }
            return given
        }
        if !FileStamp.isMissing(folder.model.path) {
            let kept = try SharedModels.model(contentsOf: folder.model, precision: precision)
            guard kept.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: kept.identity))
            }
            return kept
        }
        guard let own = try defaultModel(precision: precision), own.identity == identity else {
            throw folder.error(.modelUnavailable(identity))
        }
        return own
    }

    /// The local-feature model of a catalog; nil if the catalog has no local features.
    ///
    /// - Throws: ``CatalogError`` if the features were made with another model than the default one.
    static func localFeatureModel(of store: EntityStore) throws -> LocalFeatureModel? {
        guard let digest = try store.localFeatureModelDigest() else { return nil }
        guard let model = try defaultLocalFeatureModel(), model.digest == digest else {
            throw store.folder.error(.otherLocalFeatures)
        }
        return model
    }

    /// The default local features; nil if the package is built without the trait `DefaultModel`.
    static func defaultLocalFeatureModel() throws -> LocalFeatureModel? {
        #if DefaultModel
        try .default()
        #else
        nil
        #endif
    }

    /// Whether a model is the default one, which catalogs need no copy of. Compares files; the default model is not
    /// loaded.
    static func isDefault(_ model: FeaturePrintModel) -> Bool {
        #if DefaultModel
        guard let url = try? DefaultModelFile.prints.find(),
            FileStamp(path: url.path)?.size == Int64(model.fileData.count)
        else { return false }
        return (try? Data(contentsOf: url, options: .mappedIfSafe)) == model.fileData
        #else
        false
        #endif
    }

    /// The default model; nil if the package is built without the trait `DefaultModel`.
    static func defaultModel(precision: FeaturePrintModel.Precision?) throws -> FeaturePrintModel? {
        #if DefaultModel
        try .default(precision: precision)
        #else
        nil
        #endif
    }
}

/// What the catalogs and indexers of a process share: a model is the same for all of them, and keeps the memory of its
/// passes.
enum SharedModels {
    private struct Key: Hashable {
        let digest: Data
        let precision: FeaturePrintModel.Precision?
    }

    private struct Entry {
        weak var model: FeaturePrintModel?
    }

    private static let models = Mutex<[Key: Entry]>([:])
    private static let extractor = Mutex<LocalFeatureExtractor?>(nil)

    /// The model of a file: the one that is in use already, if another file with the same bytes was read before.
    /// O(file).
    static func model(
        contentsOf url: URL, precision: FeaturePrintModel.Precision?
    ) throws(ModelError) -> FeaturePrintModel {
        let data = try contents(ofModelFile: url)
        let key = Key(digest: SHA256.hash(data), precision: precision)
        if let known = models.withLock({ $0[key]?.model }) { return known }
        let model = try FeaturePrintModel(data, named: url.path, precision: precision)
        return models.withLock { models in
            // Another thread may have read it meanwhile.
            if let known = models[key]?.model { return known }
            models = models.filter { $0.value.model != nil }
            models[key] = Entry(model: model)
            return model
        }
    }

    /// The extractor for a model. It keeps the memory of each thread that extracts, 60 MB for large images.
    static func extractor(for model: LocalFeatureModel) -> LocalFeatureExtractor {
        extractor.withLock { extractor in
            if let extractor, extractor.model === model { return extractor }
            let new = LocalFeatureExtractor(model)
            extractor = new
            return new
        }
    }
}
