import Foundation
import GRDB
import LocalFeatures

/// The file `features.lists`: the local features of a catalog by visual word.
///
/// The width of its header is the number of visual words, the count is that of the entities, the total is that of the
/// features. The sections are the entities' rows in the database as 64-bit integers; the number of features of each,
/// 16-bit; where the list of each word starts, and the end of the last, 64-bit; the signatures, 64-bit; and the
/// position of each signature's entity, 32-bit.
final class MappedInvertedLists: DerivedFile {
    static let format = DerivedFileFormat(name: "features.lists", magic: "LKLISTS\0", version: 2) { shape in
        [(8, shape.count), (2, shape.count), (8, shape.width + 1), (8, shape.total), (4, shape.total)]
    }

    private enum Section { static let (keys, featureCounts, offsets, signatures, entities) = (0, 1, 2, 3, 4) }

    static func modelDigest(of source: LocalFeatureModel) -> Data { Data(hexadecimal: source.digest) }
    static func isWidth(_ width: Int, of source: LocalFeatureModel) -> Bool { width == source.wordCount }

    let contents: DerivedContents

    /// Nil if the lists overlap. O(words).
    init?(_ contents: DerivedContents) {
        let offsets = contents.section(Section.offsets, of: UInt64.self)
        guard offsets.first == 0, offsets.last == UInt64(contents.header.shape.total),
            zip(offsets, offsets.dropFirst()).allSatisfy({ $0 <= $1 })
        else { return nil }
        self.contents = contents
    }

    var lists: InvertedLists {
        InvertedLists(
            offsets: contents.section(Section.offsets, of: UInt64.self),
            signatures: contents.section(Section.signatures, of: UInt64.self),
            images: contents.section(Section.entities, of: UInt32.self),
            featureCounts: contents.section(Section.featureCounts, of: UInt16.self), owner: self)
    }

    private var keys: UnsafeBufferPointer<Int64> { contents.section(Section.keys, of: Int64.self) }

    /// The row in the database of the entity at a position.
    func key(_ position: Int) -> Int64 { keys[position] }

    /// O(features) time, 12 bytes of memory per feature. The signatures of entities that the earlier file has are
    /// copied; those of the others are computed.
    static func write(
        _ db: Database, source: LocalFeatureModel, folder: CatalogFolder, reusing earlier: MappedInvertedLists?,
        to output: inout DerivedOutput
    ) throws -> DerivedFileShape {
        let entities = DerivedEntities(
            table: "localFeatures", column: "data", earlier: earlier.map { ($0.keys, $0.header.revision) })
        var builder = InvertedListsBuilder(source)
        var keys: [Int64] = []
        // Where each entity that was taken over is now; -1 for one that was removed or changed.
        var moved = [Int32](repeating: -1, count: earlier?.header.shape.count ?? 0)
        var changed: [Int32] = []
        try entities.forEach(db) { key, origin in
            switch origin {
            case .earlier(let position): moved[position] = Int32(keys.count)
            case .blob(let data):
                changed.append(Int32(keys.count))
                // Damaged features do not keep the catalog from opening; `Catalog.verify()` reports them.
                builder.count(LocalFeatures(encoded: data, wordCount: source.wordCount))
            }
            keys.append(key)
        }
        builder.finishCounting()
        var index = 0
        try entities.forEach(db) { _, origin in
            guard case .blob(let data) = origin else { return }
            if let features = LocalFeatures(encoded: data, wordCount: source.wordCount) {
                builder.place(features, image: index)
            }
            index += 1
        }
        let merged = InvertedListsMerge(
            builder, changed: changed, entityCount: keys.count,
            earlier: earlier.map { earlier in
                InvertedListsMerge.Earlier(
                    offsets: earlier.contents.section(Section.offsets, of: UInt64.self),
                    signatures: earlier.contents.section(Section.signatures, of: UInt64.self),
                    entities: earlier.contents.section(Section.entities, of: UInt32.self),
                    featureCounts: earlier.contents.section(Section.featureCounts, of: UInt16.self), moved: moved)
            })
        try output.append(keys)
        try output.beginSection()
        try output.append(merged.featureCounts)
        try output.beginSection()
        try output.append(merged.offsets)
        try output.beginSection()
        try output.append(merged.signatures)
        try output.beginSection()
        try output.append(merged.entities)
        return DerivedFileShape(
            width: merged.offsets.count - 1, count: keys.count, total: merged.signatures.count)
    }
}
