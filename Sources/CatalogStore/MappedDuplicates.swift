package import CatalogEntities
import Digests
import FeaturePrints
import Foundation
import GRDB
import LocalFeatures

/// Entities with the same picture, by their rows in the database; the reference is first.
package struct StoredDuplicates: Sendable {
    package struct Member: Sendable {
        /// The row of the image in the database.
        package let key: Int64
        /// What differs from the reference.
        package let difference: DuplicateGroup.Difference
        /// The distance between both prints.
        package let distance: Float

        package init(key: Int64, difference: DuplicateGroup.Difference, distance: Float) {
            (self.key, self.difference, self.distance) = (key, difference, distance)
        }
    }

    package let members: [Member]

    package init(members: [Member]) { self.members = members }
}

/// The file `duplicates.groups`: the groups that ``Catalog/duplicates(where:progress:)`` found.
///
/// It is made when they are looked for, not when images are indexed, and is of no use once the catalog has changed. The
/// width of its header is the dimension, the count is that of the groups, the total that of their members. The sections
/// are the rows of the members' images in the database as 64-bit integers, the end of each group as 64-bit integers,
/// the members' float32 distances, and what differs, a byte each.
final class MappedDuplicates: DerivedFile {
    static let format = DerivedFileFormat(name: "duplicates.groups", magic: "LKGROUPS", version: 1) { shape in
        [(8, shape.total), (8, shape.count), (4, shape.total), (1, shape.total)]
    }

    struct Source: Sendable {
        /// The digest of the model of the prints, and that of the local features.
        let models: [String]
        let dimension: Int
        /// The groups to write, and the state that they are of.
        var groups: [StoredDuplicates] = []
        var revision: CatalogRevision?
    }

    static func modelDigest(of source: Source) -> Data { SHA256.hash(Data(source.models.joined().utf8)) }
    static func isWidth(_ width: Int, of source: Source) -> Bool { width == source.dimension }

    let contents: DerivedContents

    init?(_ contents: DerivedContents) { self.contents = contents }

    /// The groups; nil if the file is damaged. O(file).
    var groups: [StoredDuplicates]? {
        guard contents.isIntact else { return nil }
        let keys = contents.section(0, of: Int64.self)
        let ends = contents.section(1, of: Int64.self)
        let distances = contents.section(2, of: Float.self)
        let differences = contents.section(3, of: UInt8.self)
        var groups: [StoredDuplicates] = []
        var start = 0
        for end in ends {
            guard start < end, end <= keys.count else { return nil }
            var members: [StoredDuplicates.Member] = []
            for index in start..<Int(end) {
                guard Int(differences[index]) < DuplicateGroup.Difference.allCases.count else { return nil }
                members.append(
                    StoredDuplicates.Member(
                        key: keys[index], difference: DuplicateGroup.Difference.allCases[Int(differences[index])],
                        distance: distances[index]))
            }
            groups.append(StoredDuplicates(members: members))
            start = Int(end)
        }
        return contents.file.isUnchanged ? groups : nil
    }

    static func write(
        _ db: Database, source: Source, folder: CatalogFolder, reusing earlier: MappedDuplicates?,
        to output: inout DerivedOutput
    ) throws -> DerivedFileShape {
        // The catalog was changed while its entities were compared.
        guard try CatalogRevision.current(db) == source.revision else { throw folder.error(.busy) }
        let members = source.groups.flatMap(\.members)
        try output.append(members.map(\.key))
        try output.beginSection()
        var end: Int64 = 0
        try output.append(
            source.groups.map { group -> Int64 in
                end += Int64(group.members.count)
                return end
            })
        try output.beginSection()
        try output.append(members.map(\.distance))
        try output.beginSection()
        try output.append(
            members.map { UInt8(DuplicateGroup.Difference.allCases.firstIndex(of: $0.difference) ?? 0) })
        return DerivedFileShape(width: source.dimension, count: source.groups.count, total: members.count)
    }
}

extension DerivedFileStore<MappedDuplicates> {
    /// The groups of a state of the catalog, if the file is of that one.
    func groups(at revision: CatalogRevision) -> [StoredDuplicates]? {
        // A file that cannot be read is made again.
        guard let (file, isCurrent) = (try? usable()) ?? nil, isCurrent, file.header.revision == revision else {
            return nil
        }
        return file.groups
    }

    /// Writes the source's groups, unless another process is writing, or the folder cannot be written.
    func keep() throws {
        guard folder.isWritable, let lock = DerivedFilesLock(ifFreeIn: folder) else { return }
        defer { lock.release() }
        do { try rebuild() } catch let error as CatalogError where error.isUnwritable || error.reason == .busy {}
    }
}

extension LocalFiles {
    /// The groups of duplicates in a state of the catalog, if they are kept.
    package func duplicates(at revision: CatalogRevision) -> [StoredDuplicates]? {
        keptDuplicates().groups(at: revision)
    }

    /// Keeps the groups of duplicates in a state of the catalog, if that is possible.
    package func keep(_ groups: [StoredDuplicates], of revision: CatalogRevision) throws {
        try keptDuplicates(groups, of: revision).keep()
    }

    func keptDuplicates(
        _ groups: [StoredDuplicates] = [], of revision: CatalogRevision? = nil
    ) -> DerivedFileStore<MappedDuplicates> {
        DerivedFileStore(
            entities: store,
            source: MappedDuplicates.Source(
                models: [model.identity.digest, localFeatureModel?.digest ?? ""], dimension: model.dimension,
                groups: groups, revision: revision))
    }
}
