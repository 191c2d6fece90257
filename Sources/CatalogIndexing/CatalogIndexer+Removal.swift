import CatalogEntities
import CatalogStore
import Foundation
import Synchronization

extension CatalogIndexer {
    /// Removes entities, on the calling thread; ``remove(_:)`` is for tasks.
    ///
    /// - Throws: ``CatalogError``. If an id is unknown, nothing is removed.
    public func removeAll(_ ids: [String]) throws {
        try turn.withLock { _ in
            let known = try Set(store.entities(forIDs: ids).map { ExactText($0.entity.id) })
            let unknown = ids.filter { !known.contains(ExactText($0)) }
            guard unknown.isEmpty else { throw folder.error(.unknownEntities(unknown)) }
            try store.remove(ids)
            do {
                try refreshDerivedFiles()
            } catch let error as CatalogError {
                // Searches leave out what is gone, whatever these files have. On a full disk, removing has to go on.
                guard case .unsearchable = error.reason else { throw error }
            }
        }
    }

    /// Removes the images whose file no longer exists and the entities that have no other ones, and returns the ids of
    /// these entities. Images that were indexed from memory stay. O(images).
    ///
    /// An image that exists and cannot be read, or whose folder cannot be entered, is not missing.
    /// - Parameter evenIfAll: whether to remove all images if none of them exists. That is more often a disk
    ///   that is not mounted.
    /// - Throws: ``CatalogError``; nothing is removed then.
    public func prune(evenIfAll: Bool = false) throws -> [String] {
        try prune(evenIfAll: evenIfAll) { _, _ in true }.removed
    }

    /// Removes the images whose file no longer exists, as ``prune(evenIfAll:)`` does, among those that are or were in
    /// the folders of some images, or below them. An image elsewhere may be on a disk that is not mounted; so may one
    /// whose folder a manifest names and that is gone, one behind a link that leads nowhere, or one whose folder is
    /// empty.
    ///
    /// - Returns: the ids; the number of entities that stay although images of theirs are gone; and the ids of those
    ///   that a manifest no longer names, whose images are where its others are.
    /// - Throws: as ``prune(evenIfAll:)``.
    package func prune(
        inFoldersOf images: IndexEntries
    ) throws -> (removed: [String], keptCount: Int, unlisted: [String]) {
        let folders = images.folders
        var emptyFolders: [String: Bool] = [:]
        let listed = images.listedIDs
        var unlisted: [String] = []
        let (removed, keptCount) = try prune(evenIfAll: false) { id, image in
            if let listed, !listed.contains(ExactText(id)), folders.contains(FolderScan.folder(of: image)),
                unlisted.last.map({ ExactText($0) }) != ExactText(id), !FileStamp.isMissing(image)
            {
                unlisted.append(id)
            }
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
        return (removed, keptCount, unlisted)
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
        evenIfAll: Bool, where isInScope: (_ id: String, _ image: String) -> Bool
    ) throws -> (removed: [String], keptCount: Int) {
        try turn.withLock { _ in
            var (count, entityCount, keptCount) = (0, 0, 0)
            var gone: [(id: String, places: Set<Int>)] = []
            var (lastCounted, lastKept) = (ExactText?.none, ExactText?.none)
            try store.forEachImageFile { id, place, path in
                let (isMissing, isInScope, entity) = (FileStamp.isMissing(path), isInScope(id, path), ExactText(id))
                if isInScope {
                    count += 1
                    entityCount += lastCounted == entity ? 0 : 1
                    lastCounted = entity
                }
                guard isMissing else { return }
                if !isInScope {
                    keptCount += lastKept == entity ? 0 : 1
                    lastKept = entity
                } else if let last = gone.last, ExactText(last.id) == entity {
                    gone[gone.count - 1].places.insert(place)
                } else {
                    gone.append((id, [place]))
                }
            }
            let goneCount = gone.reduce(0) { $0 + $1.places.count }
            guard evenIfAll || gone.isEmpty || goneCount < count else {
                throw folder.error(.allImagesMissing(count: entityCount))
            }
            guard !gone.isEmpty else { return ([], keptCount) }
            let removed = try store.removeImages(gone)
            try refreshDerivedFiles()
            return (removed, keptCount)
        }
    }
}
