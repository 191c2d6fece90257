import Foundation
import GRDB
import LocalFeatures

/// The file `features.lists`: the local features of a catalog by visual word.
///
/// The width of its header is the number of visual words, the count is that of the images, the total is that of the
/// features. The sections are the images' rows in the database (``ImageRow``) as 64-bit integers; the number of
/// features of each, 16-bit; where the list of each word starts, and the end of the last, 64-bit; the signatures,
/// 64-bit; and the position of each signature's image, 32-bit.
final class MappedInvertedLists: DerivedFile {
    static let format = DerivedFileFormat(name: "features.lists", magic: "LKLISTS\0", version: 2) { shape in
        [(8, shape.count), (2, shape.count), (8, shape.width + 1), (8, shape.total), (4, shape.total)]
    }

    private enum Section { static let (keys, featureCounts, offsets, signatures, images) = (0, 1, 2, 3, 4) }

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
            images: contents.section(Section.images, of: UInt32.self),
            featureCounts: contents.section(Section.featureCounts, of: UInt16.self), owner: self)
    }

    private var keys: UnsafeBufferPointer<Int64> { contents.section(Section.keys, of: Int64.self) }

    /// The row in the database of the image at a position.
    func key(_ position: Int) -> Int64 { keys[position] }

    /// O(features) time, 12 bytes of memory per feature. The signatures of images that the earlier file has are
    /// copied; those of the others are computed.
    static func write(
        _ db: Database, source: LocalFeatureModel, folder: CatalogFolder, reusing earlier: MappedInvertedLists?,
        to output: inout DerivedOutput
    ) throws -> DerivedFileShape {
        let images = DerivedImages(
            table: "localFeatures", column: "data", earlier: earlier.map { ($0.keys, $0.header.revision) })
        var builder = InvertedListsBuilder(source)
        var keys: [Int64] = []
        // Where each image that was taken over is now; -1 for one that was removed or changed.
        var moved = [Int32](repeating: -1, count: earlier?.header.shape.count ?? 0)
        var changed: [Int32] = []
        try images.forEach(db) { key, origin in
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
        try images.forEach(db) { _, origin in
            guard case .blob(let data) = origin else { return }
            if let features = LocalFeatures(encoded: data, wordCount: source.wordCount) {
                builder.place(features, image: index)
            }
            index += 1
        }
        let merged = InvertedListsMerge(
            builder, changed: changed, imageCount: keys.count,
            earlier: earlier.map { earlier in
                InvertedListsMerge.Earlier(
                    offsets: earlier.contents.section(Section.offsets, of: UInt64.self),
                    signatures: earlier.contents.section(Section.signatures, of: UInt64.self),
                    images: earlier.contents.section(Section.images, of: UInt32.self),
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
        try output.append(merged.images)
        return DerivedFileShape(
            width: merged.offsets.count - 1, count: keys.count, total: merged.signatures.count)
    }
}

/// The inverted lists of a catalog, from those of an earlier state and those of the images that changed since.
///
/// The result is the same as if all were built anew: within a list, features are in the order of their images.
struct InvertedListsMerge {
    /// Lists of an earlier state.
    struct Earlier {
        let offsets: UnsafeBufferPointer<UInt64>
        let signatures: UnsafeBufferPointer<UInt64>
        let images: UnsafeBufferPointer<UInt32>
        let featureCounts: UnsafeBufferPointer<UInt16>
        /// The new position of each image; negative for one that was removed or changed.
        var moved: [Int32]
    }

    private(set) var offsets: [UInt64]
    private(set) var signatures: [UInt64]
    private(set) var images: [UInt32]
    private(set) var featureCounts: [UInt16]

    /// - Parameters:
    ///   - builder: the lists of the images that changed, by their index among these.
    ///   - changed: the position of each of these among all images.
    init(_ builder: consuming InvertedListsBuilder, changed: [Int32], imageCount: Int, earlier: Earlier?) {
        guard let earlier else {
            // All images changed, so indices are positions.
            (offsets, signatures) = (builder.offsets, builder.signatures)
            (images, featureCounts) = (builder.images, builder.featureCounts)
            return
        }
        featureCounts = Array(repeating: 0, count: imageCount)
        for (index, position) in changed.enumerated() { featureCounts[Int(position)] = builder.featureCounts[index] }
        for (index, position) in earlier.moved.enumerated() where position >= 0 {
            featureCounts[Int(position)] = earlier.featureCounts[index]
        }
        let total = builder.signatures.count + earlier.images.count
        (offsets, signatures, images) = ([0], [], [])
        offsets.reserveCapacity(builder.offsets.count)
        signatures.reserveCapacity(total)
        images.reserveCapacity(total)
        for word in 0..<(builder.offsets.count - 1) {
            var next = Int(builder.offsets[word])
            let end = Int(builder.offsets[word + 1])
            let (first, last) = (earlier.offsets[word], earlier.offsets[word + 1])
            // Offsets cannot be trusted if another program changes the file; the result is not used then.
            let known = first <= last && last <= earlier.images.count ? Int(first)..<Int(last) : 0..<0
            for index in known {
                let image = Int(earlier.images[index])
                guard image < earlier.moved.count, earlier.moved[image] >= 0 else { continue }
                let position = earlier.moved[image]
                while next < end, changed[Int(builder.images[next])] < position {
                    append(builder.signatures[next], of: changed[Int(builder.images[next])])
                    next += 1
                }
                append(earlier.signatures[index], of: position)
            }
            while next < end {
                append(builder.signatures[next], of: changed[Int(builder.images[next])])
                next += 1
            }
            offsets.append(UInt64(signatures.count))
        }
    }

    private mutating func append(_ signature: UInt64, of image: Int32) {
        signatures.append(signature)
        images.append(UInt32(image))
    }
}
