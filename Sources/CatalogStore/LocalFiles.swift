package import CatalogEntities
package import FeaturePrints
package import LocalFeatures
import Synchronization
package import VectorSearch

/// The files of a catalog in a folder that searches read: the database, the matrix of prints and the inverted lists.
package final class LocalFiles: Sendable {
    package let store: EntityStore
    let model: FeaturePrintModel
    /// Nil in a catalog without local features.
    let localFeatureModel: LocalFeatureModel?
    let matrix: OpenDerivedFile<MappedPrintMatrix>
    /// Nil in a catalog without local features.
    let lists: OpenDerivedFile<MappedInvertedLists>?
    private let invertedFile: OpenInvertedFile
    private let filtered = Mutex<FilteredRows?>(nil)

    package init(store: EntityStore, model: FeaturePrintModel, localFeatureModel: LocalFeatureModel?) throws {
        (self.store, self.model, self.localFeatureModel) = (store, model, localFeatureModel)
        invertedFile = OpenInvertedFile(DerivedFileStore(entities: store, source: model))
        matrix = try OpenDerivedFile(DerivedFileStore(entities: store, source: model))
        lists = try localFeatureModel.map { try OpenDerivedFile(DerivedFileStore(entities: store, source: $0)) }
    }

    /// The newest state that there are files of.
    package func state() throws -> MappedState {
        let matrix = try matrix.current()
        let invertedFile = invertedFile.current()
        return MappedState(
            folder: store.folder, matrix: matrix, lists: try lists?.current(), invertedFile: invertedFile,
            index: invertedFile?.index(of: matrix))
    }

    /// The number of entities.
    package var entityCount: Int { (try? matrix.current().entityCount) ?? matrix.header.shape.total }

    /// The rows of the matrix that a condition selects, kept from one search to the next: the pages of a search share
    /// theirs.
    private struct FilteredRows: Sendable {
        let condition: Condition
        let revision: CatalogRevision
        let metadataRevision: Int64
        let rows: [Range<Int>]
    }

    /// The rows of the matrix whose entities satisfy the condition. O(entities) for another condition than the last
    /// one.
    package func rows(of matrix: MappedPrintMatrix, where condition: Condition) throws -> [Range<Int>] {
        let kept = filtered.withLock { $0 }.flatMap { kept in
            kept.condition.isIdentical(to: condition) && kept.revision == matrix.header.revision ? kept : nil
        }
        let (metadataRevision, entities) = try store.keys(where: condition, unlessAt: kept?.metadataRevision)
        guard let entities else { return kept?.rows ?? [] }
        let rows = matrix.rows(ofEntities: entities)
        try matrix.checkIsUnchanged(in: store.folder)
        filtered.withLock {
            $0 = FilteredRows(
                condition: condition, revision: matrix.header.revision, metadataRevision: metadataRevision, rows: rows)
        }
        return rows
    }
}

/// The files of one state of a catalog.
package struct MappedState: Sendable {
    fileprivate let folder: CatalogFolder
    package let matrix: MappedPrintMatrix
    /// Nil in a catalog without local features.
    package let lists: MappedInvertedLists?
    fileprivate let invertedFile: MappedInvertedFile?
    /// Nil in a catalog without an inverted file of this state.
    package let index: InvertedFileIndex?

    /// - Throws: ``CatalogError`` if another program changed one of the files.
    package func check() throws {
        try matrix.checkIsUnchanged(in: folder)
        try lists?.checkIsUnchanged(in: folder)
        try invertedFile?.checkIsUnchanged(in: folder)
    }
}
