package import Foundation
import GRDB
package import LocalFeatures

/// The file `features.lists`: the local features of a catalog by visual word.
///
/// The width of its header is the number of lists, one per visual word or 2, 4, … of each; the count is that of the
/// images, the total is that of the features. The sections are the images' rows in the database (``ImageRow``) as
/// 64-bit integers; the number of features of each, 16-bit; where each list starts, and the end of the last, 64-bit;
/// half of the bits of each signature, 32-bit; and the coded images of the signatures, low bits and high bits, in
/// 64-bit words (`InvertedListsShape`).
package final class MappedInvertedLists: DerivedFile {
    static let format = DerivedFileFormat(name: "features.lists", magic: "LKLISTS\0", version: 3) { shape in
        let lists = InvertedListsShape(listCount: shape.width, imageCount: shape.count, featureCount: shape.total)
        return [
            (8, shape.count), (2, shape.count), (8, shape.width + 1), (4, shape.total), (8, lists.lowWordCount),
            (8, lists.highWordCount),
        ]
    }

    private enum Section { static let (keys, featureCounts, offsets, signatures, lows, highs) = (0, 1, 2, 3, 4, 5) }

    static func modelDigest(of source: LocalFeatureModel) -> Data { Data(hexadecimal: source.digest) }
    static func isWidth(_ width: Int, of source: LocalFeatureModel) -> Bool {
        InvertedLists.isListCount(width, ofWords: source.wordCount)
    }

    let contents: DerivedContents

    /// Nil if the lists overlap. O(words).
    init?(_ contents: DerivedContents) {
        let offsets = contents.section(Section.offsets, of: UInt64.self)
        guard offsets.first == 0, offsets.last == UInt64(contents.header.shape.total),
            zip(offsets, offsets.dropFirst()).allSatisfy({ $0 <= $1 })
        else { return nil }
        self.contents = contents
    }

    package var lists: InvertedLists {
        InvertedLists(
            offsets: contents.section(Section.offsets, of: UInt64.self),
            signatures: contents.section(Section.signatures, of: UInt32.self),
            lows: contents.section(Section.lows, of: UInt64.self),
            highs: contents.section(Section.highs, of: UInt64.self),
            featureCounts: contents.section(Section.featureCounts, of: UInt16.self), owner: self)
    }

    private var keys: UnsafeBufferPointer<Int64> { contents.section(Section.keys, of: Int64.self) }

    /// The row in the database of the image at a position.
    package func key(_ position: Int) -> Int64 { keys[position] }

    /// O(features) time, and 8 bytes on the disk per feature of images that changed; in memory where no file can be
    /// written. The signatures of images that the earlier file has are copied; those of the others are computed.
    static func write(
        _ db: Database, source: LocalFeatureModel, folder: CatalogFolder, reusing earlier: MappedInvertedLists?,
        to output: inout DerivedOutput
    ) throws -> DerivedFileShape {
        // Lists that are divided otherwise, since the catalog has grown or shrunk, are made anew.
        let bits = InvertedLists.divisionBits(
            imageCount: try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM localFeatures") ?? 0)
        let earlier = earlier.flatMap { $0.header.shape.width == source.wordCount << bits ? $0 : nil }
        let images = DerivedImages(
            table: "localFeatures", column: "data", earlier: earlier.map { ($0.keys, $0.header.revision) })
        var builder = InvertedListsBuilder(source)
        var runs = try StoredRuns(inFile: !output.isMemory && folder.isWritable, folder: folder)
        var keys: [Int64] = []
        // Where each image that was taken over is now; -1 for one that was removed or changed.
        var moved = [Int32](repeating: -1, count: earlier?.header.shape.count ?? 0)
        var changed: [UInt32] = []
        try images.forEach(db) { key, origin in
            switch origin {
            case .earlier(let position): moved[position] = Int32(keys.count)
            case .blob(let data):
                changed.append(UInt32(keys.count))
                // Damaged features do not keep the catalog from opening; `Catalog.verify()` reports them.
                builder.append(LocalFeatures(encoded: data, wordCount: source.wordCount))
                if builder.pendingCount >= runLength { try runs.append(builder.takeRun()) }
            }
            keys.append(key)
        }
        try runs.append(builder.takeRun())
        let merged = InvertedListsMerge(
            runs: try runs.finish(), changedCounts: builder.featureCounts, positions: changed, earlier: earlier?.lists,
            moved: moved, imageCount: keys.count, wordCount: source.wordCount, divisionBits: bits)
        try output.append(keys)
        try output.beginSection()
        try output.append(merged.featureCounts)
        try output.beginSection()
        try output.append(merged.offsets)
        try output.beginSection()
        try merged.forEachList { _, signatures in try output.append(signatures) }
        let shape = merged.shape
        for part in [ImageEncoder.Part.lows, .highs] {
            try output.beginSection()
            var encoder = ImageEncoder(part, of: shape)
            try merged.forEachList { images, _ in
                encoder.append(images)
                try output.append(encoder.takeWords())
            }
            try output.append(encoder.finish())
        }
        return DerivedFileShape(width: shape.listCount, count: shape.imageCount, total: shape.featureCount)
    }

    /// Features of a run: 18 bytes of memory each while it is sorted.
    private static let runLength = 1 << 23
}

extension CatalogFolder {
    /// Derived from the database: the inverted lists of the local features.
    package var invertedLists: URL { url.appendingPathComponent(MappedInvertedLists.format.name) }
}
