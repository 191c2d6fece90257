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

extension Catalog {
    /// Size and provenance of the catalog. O(entities).
    public var info: CatalogInfo {
        get async throws { try await reading { try currentInfo() } }
    }

    private func currentInfo() throws -> CatalogInfo {
        let state = try files.state()
        let (folder, dimension) = (try folder, state.matrix.dimension)
        let info = try store.info()
        func size(_ url: URL) -> Int64 { FileStamp(path: url.path)?.size ?? 0 }
        return CatalogInfo(
            entityCount: info.entityCount, imageCount: info.imageCount, dimension: dimension, revision: info.revision,
            metadataRevision: info.metadataRevision, model: model.identity, typeCounts: info.typeCounts,
            entitiesWithLocalFeatures: info.entitiesWithLocalFeatures, writtenBy: info.writtenBy,
            databaseBytes: size(folder.database), matrixBytes: size(folder.matrix),
            invertedListBytes: size(folder.invertedLists), printIndex: try store.printIndex(),
            printListCount: state.index?.listCount, printIndexBytes: size(folder.invertedFile))
    }

    /// Reads everything that the catalog stores, and returns a description of each problem; an empty array for an
    /// intact catalog. O(catalog).
    ///
    /// The database is checked against the digests that were stored with each image, and each derived file against its
    /// own digest and, if the database has no problem, against the database. A damaged derived file is reported. It is
    /// also rebuilt, unless another process is writing to the catalog or the folder cannot be written. The groups of
    /// duplicates and the inverted file are checked against their digests alone, and removed if they are damaged.
    ///
    /// - Throws: ``CatalogError`` if the catalog cannot be read or a file cannot be rebuilt, and `CancellationError`.
    public func verify() async throws -> [String] { try await reading { try problems() } }

    private func problems() throws -> [String] {
        let problems = try store.problems(
            dimension: model.dimension, wordCount: files.lists?.store.source.wordCount)
        return try problems + files.matrix.store.problems(comparing: problems.isEmpty)
            + (files.lists?.store.problems(comparing: problems.isEmpty) ?? [])
            + keptDuplicates.removeIfDamaged { $0.groups != nil }
            + DerivedFileStore<MappedInvertedFile>(entities: store, source: model).removeIfDamaged {
                $0.contents.isIntact
            }
    }
}

extension DerivedFileStore {
    /// The problem of the file, which is made anew if that is possible; none for a file of an earlier state.
    ///
    /// - Parameter isComparing: whether to compare it with the database.
    fileprivate func problems(comparing isComparing: Bool) throws -> [String] {
        guard let problem = try problem(comparing: isComparing) else { return [] }
        let name = File.format.name
        guard folder.isWritable, let lock = DerivedFilesLock(ifFreeIn: folder) else {
            return ["\(name): \(problem); the next index run rebuilds it"]
        }
        defer { lock.release() }
        try rebuild()
        return ["\(name): \(problem); it was rebuilt"]
    }

    private func problem(comparing isComparing: Bool) throws -> String? {
        guard let file = try mapped() else { return "is missing or damaged" }
        guard file.contents.isIntact else { return "its contents do not match its digest" }
        guard let usable = try usable() else { return "is not this catalog’s" }
        // Another file may be there by now.
        guard isComparing, usable.isCurrent, usable.file.header == file.header else { return nil }
        guard let expected = try expectedDigest(at: file.header.revision) else { return nil }
        return expected == file.header.contentDigest ? nil : "does not match the database"
    }
}

extension DerivedFileStore {
    /// Removes a file that can be done without if it is damaged.
    ///
    /// - Returns: a sentence for a damaged file.
    fileprivate func removeIfDamaged(unless isIntact: (File) -> Bool) throws -> [String] {
        guard !FileStamp.isMissing(url.path), try mapped().map(isIntact) != true else { return [] }
        let lock = folder.isWritable ? DerivedFilesLock(ifFreeIn: folder) : nil
        defer { lock?.release() }
        let isRemoved = lock != nil && unlink(url.path) == 0
        return ["\(File.format.name): is damaged; \(isRemoved ? "it was removed" : "it is not used")"]
    }
}
