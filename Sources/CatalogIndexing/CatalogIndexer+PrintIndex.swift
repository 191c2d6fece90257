public import CatalogEntities
import CatalogStore
import Foundation
import Synchronization

extension CatalogIndexer {
    /// Chooses how the nearest prints are found, and makes or removes the inverted file.
    ///
    /// The choice is kept with the catalog. Each index run brings the file up to date: what did not change is copied,
    /// and the centroids are made anew when more than a sixteenth of the images are new, or half of them are gone.
    /// Searches that are under way, and those that begin before the file is there, compare all prints.
    ///
    /// - Throws: ``CatalogError``.
    /// - Complexity: O(images · lists) for a new file, with about 2 √images lists.
    public func setPrintIndex(_ kind: PrintIndexKind) throws {
        try turn.withLock { _ in
            try store.setPrintIndex(kind)
            try refreshDerivedFiles()
        }
    }
}
