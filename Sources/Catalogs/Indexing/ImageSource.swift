import Foundation

/// Something to be indexed: an entity whose image is still to be read.
public struct IndexItem: Sendable {
    public var entity: CatalogEntity
    /// Where it comes from, for reports: a path, or a manifest and its line.
    public var origin: String

    public init(entity: CatalogEntity, origin: String) {
        self.entity = entity
        self.origin = origin
    }
}

/// Something that could not be indexed.
public struct IndexProblem: Sendable, Hashable, CustomStringConvertible {
    /// A path, or a manifest and its line.
    public let origin: String
    public let reason: String

    public init(origin: String, reason: String) {
        self.origin = origin
        self.reason = reason
    }

    public var description: String { "\(origin): \(reason)" }
}

/// Why the input of an index run cannot be used at all.
public struct ImageSourceError: Error, Equatable, CustomStringConvertible {
    public let path: String
    public let reason: String

    public var description: String { "\(path): \(reason)" }
}

/// What an index run takes in: a folder of images, or a manifest.
public enum ImageSource {
    /// Lists the items of a folder or of a `.csv` or `.jsonl` manifest, and what is wrong with some.
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

    /// Of two items with one id the first stays.
    private static func unique(
        _ found: (items: [IndexItem], problems: [IndexProblem])
    ) -> (items: [IndexItem], problems: [IndexProblem]) {
        var first: [String: String] = [:]
        var (items, problems) = ([IndexItem](), found.problems)
        for item in found.items {
            if let other = first[item.entity.id] {
                problems.append(IndexProblem(origin: item.origin, reason: "has the id “\(item.entity.id)”, and so has \(other)"))
            } else {
                first[item.entity.id] = item.origin
                items.append(item)
            }
        }
        return (items, problems)
    }
}
