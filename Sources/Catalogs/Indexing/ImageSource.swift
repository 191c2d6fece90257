import Foundation

/// An entity to index.
public struct IndexItem: Sendable {
    /// The entity. The image at its path is embedded.
    public var entity: CatalogEntity
    /// Its origin, for reports: a path, or a manifest and a line.
    public var origin: String

    /// An entity to index, with its origin for reports.
    public init(entity: CatalogEntity, origin: String) {
        self.entity = entity
        self.origin = origin
    }
}

/// An item that was not indexed.
public struct IndexProblem: Sendable, Hashable, CustomStringConvertible {
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

/// Why the input of an index run cannot be used.
public struct ImageSourceError: Error, Equatable, CustomStringConvertible {
    /// The path of the folder or manifest.
    public let path: String
    /// What is wrong, for people.
    public let reason: String

    public var description: String { "\(path): \(reason)" }
}

/// The input of an index run: a folder of images, or a manifest.
public enum ImageSource {
    /// Lists the items of a folder or of a `.csv` or `.jsonl` manifest, with the problems of lines that are unusable.
    ///
    /// - Throws: ``ImageSourceError`` if there is no such folder or manifest, or none of it can be read.
    public static func items(at url: URL) throws -> (items: [IndexItem], problems: [IndexProblem]) {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw ImageSourceError(path: url.path, reason: "there is no such folder or manifest")
        }
        let found: (items: [IndexItem], problems: [IndexProblem])
        if isFolder.boolValue {
            found = try FolderScan.items(in: url)
        } else {
            switch url.pathExtension.lowercased() {
            case "csv": found = try Manifest.csv(url)
            case "jsonl", "ndjson": found = try Manifest.jsonLines(url)
            default:
                throw ImageSourceError(path: url.path, reason: "is neither a folder nor a .csv or .jsonl manifest")
            }
        }
        return unique(found)
    }

    /// Of items with the same id the first is kept.
    private static func unique(
        _ found: (items: [IndexItem], problems: [IndexProblem])
    ) -> (items: [IndexItem], problems: [IndexProblem]) {
        var first: [String: String] = [:]
        var (items, problems) = ([IndexItem](), found.problems)
        for item in found.items {
            if let other = first[item.entity.id] {
                problems.append(
                    IndexProblem(origin: item.origin, reason: "has the same id “\(item.entity.id)” as \(other)"))
            } else {
                first[item.entity.id] = item.origin
                items.append(item)
            }
        }
        return (items, problems)
    }
}
