import FeaturePrints
import Foundation
import LocalFeatures

extension Catalog {
    static func model(
        of folder: CatalogFolder, identity: ModelIdentity, given: FeaturePrintModel?,
        precision: FeaturePrintModel.Precision?
    ) throws -> FeaturePrintModel {
        if let given {
            guard given.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: given.identity))
            }
            return given
        }
        if !FileStamp.isMissing(folder.model.path) {
            let kept = try FeaturePrintModel(contentsOf: folder.model, precision: precision)
            guard kept.identity == identity else {
                throw folder.error(.otherModel(catalog: identity, given: kept.identity))
            }
            return kept
        }
        guard let own = try defaultModel(precision: precision), own.identity == identity else {
            throw folder.error(.modelUnavailable(identity))
        }
        return own
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
}
