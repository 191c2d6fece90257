import Foundation
import LocalFeatures

/// A file of inverted lists, mapped into memory.
final class MappedInvertedLists: Sendable {
    let header: InvertedListsHeader
    private let file: MappedFile

    /// Maps the file; nil if it is missing, its header or its size is invalid, or its lists overlap. O(words).
    init?(_ url: URL) {
        guard let file = MappedFile(url), let header = InvertedListsHeader(file.bytes),
            header.fileByteCount == file.bytes.count
        else { return nil }
        let offsets = file.section(header.listOffsetsOffset, count: header.wordCount + 1, of: UInt64.self)
        guard offsets.first == 0, offsets.last == UInt64(header.featureCount),
            zip(offsets, offsets.dropFirst()).allSatisfy({ $0 <= $1 })
        else { return nil }
        self.header = header
        self.file = file
    }

    var lists: InvertedLists {
        InvertedLists(
            offsets: file.section(header.listOffsetsOffset, count: header.wordCount + 1, of: UInt64.self),
            signatures: file.section(header.signaturesOffset, count: header.featureCount, of: UInt64.self),
            images: file.section(header.entitiesOffset, count: header.featureCount, of: UInt32.self),
            featureCounts: file.section(header.featureCountsOffset, count: header.entityCount, of: UInt16.self),
            owner: self)
    }

    /// The row in the database of the entity at a position.
    func key(_ position: Int) -> Int64 {
        file.section(header.keysOffset, count: header.entityCount, of: Int64.self)[position]
    }

    /// Whether the contents match the digest. O(file).
    var isIntact: Bool { file.digest(from: InvertedListsHeader.byteCount) == header.contentDigest }

    /// Whether another file is at the path now.
    func isReplaced(at url: URL) -> Bool { file.isReplaced(at: url) }
}
