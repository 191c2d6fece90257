/// Sorts the features of many images by word, and by the first bits of their signatures in large catalogs.
///
/// Features are offered twice, in the same order: first to be counted, then to be placed. 8 bytes of memory per
/// feature.
public struct InvertedListsBuilder {
    private let model: LocalFeatureModel
    /// While counting, the length of each list at the place after its own; then where lists start.
    public private(set) var offsets: [UInt64]
    /// The first half of the bits of all features' signatures, list after list.
    public private(set) var signatures: [UInt32] = []
    /// The image of each signature.
    public private(set) var images: [UInt32] = []
    /// The number of features of each image that was counted.
    public private(set) var featureCounts: [UInt16] = []
    /// Where the next feature of each word goes.
    private var next: [UInt64] = []

    /// A builder for features that were extracted with a model.
    public init(_ model: LocalFeatureModel) {
        self.model = model
        offsets = Array(repeating: 0, count: model.vocabulary.wordCount + 1)
    }

    /// Counts the features of the next image; nil for an image without features.
    ///
    /// - Precondition: the builder's model has their words.
    public mutating func count(_ features: LocalFeatures?) {
        featureCounts.append(UInt16(features?.count ?? 0))
        for word in features?.words ?? [] { offsets[Int(word) + 1] += 1 }
    }

    /// Ends the counting.
    public mutating func finishCounting() {
        for index in 1..<offsets.count { offsets[index] += offsets[index - 1] }
        let total = Int(offsets[offsets.count - 1])
        signatures = Array(repeating: 0, count: total)
        images = Array(repeating: 0, count: total)
        next = offsets
    }

    /// Divides the list of each word by the first bits of the signatures, after the last image. O(features).
    public mutating func divide(bits: Int) {
        guard bits > 0 else { return }
        let (words, mask) = (offsets, UInt32(1) << UInt32(bits) - 1)
        offsets = [0]
        offsets.reserveCapacity((words.count - 1) << bits + 1)
        for (first, end) in zip(words, words.dropFirst()) {
            let list = Int(first)..<Int(end)
            let features = zip(signatures[list], images[list]).map { (signature: $0, image: $1) }
            var ends = [Int](repeating: 0, count: 1 << bits)
            for feature in features { ends[Int(feature.signature & mask)] += 1 }
            var sum = list.lowerBound
            for part in ends.indices {
                (ends[part], sum) = (sum, sum + ends[part])
                offsets.append(UInt64(sum))
            }
            for feature in features {
                let part = Int(feature.signature & mask)
                (signatures[ends[part]], images[ends[part]]) = feature
                ends[part] += 1
            }
        }
    }

    /// Places the features of an image.
    ///
    /// - Precondition: they were counted.
    public mutating func place(_ features: LocalFeatures, image: Int) {
        for (word, code) in zip(features.words, features.codes) {
            let position = Int(next[Int(word)])
            signatures[position] = UInt32(truncatingIfNeeded: code.signature)
            images[position] = UInt32(image)
            next[Int(word)] += 1
        }
    }
}
