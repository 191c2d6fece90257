import Compute
import FeaturePrints
import Foundation
import GRDB

extension Catalog {
    /// Writes a copy of the catalog as it is at one moment, while it is searched and changed: its database, and its
    /// model if that is not the default one. The derived files are made when the copy is first opened.
    ///
    /// - Parameter url: the folder of the copy, which is made.
    /// - Throws: ``CatalogError`` if the folder exists or cannot be written, or another catalog has taken the place of
    ///   this one, and `CancellationError`. An unfinished copy has no database under its name.
    /// - Complexity: O(catalog).
    public func copy(to url: URL) async throws {
        try await executor.compute { cancellation in
            let copy = CatalogFolder(url: url)
            do {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            } catch {
                throw copy.error(.unwritable((error as NSError).localizedDescription))
            }
            // Not the file that has its name now: another catalog may have taken the place of this one.
            if !Self.isDefault(model) || !FileStamp.isMissing(folder.model.path) {
                do {
                    try model.fileData.write(to: copy.model, options: .atomic)
                } catch {
                    throw copy.error(.unwritable((error as NSError).localizedDescription))
                }
                try copy.synchronize(copy.model.path)
            }
            let identity = try store.copy(to: copy) { try cancellation.check() }
            guard identity == model.identity else {
                throw folder.error(identity.map { .otherModel(catalog: $0, given: model.identity) } ?? .missing)
            }
            try copy.publishDatabase()
        }
    }
}
