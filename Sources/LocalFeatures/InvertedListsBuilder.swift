/// Sorts the features of many images by word.
///
/// Features are offered twice, in the same order: first to be counted, then to be placed. 12 bytes of memory per
/// feature.
public struct InvertedListsBuilder {
    private let model: LocalFeatureModel
    /// While counting, the length of each list at the place after its own; then where lists start.
    public private(set) var offsets: [UInt64]
    /// The signatures of all features, list after list.
    public private(set) var signatures: [UInt64] = []
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

    /// Places the features of an image.
    ///
    /// - Precondition: they were counted.
    public mutating func place(_ features: LocalFeatures, image: Int) {
        let dimension = LocalFeatureModel.dimension
        withUnsafeTemporaryAllocation(of: Float.self, capacity: dimension) { descriptor in
            for (index, word) in features.words.enumerated() {
                let codes = features.codes[
                    (index * DescriptorQuantizer.byteCount)..<((index + 1) * DescriptorQuantizer.byteCount)]
                model.quantizer.restore(codes, into: descriptor)
                let position = Int(next[Int(word)])
                signatures[position] = model.vocabulary.signature(
                    of: model.vocabulary.signatureSource(UnsafeBufferPointer(descriptor)), word: word)
                images[position] = UInt32(image)
                next[Int(word)] += 1
            }
        }
    }
}
