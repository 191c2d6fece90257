import FeaturePrints
import Foundation
import Synchronization

/// A folder of entities with precomputed prints, open for searching.
///
/// Any number of processes may have a catalog open while one writes to it (``CatalogIndexer``). The prints are mapped
/// into memory, so opening is as fast for a million entities as for a thousand. A catalog may be shared between tasks.
public final class Catalog: Sendable {
    /// The model of the catalog's prints. Queries are embedded with it.
    public let model: FeaturePrintModel

    let folder: CatalogFolder
    let database: CatalogDatabase
    let mapped: Mutex<MappedPrintMatrix>
    let filtered = Mutex<FilteredRows?>(nil)

    /// Opens the catalog in a folder. O(1), or O(prints) if the print matrix is missing, stale or damaged and has to be
    /// rebuilt from the database.
    ///
    /// - Parameter model: the model of the catalog's prints. Without it, the copy in the catalog's folder or the
    ///   default model is used.
    /// - Throws: ``CatalogError``; one reason is that the prints were made with another model.
    public init(at url: URL, model: FeaturePrintModel? = nil) throws {
        folder = CatalogFolder(url: url)
        database = try CatalogDatabase.reading(folder)
        let (folder, database) = (folder, database)
        guard let identity = try folder.mappingErrors({ try database.reader.read(CatalogDatabase.model) }) else {
            throw folder.error(.missing)
        }
        self.model = try Self.model(of: folder, identity: identity, given: model)
        mapped = Mutex(try Self.current(database, model: self.model))
    }

    /// The number of entities.
    public var count: Int { currentMatrix().header.rowCount }
}
