public import CatalogEntities
import CatalogStore
import Compute
public import Foundation
import Imaging

/// The items of a folder of images or of a manifest in order, each with its problem instead if it is unusable.
///
/// A folder is read as the items are needed, so it may have any number of images; a manifest is in memory. Each
/// iteration reads a folder again.
public struct IndexEntries: Sequence, AsyncSequence, Sendable {
    public typealias Element = Result<IndexItem, IndexProblem>
    public typealias Failure = Never

    private enum Source {
        case folder(URL, ExclusionPatterns)
        case list([Result<IndexItem, IndexProblem>])
        /// Entries that are made as they are needed.
        case made(@Sendable () -> AnyIterator<Result<IndexItem, IndexProblem>>)
    }

    private let source: Source

    fileprivate init(folder: URL, _ exclusions: ExclusionPatterns) { source = .folder(folder, exclusions) }
    package init(_ items: [IndexItem], problems: [IndexProblem] = []) {
        source = .list(problems.map { .failure($0) } + items.map { .success($0) })
    }
    package init(_ entries: @escaping @Sendable () -> AnyIterator<Result<IndexItem, IndexProblem>>) {
        source = .made(entries)
    }

    /// Reads the entries from the first on.
    public func makeIterator() -> AnyIterator<Result<IndexItem, IndexProblem>> {
        switch source {
        case .folder(let url, let exclusions): AnyIterator(FolderScan(url, exclusions))
        case .list(let list): AnyIterator(list.makeIterator())
        case .made(let entries): entries()
        }
    }

    /// Takes the entries of an iterator in order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let entries: AnyIterator<Result<IndexItem, IndexProblem>>

        /// The next entry. Reading the names of a folder keeps the thread for a moment.
        public mutating func next() async -> Result<IndexItem, IndexProblem>? { entries.next() }
    }

    /// Reads the entries from the first on.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(entries: makeIterator()) }

    /// The paths of the folder, or of those that the images of a list are in.
    var folders: Set<ExactText> {
        switch source {
        case .folder(let url, _): [ExactText(SystemPath.canonical(url.path))]
        case .list(let list):
            Set(
                list.flatMap { (try? $0.get().entity.images) ?? [] }.filter { $0.utf8.contains(UInt8(ascii: "/")) }
                    .map(FolderScan.folder))
        case .made: []
        }
    }

    /// The ids of a manifest; nil for a folder or a list of paths.
    var listedIDs: Set<ExactText>? {
        guard case .list(let list) = source else { return nil }
        let items = list.compactMap { try? $0.get() }
        return items.contains { $0.sameIDs != nil } ? nil : Set(items.map { ExactText($0.entity.id) })
    }

    /// The number of items and of problems, and what a folder has besides, for people. O(names) for a folder.
    package func count() -> (items: Int, problems: Int, notes: [String]) {
        var count = (items: 0, problems: 0, notes: [String]())
        func add(_ entry: Result<IndexItem, IndexProblem>) {
            if case .success = entry { count.items += 1 } else { count.problems += 1 }
        }
        switch source {
        case .folder(let url, let exclusions):
            var scan = FolderScan(url, exclusions)
            while let entry = scan.next() { add(entry) }
            switch scan.otherFileCount {
            case 0: break
            case 1: count.notes.append("a file that is no image was skipped")
            default: count.notes.append("\(scan.otherFileCount) files that are no images were skipped")
            }
            let excluded = scan.excluded.sorted { $0.key < $1.key }.map { "\($1) of “\($0)”" }
            if !excluded.isEmpty { count.notes.append("left out: \(excluded.joined(separator: ", "))") }
        case .list(let list): list.forEach(add)
        case .made(let make): make().forEach(add)
        }
        return count
    }

    /// What differs when a file was added, changed or removed, in this process. O(names) and a look at each file.
    package func state() -> Int {
        var hasher = Hasher()
        for entry in self {
            switch entry {
            case .success(let item):
                hasher.combine(item.entity)
                for path in item.entity.images { hasher.combine(ImageStamp(path: path)) }
            case .failure(let problem): hasher.combine("\(problem)")
            }
        }
        return hasher.finalize()
    }

    /// The paths of the images, of those too that are problems. One that is not UTF-8 ends in a zero byte, so that it
    /// names no other file.
    package var paths: AnySequence<String> {
        AnySequence {
            let entries = makeIterator()
            return AnyIterator {
                entries.next().map { entry in
                    switch entry {
                    case .success(let item): item.entity.image
                    case .failure(let problem): problem.subject + (problem.reason == IndexProblem.isNotUTF8 ? "\0" : "")
                    }
                }
            }
        }
    }

    /// The number of items, without problems. O(names) for a folder.
    public var itemCount: Int { count().items }
}

