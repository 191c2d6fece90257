import Compute
public import FeaturePrints
public import Imaging
package import LocalFeatures
import Synchronization

/// A catalog that is searched with images, wherever it is kept.
///
/// Its asynchronous methods compute and read on an executor of the package's own, and keep no thread of Swift's tasks.
/// Alone, a search uses all cores; under load, each search has one, and searches that are in flight together share one
/// pass over the prints. A cancelled search ends after the stage that it is in; the stages are a few milliseconds long,
/// and a scan of any number of prints ends within two.
public protocol SearchableCatalog: AnyObject, Sendable {
    /// What its searches compute with.
    var engine: SearchEngine { get }
    /// The number of entities.
    var count: Int { get }
}

/// What the searches of a catalog compute with, and how they read it.
public struct SearchEngine: Sendable {
    fileprivate let model: FeaturePrintModel
    /// Extracts the local features of queries; nil in a catalog without local features.
    fileprivate let extractor: LocalFeatureExtractor?
    /// Where the catalog computes and reads.
    fileprivate let executor: any TaskExecutor
    fileprivate let scans: JoinedScans
    fileprivate let state: @Sendable (JoinedScans) throws -> any CatalogState

    /// - Parameters:
    ///   - executor: `ComputeExecutor.shared` by default.
    ///   - state: what searches read: the newest state of the catalog.
    package init(
        model: FeaturePrintModel, extractor: LocalFeatureExtractor?, executor: (any TaskExecutor)?,
        state: @escaping @Sendable (JoinedScans) throws -> any CatalogState
    ) {
        (self.model, self.extractor, self.state) = (model, extractor, state)
        self.executor = executor ?? ComputeExecutor.shared
        scans = JoinedScans(executor: self.executor)
    }
}

extension SearchableCatalog {
    /// The model of the catalog's prints. Queries are embedded with it.
    public var model: FeaturePrintModel { engine.model }
    package var extractor: LocalFeatureExtractor? { engine.extractor }
    package var executor: any TaskExecutor { engine.executor }
    package var scans: JoinedScans { engine.scans }

    /// What searches read: the newest state of the catalog.
    package func state() throws -> any CatalogState { try engine.state(scans) }

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
            neededSize: (max(model.neededSize.width, side), max(model.neededSize.height, side)),
            largeImages: (above: ImageTiles.largeSide, keptLongSide: ImageTiles.keptLongSide))
    }
}
