import Compute

/// The visual words of a query's features, with the signature of each feature under each of its words.
public struct QueryWords: Sendable {
    struct Entry: Sendable {
        let feature: Int32
        let word: UInt16
        let signature: UInt64
    }

    /// Words per feature: what a capture changes can move a descriptor into a neighboring word (J. Philbin et al.,
    /// "Lost in Quantization", CVPR 2008).
    private static let wordsPerFeature = 5

    let entries: [Entry]
    let kernels: SIMDTarget

    init(_ query: QueryFeatures, model: LocalFeatureModel, kernels: SIMDTarget) {
        self.kernels = kernels
        let (dimension, count) = (LocalFeatureModel.dimension, Self.wordsPerFeature)
        var entries: [Entry] = []
        entries.reserveCapacity(query.count * count)
        query.descriptors.withUnsafeBufferPointer { descriptors in
            let words = model.vocabulary.words(of: descriptors, count: count)
            for feature in 0..<query.count {
                let source = model.vocabulary.signatureSource(
                    UnsafeBufferPointer(rebasing: descriptors[(feature * dimension)..<((feature + 1) * dimension)]))
                for word in words[(feature * count)..<((feature + 1) * count)] {
                    entries.append(
                        Entry(
                            feature: Int32(feature), word: word,
                            signature: model.vocabulary.signature(of: source, word: word)))
                }
            }
        }
        self.entries = entries
    }
}
