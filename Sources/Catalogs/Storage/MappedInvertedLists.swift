import Foundation
import GRDB
import LocalFeatures

/// The file `features.lists`: the local features of a catalog by visual word.
///
/// The width of its header is the number of lists, one per visual word or 2, 4, … of each; the count is that of the
/// images, the total is that of the features. The sections are the images' rows in the database (``ImageRow``) as
/// 64-bit integers; the number of features of each, 16-bit; where each list starts, and the end of the last, 64-bit;
/// half of the bits of each signature, 32-bit; and the coded images of the signatures, low bits and high bits, in
/// 64-bit words (`InvertedListsShape`).
final class MappedInvertedLists: DerivedFile {
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

    var lists: InvertedLists {
        InvertedLists(
            offsets: contents.section(Section.offsets, of: UInt64.self),
            signatures: contents.section(Section.signatures, of: UInt32.self),
            lows: contents.section(Section.lows, of: UInt64.self),
            highs: contents.section(Section.highs, of: UInt64.self),
            featureCounts: contents.section(Section.featureCounts, of: UInt16.self), owner: self)
    }

    private var keys: UnsafeBufferPointer<Int64> { contents.section(Section.keys, of: Int64.self) }

    /// The row in the database of the image at a position.
    func key(_ position: Int) -> Int64 { keys[position] }

    /// O(features) time, 8 bytes of memory per feature of images that changed. The signatures of images that the
    /// earlier file has are copied; those of the others are computed.
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
                builder.count(LocalFeatures(encoded: data, wordCount: source.wordCount))
            }
            keys.append(key)
        }
        builder.finishCounting()
        var index = 0
        try images.forEach(db) { _, origin in
            guard case .blob(let data) = origin else { return }
            if let features = LocalFeatures(encoded: data, wordCount: source.wordCount) {
                builder.place(features, image: index)
            }
            index += 1
        }
        builder.divide(bits: bits)
        let merged = InvertedListsMerge(
            changed: builder, positions: changed, earlier: earlier?.lists, moved: moved, imageCount: keys.count)
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
}

/// The inverted lists of a catalog, from those of an earlier state and those of the images that changed since.
///
/// The result is the same as if all were built anew: within a list, features are in the order of their images. Lists
/// are merged each time that they are read, so that no more than one is in memory.
struct InvertedListsMerge {
    private let changed: InvertedListsBuilder
    /// The position of each changed image among all images.
    private let positions: [UInt32]
    private let earlier: InvertedLists?
    /// The new position of each image of the earlier lists; negative for one that was removed or changed.
    private let moved: [Int32]
    /// Where the list of each word starts, and the end of the last.
    private(set) var offsets: [UInt64] = [0]
    /// The number of features of each image.
    private(set) var featureCounts: [UInt16]

    var shape: InvertedListsShape {
        InvertedListsShape(
            listCount: offsets.count - 1, imageCount: featureCounts.count, featureCount: Int(offsets.last ?? 0))
    }

    /// - Parameters:
    ///   - changed: the lists of the images that changed, by their index among these.
    ///   - positions: the position of each of these among all images, ascending.
    ///   - earlier: lists of an earlier state, of which each image that did not change has a position in `moved`.
    init(
        changed: InvertedListsBuilder, positions: [UInt32], earlier: InvertedLists?, moved: [Int32], imageCount: Int
    ) {
        (self.changed, self.positions, self.earlier, self.moved) = (changed, positions, earlier, moved)
        featureCounts = Array(repeating: 0, count: imageCount)
        for (index, position) in positions.enumerated() {
            featureCounts[Int(position)] = changed.featureCounts[index]
        }
        if let earlier {
            for (image, position) in moved.enumerated() where position >= 0 {
                featureCounts[Int(position)] = earlier.featureCount(of: image)
            }
        }
        var ends: [UInt64] = [0]
        ends.reserveCapacity(changed.offsets.count)
        var total: UInt64 = 0
        forEachList { images, _ in
            total += UInt64(images.count)
            ends.append(total)
        }
        offsets = ends
    }

    /// Calls `body` with the images and the signatures of each list. O(features).
    func forEachList(_ body: (_ images: [UInt32], _ signatures: [UInt32]) throws -> Void) rethrows {
        var images: [UInt32] = []
        var signatures: [UInt32] = []
        for list in 0..<(changed.offsets.count - 1) {
            images.removeAll(keepingCapacity: true)
            signatures.removeAll(keepingCapacity: true)
            var next = Int(changed.offsets[list])
            let end = Int(changed.offsets[list + 1])
            func appendChanged(before position: UInt32) {
                while next < end, positions[Int(changed.images[next])] < position {
                    images.append(positions[Int(changed.images[next])])
                    signatures.append(changed.signatures[next])
                    next += 1
                }
            }
            earlier?.forEachFeature(ofList: list) { image, signature in
                guard moved[image] >= 0 else { return }
                appendChanged(before: UInt32(moved[image]))
                images.append(UInt32(moved[image]))
                signatures.append(signature)
            }
            appendChanged(before: .max)
            try body(images, signatures)
        }
    }
}
