import Foundation
import Synchronization

extension CatalogIndexer {
    /// Removes entities.
    ///
    /// - Throws: ``CatalogError``. If an id is unknown, nothing is removed.
    public func remove(_ ids: [String]) throws {
        try turn.withLock { _ in
            let known = try Set(store.entities(forIDs: ids).map { ExactText($0.entity.id) })
            let unknown = ids.filter { !known.contains(ExactText($0)) }
            guard unknown.isEmpty else { throw folder.error(.unknownEntities(unknown)) }
            try store.remove(ids)
            try refreshDerivedFiles()
        }
    }

    /// Removes the entities whose image file no longer exists, and returns their ids. Entities that were indexed from
    /// memory stay. O(entities).
    ///
    /// An image that exists and cannot be read, or whose folder cannot be entered, is not missing.
    /// - Parameter evenIfAll: whether to remove all entities if none of their images exists. That is more often a disk
    ///   that is not mounted.
    /// - Throws: ``CatalogError``; nothing is removed then.
    public func prune(evenIfAll: Bool = false) throws -> [String] {
        try prune(evenIfAll: evenIfAll) { _ in true }.removed
    }

    /// Removes the entities whose image file no longer exists, among those whose images are or were in the folders of
    /// some images, or below them. An image elsewhere may be on a disk that is not mounted; so may one whose folder a
    /// manifest names and that is gone, one behind a link that leads nowhere, or one whose folder is empty.
    ///
    /// - Returns: the ids, and the number of entities that stay although their images are gone.
    /// - Throws: as ``prune(evenIfAll:)``.
    package func prune(inFoldersOf images: IndexEntries) throws -> (removed: [String], keptCount: Int) {
        let folders = images.folders
        var emptyFolders: [String: Bool] = [:]
        return try prune(evenIfAll: false) { image in
            var path = image[...]
            while let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
                path = path[..<slash]
                let folder = String(path)
                if folders.contains(ExactText(folder)) {
                    return !FileStamp.isMissing(folder) && !Self.isBehindBrokenLink(image)
                        && !Self.isInEmptyFolder(image, known: &emptyFolders)
                }
            }
            return false
        }
    }

    /// Whether the path, or the part of it that is there, ends with a link to what is not there.
    private static func isBehindBrokenLink(_ path: String) -> Bool {
        var path = path
        var status = stat()
        while lstat(path, &status) != 0, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            path = String(path[..<slash])
        }
        return status.st_mode & S_IFMT == S_IFLNK && FileStamp.isMissing(path)
    }

    /// Whether the innermost existing folder of the path is empty, like the mount point of a disk that is not mounted.
    private static func isInEmptyFolder(_ path: String, known: inout [String: Bool]) -> Bool {
        var folder = path
        repeat {
            guard let slash = folder.utf8.lastIndex(of: UInt8(ascii: "/")) else { return false }
            folder = String(folder[..<slash])
        } while FileStamp.isMissing(folder)
        if let isEmpty = known[folder] { return isEmpty }
        guard let stream = opendir(folder) else { return false }
        defer { closedir(stream) }
        var count = 0
        // Itself and the folder above are two.
        while count < 3, readdir(stream) != nil { count += 1 }
        known[folder] = count < 3
        return count < 3
    }

    private func prune(
        evenIfAll: Bool, where isInScope: (_ image: String) -> Bool
    ) throws -> (removed: [String], keptCount: Int) {
        try turn.withLock { _ in
            var (count, gone, keptCount) = (0, [String](), 0)
            try store.forEachImageFile { id, image in
                let (isMissing, isInScope) = (FileStamp.isMissing(image), isInScope(image))
                if isInScope { count += 1 }
                guard isMissing else { return }
                if isInScope { gone.append(id) } else { keptCount += 1 }
            }
            guard evenIfAll || gone.isEmpty || gone.count < count else {
                throw folder.error(.allImagesMissing(count: count))
            }
            if !gone.isEmpty {
                try store.remove(gone)
                try refreshDerivedFiles()
            }
            return (gone, keptCount)
        }
    }
}
