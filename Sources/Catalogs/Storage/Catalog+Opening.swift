import FeaturePrints
import Foundation

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