/// The input of an index run: a folder of images, or a manifest.
public enum ImageSource {
    /// The items of a folder or of a `.csv`, `.tsv` or `.jsonl` manifest, with the problems of lines that are unusable.
    /// The first of several items with the same id is kept.
    ///
    /// - Parameter patterns: what is left out of a folder, as in gitignore. They come after those of what servers,
    ///   systems and photo libraries keep beside images, so that `!@eaDir/` takes these folders in.
    /// - Throws: ``IndexProblem`` if there is no such folder or manifest, or none of a manifest can be read.
    public static func entries(
        at url: URL, excluding patterns: [String] = []
    ) throws -> IndexEntries {
        var isFolder: ObjCBool = false
        guard url.isFileURL else {
            throw IndexProblem(
                subject: url.absoluteString,
                reason: "it is a URL, and URLs are not downloaded; download the images and give their folder")
        }
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw IndexProblem(subject: url.path, reason: "there is no such folder or manifest")
        }
        if isFolder.boolValue { return IndexEntries(folder: url, ExclusionPatterns(patterns)) }
        let found =
            switch url.pathExtension.lowercased() {
            case "csv", "tsv": try Manifest.csv(url)
            case "jsonl", "ndjson": try Manifest.jsonLines(url)
            default:
                throw IndexProblem(subject: url.path, reason: "is neither a folder nor a .csv, .tsv or .jsonl manifest")
            }
        let (items, problems) = unique(found)
        return IndexEntries(items, problems: problems)
    }

    /// The items of image files in the order of their paths' list. An image's id is its path below a folder without the
    /// extension, as among the entries of that folder; for a file elsewhere it is the whole path. The first of several
    /// items with the same id is kept.
    ///
    /// - Parameters:
    ///   - paths: absolute, or relative to the folder. One that ends in a zero byte is a problem: it is not UTF-8.
    ///   - folder: what the ids are relative to.
    public static func entries(ofImagesAt paths: [String], below folder: URL) -> IndexEntries {
        let root = SystemPath.canonical(folder.path)
        let (items, problems) = unique(
            (
                paths.filter { $0.utf8.last != 0 }.map { FolderScan.item(at: $0, below: root) },
                paths.filter { $0.utf8.last == 0 }.map {
                    IndexProblem(subject: String($0.dropLast()), reason: IndexProblem.isNotUTF8)
                }
            ))
        return IndexEntries(items, problems: problems)
    }

    /// All of ``entries(at:excluding:)`` in memory.
    public static func items(at url: URL) throws -> (items: [IndexItem], problems: [IndexProblem]) {
        try entries(at: url).reduce(into: ([], [])) { found, entry in
            switch entry {
            case .success(let item): found.items.append(item)
            case .failure(let problem): found.problems.append(problem)
            }
        }
    }

    private static func unique(
        _ found: (items: [IndexItem], problems: [IndexProblem])
    ) -> (items: [IndexItem], problems: [IndexProblem]) {
        var first: [ExactText: Int] = [:]
        var (items, problems) = ([IndexItem](), found.problems)
        for item in found.items {
            if let other = first[ExactText(item.entity.id)] {
                // A list may name an image twice.
                if item.sameIDs != nil, ExactText(items[other].origin) == ExactText(item.origin) { continue }
                let reason = "has the same id “\(item.entity.id)” as \(items[other].origin)"
                problems.append(IndexProblem(subject: item.origin, reason: reason))
                items[other].sameIDs?.append(item.origin)
            } else {
                first[ExactText(item.entity.id)] = items.count
                items.append(item)
            }
        }
        return (items, problems)
    }
}

/// The images below a folder, in the order of their names without extensions. An image's id is its path below the
/// folder without the extension. Of several with the same id, as “a.jpg” and “a.png”, one is an item, and the
/// others are problems.
///
/// What is an image is decided by the name or, if its extension is that of no image format, by the first bytes. Hidden
/// files and folders are skipped. Links are followed, but no folder is entered twice: links to folders come after all
/// others, so that a new link does not change the ids of what is there. `ExclusionPatterns` leave files and folders
/// out. The names of one folder at a time, and of those
/// above it, are in memory.
struct FolderScan: Sequence, IteratorProtocol {
    /// A folder whose names are being read.
    private struct Level {
        let path: String
        /// The path below the scanned folder, with a slash at its end unless it is empty.
        let below: String
        let names: [String]
        var next = 0
        /// The previous image, until no other one can have its id. Names that differ in their extensions follow each
        /// other.
        var pending: IndexItem?
    }

    private var levels: [Level] = []
    /// Links to folders, as they were found.
    private var links: [(path: String, below: String)] = []
    private var nextLink = 0
    private var problems: [IndexProblem] = []
    private var entered: Set<FileIdentity> = []
    /// The number of files so far that are no images.
    private(set) var otherFileCount = 0
    /// The number of files and folders so far that each pattern left out.
    private(set) var excluded: [String: Int] = [:]
    private let exclusions: ExclusionPatterns

