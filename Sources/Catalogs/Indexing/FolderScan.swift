import Foundation
import Imaging

/// The images below a folder, in the order of their names without extensions. An image's id is its path below the
/// folder without the extension.
///
/// Hidden files and folders are skipped. Links are followed, but no folder is entered twice: links to folders come
/// after all others, so that a new link does not change the ids of what is there. The names of one folder at a time,
/// and of those above it, are in memory.
struct FolderScan: Sequence, IteratorProtocol {
    /// A folder whose names are being read.
    private struct Level {
        let path: String
        /// The path below the scanned folder, with a slash at its end unless it is empty.
        let below: String
        let names: [String]
        var next = 0
        /// The previous image. Images with the same id follow each other.
        var last: (id: String, path: String)?
    }

    private struct Folder: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    private var levels: [Level] = []
    /// Links to folders, as they were found.
    private var links: [(path: String, below: String)] = []
    private var nextLink = 0
    private var problems: [IndexProblem] = []
    private var entered: Set<Folder> = []

    init(_ root: URL) {
        let path = SystemPath.canonical(root.path)
        if access(path, F_OK) == 0 { enter(path, below: "") }
    }

    mutating func next() -> Result<IndexItem, IndexProblem>? {
        while true {
            if let problem = problems.popLast() { return .failure(problem) }
            if levels.isEmpty, nextLink < links.count {
                nextLink += 1
                enter(links[nextLink - 1].path, below: links[nextLink - 1].below)
            }
            guard var level = levels.popLast() else {
                if nextLink == links.count, problems.isEmpty { return nil }
                continue
            }
            guard level.next < level.names.count else { continue }
            let name = level.names[level.next]
            level.next += 1
            let item = item(name, in: &level)
            if let item { return item }
        }
    }

    /// Looks at a name, puts its level back, and enters it if it is a folder.
    private mutating func item(_ name: String, in level: inout Level) -> Result<IndexItem, IndexProblem>? {
        let path = level.path + "/" + name
        var status = stat()
        let isThere = stat(path, &status) == 0
        let failure = errno
        if isThere, status.st_mode & S_IFMT == S_IFDIR {
            levels.append(level)
            let below = level.below + name + "/"
            if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK {
                links.append((path, below))
            } else {
                enter(path, below: below)
            }
            return nil
        }
        defer { levels.append(level) }
        guard let dot = name.lastIndex(of: "."),
            ImageFile.extensions.contains(name[name.index(after: dot)...].lowercased())
        else {
            // A folder, perhaps. Other links that lead nowhere are not images.
            return isThere || failure == ENOENT ? nil : .failure(IndexProblem(path, failure))
        }
        let id = level.below + name[..<dot]
        if let last = level.last, last.id.utf8.elementsEqual(id.utf8) {
            return .failure(IndexProblem(origin: path, reason: "has the same id “\(id)” as \(last.path)"))
        }
        level.last = (id, path)
        // A broken link is an item too: reading it reports the reason.
        return .success(IndexItem(entity: CatalogEntity(id: id, image: path), origin: path))
    }

    /// By the bytes of the names without their extensions, then by those of the extensions.
    private static func precedes(_ a: String, _ b: String) -> Bool {
        let (stemA, stemB) = (stem(a), stem(b))
        return stemA.elementsEqual(stemB)
            ? a.utf8.lexicographicallyPrecedes(b.utf8) : stemA.lexicographicallyPrecedes(stemB)
    }

    private static func stem(_ name: String) -> Substring.UTF8View {
        name.utf8[..<(name.utf8.lastIndex(of: UInt8(ascii: ".")) ?? name.utf8.endIndex)]
    }

    private mutating func enter(_ path: String, below: String) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            problems.append(IndexProblem(path, errno))
            return
        }
        let folder = Folder(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
        guard entered.insert(folder).inserted else { return }
        guard let stream = opendir(path) else {
            problems.append(IndexProblem(path, errno))
            return
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { problems.append(IndexProblem(path, errno)) }
                break
            }
            let bytes = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: UInt8.self, capacity: MemoryLayout.size(ofValue: tuple.pointee)) { name in
                    Array(
                        UnsafeBufferPointer(
                            start: name, count: strlen(UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))))
                }
            }
            guard bytes.first != UInt8(ascii: ".") else { continue }
            if let name = String(validating: bytes, as: UTF8.self) {
                names.append(name)
            } else {
                problems.append(
                    IndexProblem(
                        origin: path + "/" + String(decoding: bytes, as: UTF8.self), reason: "its name is not UTF-8"))
            }
        }
        names.sort(by: Self.precedes)
        levels.append(Level(path: path, below: below, names: names))
    }
}

extension IndexProblem {
    /// A path that the system cannot reach.
    fileprivate init(_ path: String, _ failure: Int32) {
        let reason = "cannot be read: \(String(cString: strerror(failure)))"
        self.init(
            origin: path, reason: failure == ENAMETOOLONG ? reason + " (\(path.utf8.count) bytes of path)" : reason)
    }
}
