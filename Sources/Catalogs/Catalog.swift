import CMappedFiles
import CatalogEntities
public import CatalogSearch
import CatalogStore
import Compute
public import FeaturePrints
public import Foundation
import LocalFeatures
import Synchronization

/// A folder of entities with precomputed prints, open for searching.
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

    let files: LocalFiles

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
        files = try LocalFiles(store: store, model: model, localFeatureModel: localFeatureModel)
        engine = SearchEngine(
            model: model, extractor: localFeatureModel.map { SharedModels.extractor(for: $0) }, executor: executor
        ) { [files] in try LocalState(files, scans: $0) }
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
    public var count: Int { files.entityCount }

    var store: EntityStore { files.store }
    var folder: CatalogFolder { store.folder }

    /// The newest state that there are files of.
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
