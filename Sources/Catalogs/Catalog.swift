import CMappedFiles
import CatalogEntities
public import CatalogSearch
import CatalogStore
import Compute
public import FeaturePrints
public import Foundation
import LocalFeatures
import Synchronization

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
public final class Catalog: SearchableCatalog {
    /// What its searches compute with.
    public let engine: SearchEngine

    private enum Source {
        case folder(LocalFiles)
        case remote(any RemoteCatalog, RemoteCounts)
    }

    private let source: Source

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
        let model = try CatalogModels.model(of: folder, identity: identity, given: model, precision: precision)
        let localFeatureModel = try CatalogModels.localFeatureModel(of: store)
        let files = try LocalFiles(store: store, model: model, localFeatureModel: localFeatureModel)
        engine = SearchEngine(
            model: model, extractor: localFeatureModel.map { SharedModels.extractor(for: $0) }, executor: executor
        ) { try LocalState(files, scans: $0) }
        source = .folder(files)
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
        guard let chosen = try model ?? CatalogModels.defaultModel(precision: precision) else {
            throw error(.modelUnavailable(models.prints))
        }
        guard chosen.identity == models.prints else {
            throw error(.otherModel(catalog: models.prints, given: chosen.identity))
        }
        let extractor = try models.localFeatures.map { digest in
            guard let own = try CatalogModels.defaultLocalFeatureModel(), own.digest == digest else {
                throw error(.otherLocalFeatures)
            }
            return SharedModels.extractor(for: own)
        }
        let counts = try await remote.counts()
        engine = SearchEngine(model: chosen, extractor: extractor, executor: executor) { _ in
            RemoteState(remote, counts: counts, model: chosen)
        }
        source = .remote(remote, counts)
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

    /// The number of entities.
    public var count: Int {
        switch source {
        case .folder(let files): files.entityCount
        case .remote(_, let counts): counts.entities
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

    /// The newest state of a catalog in a folder.
    func localState() throws -> LocalState { try LocalState(files, scans: scans) }

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
