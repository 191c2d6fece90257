/// Sorts the features of images by word, in runs that fit into memory.
///
/// What a catalog adds can be larger than memory. So the caller takes a run now and then, stores it, and merges all of
/// them at the end, as an external sort does.
package struct InvertedListsBuilder {
    /// Features by word, and those of a word by image.
    package struct Run: Sendable {
        /// Where the features of each word start, and the end of the last.
        package let offsets: [UInt64]
        /// The image of each feature: how many were appended before it.
        package let images: [UInt32]
        /// The first half of the bits of each feature's signature.
        package let signatures: [UInt32]
    }

    private let wordCount: Int
    private var words: [UInt16] = []
    private var images: [UInt32] = []
    private var signatures: [UInt32] = []
    /// The number of features of each image that was appended.
    package private(set) var featureCounts: [UInt16] = []

    /// A builder for features that were extracted with a model.
    package init(_ model: LocalFeatureModel) { wordCount = model.vocabulary.wordCount }

    /// The features that were appended since the last run. Each takes 10 bytes of memory.
    package var pendingCount: Int { words.count }

    /// Appends the features of the next image; nil for an image without features.
    ///
    /// - Precondition: the builder's model has their words.
    package mutating func append(_ features: LocalFeatures?) {
        let image = UInt32(featureCounts.count)
        featureCounts.append(UInt16(features?.count ?? 0))
        guard let features else { return }
        words += features.words
        for code in features.codes {
            images.append(image)
            signatures.append(UInt32(truncatingIfNeeded: code.signature))
        }
    }

    /// The features that were appended since the last run. O(features + words); 8 bytes of memory per feature.
    package mutating func takeRun() -> Run {
        var offsets = [UInt64](repeating: 0, count: wordCount + 1)
        for word in words { offsets[Int(word) + 1] += 1 }
        for index in 1..<offsets.count { offsets[index] += offsets[index - 1] }
        var next = offsets
        var sorted = (images: [UInt32](repeating: 0, count: words.count), signatures: signatures)
        for (index, word) in words.enumerated() {
            let place = Int(next[Int(word)])
            (sorted.images[place], sorted.signatures[place]) = (images[index], signatures[index])
            next[Int(word)] += 1
        }
        words.removeAll(keepingCapacity: true)
        images.removeAll(keepingCapacity: true)
        signatures.removeAll(keepingCapacity: true)
        return Run(offsets: offsets, images: sorted.images, signatures: sorted.signatures)
    }
}
