import Foundation

/// An item that was not indexed.
public struct IndexProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// A path, or a manifest and a line.
    public let origin: String
    /// What is wrong with the item, for people.
    public let reason: String

    /// A problem with the item of an origin.
    public init(origin: String, reason: String) {
        self.origin = origin
        self.reason = reason
    }

    public var description: String { "\(origin): \(reason)" }
}

/// What was ignored in an item that was indexed, such as a color profile that cannot be used.
public struct IndexNote: Sendable, Hashable, CustomStringConvertible {
    /// A path, or a manifest and a line.
    public let origin: String
    /// What was ignored, and why; for people.
    public let text: String

    public var description: String { "\(origin): note: \(text)" }
}

/// Why the input of an index run cannot be used.
public struct ImageSourceError: Error, Equatable, CustomStringConvertible {
    /// The path of the folder or manifest.
    public let path: String
    /// What is wrong, for people.
    public let reason: String

    public var description: String { "\(path): \(reason)" }
}

/// The items of a folder of images or of a manifest in order, each with its problem instead if it is unusable.
///
/// A folder is read as the items are needed, so it may have any number of images; a manifest is in memory. Each
/// iteration reads a folder again.
public struct IndexEntries: Sequence, Sendable {
    private enum Source {
        case folder(URL)
        case list([Result<IndexItem, IndexProblem>])
    }

    private let source: Source

    fileprivate init(folder: URL) { source = .folder(folder) }
    init(_ items: [IndexItem], problems: [IndexProblem] = []) {
        source = .list(problems.map { .failure($0) } + items.map { .success($0) })
    }

    /// Reads the entries from the first on.
    public func makeIterator() -> AnyIterator<Result<IndexItem, IndexProblem>> {
        switch source {
        case .folder(let url): AnyIterator(FolderScan(url))
        case .list(let list): AnyIterator(list.makeIterator())
        }
    }

    /// The paths of the folder, or of those that the images of a list are in.
    var folders: Set<ExactText> {
        switch source {
        case .folder(let url): [ExactText(SystemPath.canonical(url.path))]
        case .list(let list):
            Set(
                list.compactMap { entry in
                    guard let path = try? entry.get().entity.image,
                        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
                    else { return nil }
                    return ExactText(String(path[..<slash]))
                })
        }
    }

    /// The number of items, without problems. O(names) for a folder.
    public var itemCount: Int {
        reduce(0) { count, entry in if case .success = entry { count + 1 } else { count } }
    }
}

/// The input of an index run: a folder of images, or a manifest.
public enum ImageSource {
    /// The items of a folder or of a `.csv` or `.jsonl` manifest, with the problems of lines that are unusable. Of
    /// items with the same id the first is kept.
    ///
    /// - Throws: ``ImageSourceError`` if there is no such folder or manifest, or none of a manifest can be read.
    public static func entries(at url: URL) throws -> IndexEntries {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw ImageSourceError(path: url.path, reason: "there is no such folder or manifest")
        }
        if isFolder.boolValue { return IndexEntries(folder: url) }
        let found =
            switch url.pathExtension.lowercased() {
            case "csv": try Manifest.csv(url)
            case "jsonl", "ndjson": try Manifest.jsonLines(url)
            default:
                throw ImageSourceError(path: url.path, reason: "is neither a folder nor a .csv or .jsonl manifest")
            }
        let (items, problems) = unique(found)
        return IndexEntries(items, problems: problems)
    }

    /// All of ``entries(at:)`` in memory.
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
        var first: [ExactText: String] = [:]
        var (items, problems) = ([IndexItem](), found.problems)
        for item in found.items {
            if let other = first[ExactText(item.entity.id)] {
                problems.append(
                    IndexProblem(origin: item.origin, reason: "has the same id “\(item.entity.id)” as \(other)"))
            } else {
                first[ExactText(item.entity.id)] = item.origin
                items.append(item)
            }
        }
        return (items, problems)
    }
}
