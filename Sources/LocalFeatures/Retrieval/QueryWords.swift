import Compute

/// The visual words of a query's features, with the signature of each feature under each of its words.
public struct QueryWords: Sendable {
    struct Entry: Sendable {
        let feature: Int32
        let word: UInt16
        let signature: UInt64
    }

    /// Words per feature: what a capture changes can move a descriptor into a neighboring word (J. Philbin et al., "Lost
    /// in Quantization", CVPR 2008).
    private static let wordsPerFeature = 6

    let entries: [Entry]
    let kernels: SIMDTarget

    init(_ query: QueryFeatures, model: LocalFeatureModel, kernels: SIMDTarget) {
        self.kernels = kernels
        let (dimension, count) = (LocalFeatureModel.dimension, Self.wordsPerFeature)
        entries = query.descriptors.withUnsafeBufferPointer { descriptors in
            model.vocabulary.words(of: descriptors, count: count).enumerated().map { index, word in
                let feature = index / count
                let descriptor = UnsafeBufferPointer(
                    rebasing: descriptors[(feature * dimension)..<((feature + 1) * dimension)])
                return Entry(
                    feature: Int32(feature), word: word, signature: model.vocabulary.signature(of: descriptor, word: word))
            }
        }
    }
}
