import FeaturePrints
import Foundation
import Imaging
import LocalFeatures
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
    /// Nil in a catalog without local features.
    let mappedLists: Mutex<MappedInvertedLists?>
    /// Extracts the local features of queries; nil in a catalog without local features.
    let extractor: LocalFeatureExtractor?
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
        let localFeatureModel = try Self.localFeatureModel(of: database)
        extractor = localFeatureModel.map { LocalFeatureExtractor($0) }
        mappedLists = Mutex(try localFeatureModel.map { try Self.currentLists(database, model: $0) })
    }

    /// Whether the catalog has local features. Without them, queries are matched by their prints alone.
    public var hasLocalFeatures: Bool { extractor != nil }

    /// Decodes no more of a large JPEG query than this catalog needs.
    public var decodingOptions: DecodingOptions {
        guard hasLocalFeatures else { return model.decodingOptions }
        let side = LocalFeatureExtractor.Detail.query.longSide
        return DecodingOptions(neededSize: (max(model.inputSize.width, side), max(model.inputSize.height, side)))
    }

    /// The number of entities.
    public var count: Int { currentMatrix().header.rowCount }
}
