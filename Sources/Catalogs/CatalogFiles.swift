import CatalogStore
public import Foundation

extension Catalog {
    /// What a folder holds of a catalog.
    public enum FolderState: Sendable {
        /// A catalog, whether it can be opened or not.
        case catalog
        /// Nothing, or only the files that a writer makes before the catalog has its database. The folder may be
        /// removed or replaced.
        case unfinished
        /// No catalog: the folder does not exist, or has other files. A model counts as another file, since it may be
        /// somebody's only copy.
        case other
        /// Unknown, as on a disk that fails. Nothing must take the folder's place.
        case unknown
    }

    /// Says what a folder holds of a catalog, without opening it. O(files in the folder).
    public static func state(of url: URL) -> FolderState {
        let folder = CatalogFolder(url: url)
        let result = access(folder.database.path, F_OK)
        // Read at once: any other call may change it.
        let reason = errno
        if result == 0 { return .catalog }
        guard reason == ENOENT || reason == ENOTDIR else { return .unknown }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: url.path) else { return .other }
        let early = Set(([folder.lock, folder.derivedFilesLock] + folder.unfinishedFiles).map(\.lastPathComponent))
        let isUnfinished = names.allSatisfy { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: url.appendingPathComponent(name).path)
            return early.contains(name) && attributes?[.type] as? FileAttributeType == .typeRegular
        }
        return isUnfinished ? .unfinished : .other
    }

    /// The names of the files that ``copy(to:)`` writes, all or some of them.
    public static let copiedFileNames: Set<String> = {
        let folder = CatalogFolder(url: URL(fileURLWithPath: "/"))
        return [folder.database.lastPathComponent, folder.model.lastPathComponent]
    }()
}