    init(_ root: URL, _ exclusions: ExclusionPatterns) {
        self.exclusions = exclusions
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
            let name = level.next < level.names.count ? level.names[level.next] : nil
            if let pending = level.pending, name.map({ !pending.hasID(level.below + Self.id(of: $0)) }) ?? true {
                level.pending = nil
                levels.append(level)
                return .success(pending)
            }
            guard let name else { continue }
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
        let isFolder = isThere && status.st_mode & S_IFMT == S_IFDIR
        if let pattern = exclusions.exclusion(of: level.below + name, isFolder: isFolder) {
            excluded[pattern, default: 0] += 1
            levels.append(level)
            return nil
        }
        if isFolder {
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
        if !Self.isNamedLikeAnImage(name) {
            guard isThere else {
                // A folder, perhaps. Other links that lead nowhere are not images.
                return failure == ENOENT ? nil : .failure(IndexProblem(path, failure))
            }
            switch status.st_mode & S_IFMT == S_IFREG ? Self.content(of: path) : .noImage {
            case .image: break
            case .otherImage(let kind):
                let reason = ImageError.Reason.unsupported(kind).description
                return .failure(IndexProblem(subject: path, reason: reason))
            case .noImage:
                otherFileCount += 1
                return nil
            }
        }
        let id = level.below + Self.id(of: name)
        if let first = level.pending {
            level.pending?.sameIDs?.append(path)
            return .failure(
                IndexProblem(
                    subject: path,
                    reason: "has the same id “\(id)” as \(first.origin), and one of them alone can have it. "
                        + "Rename one of them."))
        }
        // A broken link is an item too: reading it reports the reason.
        level.pending = Self.item(id, path)
        return nil
    }

    private static func item(_ id: String, _ path: String) -> IndexItem {
        var item = IndexItem(entity: CatalogEntity(id: id, image: path), origin: path)
        item.sameIDs = []
        return item
    }

    /// The item of a file, with the id that a scan of a folder gives it.
    static func item(at path: String, below root: String) -> IndexItem {
        let path = SystemPath.canonical(path, in: root)
        let isBelow = path.utf8.starts(with: (root + "/").utf8)
        let names = path.split(separator: "/").dropFirst(isBelow ? root.split(separator: "/").count : 0)
        let id = names.dropLast().map(String.init) + [id(of: String(names.last ?? ""))]
        return item(id.joined(separator: "/"), path)
    }

    private static func isNamedLikeAnImage(_ name: String) -> Bool {
        name.lastIndex(of: ".").map { dot in
            ImageFormat.allFileExtensions.contains(name[name.index(after: dot)...].lowercased())
        } ?? false
    }

    /// What a file is by its first bytes.
    private static func content(of path: String) -> ImageFormat.Content {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return .noImage }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 16) { bytes in
            let count = read(file, bytes.baseAddress, bytes.count)
            return count <= 0 ? .noImage : ImageFormat.content(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
    }

    /// The name without its extension.
    private static func id(of name: String) -> String {
        let stem = String(Self.stem(name)) ?? name
        return stem.isEmpty ? name : stem
    }

    /// By the bytes of the names without their extensions, then by those of the extensions.
    private static func precedes(_ a: String, _ b: String) -> Bool {
        let (stemA, stemB) = (stem(a), stem(b))
        return stemA.elementsEqual(stemB)
            ? a.utf8.lexicographicallyPrecedes(b.utf8) : stemA.lexicographicallyPrecedes(stemB)
    }

    /// The folder that a file is in.
    static func folder(of path: String) -> ExactText {
        ExactText(path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "")
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
        guard entered.insert(FileIdentity(status)).inserted else { return }
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
                        subject: path + "/" + String(decoding: bytes, as: UTF8.self), reason: IndexProblem.isNotUTF8))
            }
        }
        names.sort(by: Self.precedes)
        levels.append(Level(path: path, below: below, names: names))
    }
}

extension IndexProblem {
    package static let isNotUTF8 = "its name is not UTF-8"

    /// A path that the system cannot reach.
    fileprivate init(_ path: String, _ failure: Int32) {
        let reason = "cannot be read: \(String(cString: strerror(failure)))"
        self.init(
            subject: path, reason: failure == ENAMETOOLONG ? reason + " (\(path.utf8.count) bytes of path)" : reason)
    }
}

/// Paths as the system reads them: “link/..” is the folder above the link's target, and “~” is a name like any other.
/// Foundation resolves them as text, and so may name another file.
enum SystemPath {
    /// The absolute path, without “.” and, if it can be resolved, without “..”. Links stay where no “..” follows them.
    ///
    /// - Parameter folder: the absolute path of the folder that a relative path starts from.
    static func canonical(_ path: String, in folder: String = "/") -> String {
        let joined = path.hasPrefix("/") ? path : folder + "/" + path
        let parts = joined.split(separator: "/").filter { $0 != "." }
        guard let last = parts.lastIndex(of: "..") else { return "/" + parts.joined(separator: "/") }
        let start = "/" + parts[...last].joined(separator: "/")
        // Where it cannot be resolved, whoever reads the path gets the system's error.
        guard let resolved = realpath(start, nil) else { return "/" + parts.joined(separator: "/") }
        defer { free(resolved) }
        let rest = parts[(last + 1)...].map { "/" + $0 }.joined()
        let folder = String(cString: resolved)
        return rest.isEmpty ? folder : (folder == "/" ? "" : folder) + rest
    }
}
