import CatalogEntities
package import FeaturePrints
import Foundation

extension EntityStore {
    /// Makes the derived files that are of an earlier state.
    package func refreshDerivedFiles(model: FeaturePrintModel) throws {
        try DerivedFileStore<MappedPrintMatrix>(entities: self, source: model).refresh()
        try refreshInvertedFile(model: model)
        if let model = try CatalogModels.localFeatureModel(of: self) {
            try DerivedFileStore<MappedInvertedLists>(entities: self, source: model).refresh()
        }
        // Nothing is made from earlier states any more.
        try forgetEarlierRevisions()
        checkpoint()
    }

    /// Makes, updates or removes the inverted file. The matrix is of the newest state.
    private func refreshInvertedFile(model: FeaturePrintModel) throws {
        let file = DerivedFileStore<MappedInvertedFile>(entities: self, source: model)
        let isWanted: Bool
        switch try printIndex() {
        case .exact: isWanted = false
        case .invertedFile: isWanted = true
        case .automatic:
            isWanted = try (MappedPrintMatrix(folder.matrix)?.rowCount ?? 0) >= PrintIndexKind.automaticCount
        }
        if isWanted { try file.refresh() } else { unlink(file.url.path) }
    }
}
