public import FeaturePrints
import Foundation
import LocalFeatures
import VectorSearch

/// Size and provenance of a catalog.
public struct CatalogInfo: Sendable, Hashable, Codable {
    /// The number of entities.
    public let entityCount: Int
    /// The number of images of all entities.
    public let imageCount: Int
    /// The number of components of a print.
    public let dimension: Int
    /// Incremented with every change of entities or prints.
    public let revision: Int64
    /// Incremented with every change of metadata alone.
    public let metadataRevision: Int64
    /// The model of the prints.
    public let model: ModelIdentity
    /// Entities per type; an empty name for those without one.
    public let typeCounts: [Facet.Value]
    /// Entities with local features; the others are found by their prints alone.
    public let entitiesWithLocalFeatures: Int
    /// The version of the package that last wrote to the catalog; nil for catalogs that do not record it.
    public let writtenBy: String?
    /// The size of `catalog.sqlite` in bytes, without SQLite's log.
    public let databaseBytes: Int64
    /// The size of `prints.matrix` in bytes.
    public let matrixBytes: Int64
    /// The file of inverted lists; 0 in a catalog without local features.
    public let invertedListBytes: Int64
    /// How the nearest prints are found.
    public let printIndex: PrintIndexKind
    /// The lists of the inverted file of the prints; nil if there is none of the newest state.
    public let printListCount: Int?
    /// The size of the inverted file of the prints in bytes; 0 if there is none.
    public let printIndexBytes: Int64

    /// The parts in the order of the properties.
    public init(
        entityCount: Int, imageCount: Int, dimension: Int, revision: Int64, metadataRevision: Int64,
        model: ModelIdentity, typeCounts: [Facet.Value], entitiesWithLocalFeatures: Int, writtenBy: String?,
        databaseBytes: Int64, matrixBytes: Int64, invertedListBytes: Int64, printIndex: PrintIndexKind,
        printListCount: Int?, printIndexBytes: Int64
    ) {
        (self.entityCount, self.imageCount, self.dimension) = (entityCount, imageCount, dimension)
        (self.revision, self.metadataRevision, self.model) = (revision, metadataRevision, model)
        (self.typeCounts, self.entitiesWithLocalFeatures) = (typeCounts, entitiesWithLocalFeatures)
        (self.writtenBy, self.databaseBytes, self.matrixBytes) = (writtenBy, databaseBytes, matrixBytes)
        (self.invertedListBytes, self.printIndex) = (invertedListBytes, printIndex)
        (self.printListCount, self.printIndexBytes) = (printListCount, printIndexBytes)
    }
}
