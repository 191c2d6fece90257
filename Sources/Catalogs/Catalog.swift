import FeaturePrints
import Foundation
import Synchronization

/// A folder of entities with precomputed prints, open for searching.
///
/// Any number of processes may have a catalog open while one writes to it
/// (``CatalogIndexer``). The prints are mapped into memory, so opening takes the same time for a
/// thousand entities as for a million. A catalog may be shared between tasks.
public final class Catalog: Sendable {
    /// What made the catalog's prints and makes those of queries.
    public let model: FeaturePrintModel

    let folder: CatalogFolder
    let database: CatalogDatabase
    let mapped: Mutex<MappedPrintMatrix>
    let filtered = Mutex<FilteredRows?>(nil)

    /// Opens the catalog in a folder. O(1), unless the file with the print matrix is missing, stale
    /// or damaged and has to be made anew from the database, which is O(prints).
    ///
    /// - Parameter model: the model of the catalog's prints; without one, the copy that the catalog
    ///   keeps or the package's own.
    /// - Throws: ``CatalogError``, among others when the prints were made with another model.
    public init(at url: URL, model: FeaturePrintModel? = nil) throws {
        folder = CatalogFolder(url: url)
        database = try CatalogDatabase.reading(folder)
        let (folder, database) = (folder, database)
        guard let identity = try folder.attempt({ try database.reader.read(CatalogDatabase.model) }) else {
            throw folder.error(.missing)
        }
        self.model = try Self.model(of: folder, identity: identity, given: model)
        mapped = Mutex(try Self.current(database, model: self.model))
    }

    /// How many entities can be found.
    public var count: Int { currentMatrix().header.rowCount }
}
