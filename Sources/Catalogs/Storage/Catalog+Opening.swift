import FeaturePrints
import Foundation
import LocalFeatures

extension Catalog {
    static func model(
        of folder: CatalogFolder, identity: ModelIdentity, given: FeaturePrintModel?
    ) throws -> FeaturePrintModel {
        if let given {
            guard given.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: given.identity))
            }
            return given
        }
        if FileManager.default.fileExists(atPath: folder.model.path) {
            let kept = try FeaturePrintModel(contentsOf: folder.model)
            guard kept.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: kept.identity))
            }
            return kept
        }
        guard let own = try defaultModel(), own.identity == identity else {
            throw folder.error(.modelUnavailable(identity))
        }
        return own
    }

    /// The matrix file if it is of the database's revision, otherwise a rebuilt one.
    static func current(_ database: CatalogDatabase, model: FeaturePrintModel) throws -> MappedPrintMatrix {
        let folder = database.folder
        func usable() throws(CatalogError) -> MappedPrintMatrix? {
            let (revision, id) = try folder.mappingErrors {
                try database.reader.read { (try CatalogDatabase.revision($0), try Setting.catalogID.read($0)) }
            }
            guard let file = MappedPrintMatrix(folder.matrix), file.header.revision == revision,
                file.header.catalogID.uuidString == id,
                file.header.modelDigest == Data(hexadecimal: model.identity.digest),
                file.header.dimension == model.dimension
            else { return nil }
            return file
        }
        if let file = try usable() { return file }
        guard folder.isWritable else {
            throw folder.error(.unwritable("its print matrix is missing or stale and has to be rebuilt"))
        }
        try PrintMatrixWriter(database: database).write()
        // A writer may have committed since; what was just written is complete anyway.
        guard let file = try usable() ?? MappedPrintMatrix(folder.matrix), file.header.dimension == model.dimension
        else {
            throw folder.error(.damaged("its print matrix cannot be read back"))
        }
        return file
    }

    /// The local-feature model of a catalog; nil if the catalog has no local features.
    ///
    /// - Throws: ``CatalogError`` if the features were made with another model than the default one.
    static func localFeatureModel(of database: CatalogDatabase) throws -> LocalFeatureModel? {
        let digest = try database.folder.mappingErrors { try database.reader.read(Setting.localFeatureModel.read) }
        guard let digest else { return nil }
        guard let model = try defaultLocalFeatureModel(), model.digest == digest else {
            throw database.folder.error(.otherLocalFeatures)
        }
        return model
    }

    /// The inverted lists if they are of the database's revision, otherwise rebuilt ones.
    static func currentLists(_ database: CatalogDatabase, model: LocalFeatureModel) throws -> MappedInvertedLists {
        let folder = database.folder
        func usable() throws(CatalogError) -> MappedInvertedLists? {
            let (revision, id) = try folder.mappingErrors {
                try database.reader.read { (try CatalogDatabase.revision($0), try Setting.catalogID.read($0)) }
            }
            guard let file = MappedInvertedLists(folder.invertedLists), file.header.revision == revision,
                file.header.catalogID.uuidString == id, file.header.modelDigest == Data(hexadecimal: model.digest)
            else { return nil }
            return file
        }
        if let file = try usable() { return file }
        guard folder.isWritable else {
            throw folder.error(.unwritable("its inverted lists are missing or stale and have to be rebuilt"))
        }
        try InvertedListsWriter(database: database, model: model).write()
        guard let file = try usable() ?? MappedInvertedLists(folder.invertedLists) else {
            throw folder.error(.damaged("its inverted lists cannot be read back"))
        }
        return file
    }

    /// The inverted lists at the path now; a writer may have replaced them.
    func currentLists() -> MappedInvertedLists? {
        mappedLists.withLock { mapped in
            if let current = mapped, current.isReplaced(at: folder.invertedLists),
                let newer = MappedInvertedLists(folder.invertedLists),
                newer.header.catalogID == current.header.catalogID,
                newer.header.modelDigest == current.header.modelDigest
            {
                mapped = newer
            }
            return mapped
        }
    }

    /// The matrix at the path now; a writer may have replaced it.
    func currentMatrix() -> MappedPrintMatrix {
        mapped.withLock { mapped in
            if mapped.isReplaced(at: folder.matrix), let newer = MappedPrintMatrix(folder.matrix),
                newer.header.catalogID == mapped.header.catalogID, newer.header.modelDigest == mapped.header.modelDigest
            {
                mapped = newer
            }
            return mapped
        }
    }
}
