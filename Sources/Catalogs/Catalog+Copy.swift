import Compute
import Foundation
import GRDB

extension Catalog {
    /// Writes a copy of the catalog as it is at one moment, while it is searched and changed: its database, and its
    /// model if that is not the default one. The derived files are made when the copy is first opened.
    ///
    /// - Parameter url: the folder of the copy, which is made.
    /// - Throws: ``CatalogError`` if the folder exists or cannot be written, and `CancellationError`. An unfinished
    ///   copy has no database under its name.
    /// - Complexity: O(catalog).
    public func copy(to url: URL) async throws {
        try await executor.compute { cancellation in
            let copy = CatalogFolder(url: url)
            do {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            } catch {
                throw copy.error(.unwritable((error as NSError).localizedDescription))
            }
            do {
                try FileManager.default.copyItem(at: folder.model, to: copy.model)
            } catch let error as CocoaError where error.code == .fileNoSuchFile || error.code == .fileReadNoSuchFile {
                // The default model is not kept with a catalog.
            } catch {
                throw copy.error(.unwritable((error as NSError).localizedDescription))
            }
            try copy.synchronize(copy.model.path)
            // Errors of cancellation pass as they are.
            let outcome: Result<Void, any Error> = try copy.mappingErrors {
                do {
                    return .success(try database.reader.copyDatabase(to: url) { try cancellation.check() })
                } catch let error as CancellationError {
                    return .failure(error)
                }
            }
            try outcome.get()
            try copy.publishDatabase()
        }
    }
}

extension CatalogReader {
    /// Writes one state of the database to the unfinished database of a folder.
    ///
    /// - Parameter progress: called after each step. What it throws ends the copy.
    package func copyDatabase(to url: URL, pagesPerStep: CInt = 1024, progress: @escaping () throws -> Void) throws {
        let copy = CatalogFolder(url: url)
        try withConnection { connection in
            // A second backup to the same file would go through a log.
            copy.removeUnfinishedDatabase()
            let queue = try DatabaseQueue(path: copy.unfinishedDatabase.path)
            try connection.backup(to: queue, pagesPerStep: pagesPerStep) { _ in try progress() }
            try queue.close()
        }
    }
}
