import CKernels
import Compute
import Foundation

/// Inverted lists: for each visual word, the images that show it, with a signature per feature.
///
/// A query's features vote for the images whose features have the same words and similar signatures, so the images that
/// a query shows are found among hundreds of thousands without comparing it with each of them, wherever in the picture
/// they are and however they are turned. J. Sivic and A. Zisserman, "Video Google", ICCV 2003; the signatures are those
/// of H. Jégou et al., "Hamming Embedding and Weak Geometric Consistency", ECCV 2008.
public struct InvertedLists: @unchecked Sendable {
    /// Where the list of each word starts; one more than there are words.
    let offsets: UnsafeBufferPointer<UInt64>
    let signatures: UnsafeBufferPointer<UInt64>
    /// The image of each signature, by its position.
    let images: UnsafeBufferPointer<UInt32>
    /// The number of features of each image.
    let featureCounts: UnsafeBufferPointer<UInt16>
    /// The owner keeps the memory alive. Unchecked: the memory is never written.
    private let owner: AnyObject

    /// Wraps memory that `owner` keeps and nobody writes.
    ///
    /// - Precondition: there are as many signatures as `images`, and at least one offset. Offsets ascend from 0 to that
    ///   number; where they do not, the result is arbitrary.
    public init(
        offsets: UnsafeBufferPointer<UInt64>, signatures: UnsafeBufferPointer<UInt64>,
        images: UnsafeBufferPointer<UInt32>,
        featureCounts: UnsafeBufferPointer<UInt16>, owner: AnyObject
    ) {
        precondition(signatures.count == images.count && !offsets.isEmpty)
        (self.offsets, self.signatures, self.images) = (offsets, signatures, images)
        (self.featureCounts, self.owner) = (featureCounts, owner)
    }

    /// The number of images, including those without features.
    public var imageCount: Int { featureCounts.count }

    /// An image, and how strongly the features of a query vote for it.
    public struct Candidate: Sendable, Equatable {
        /// The index of the image.
        public let image: Int
        /// The sum of its votes, divided by the square root of its number of features.
        public let score: Float
    }

    /// Larger distances of 64-bit signatures are no evidence.
    private static let largestHammingDistance = 22
    /// The distance at which a vote counts 1/e; half the spread of a Gaussian as Jégou et al. use it in "On the
    /// Burstiness of Visual Elements" (CVPR 2009).
    private static let hammingScale: Float = 12
    /// Scores of images with fewer features are normalized as if they had this many.
    private static let fewestFeatures = 30

    /// The images with most votes, highest score first; of equal scores the first image first.
    ///
    /// A feature of the query votes once for an image, by the most similar signature.
    /// - Parameters:
    ///   - limit: candidates at most.
    ///   - isIncluded: whether an image may be a candidate.
    /// - Complexity: O(the lists of the query's words + images).
    public func candidates(
        for query: QueryWords, limit: Int, where isIncluded: (Int) -> Bool = { _ in true }
    ) -> [Candidate] {
        guard imageCount > 0, limit > 0 else { return [] }
        var scores = [Float](repeating: 0, count: imageCount)
        let touched = scores.withUnsafeMutableBufferPointer { vote(query, $0) }
        var best: [Candidate] = []
        for image in touched {
            let count = max(Int(featureCounts[image]), Self.fewestFeatures)
            let candidate = Candidate(image: image, score: scores[image] / Float(count).squareRoot())
            if best.count == limit, !Self.isBetter(candidate, best[limit - 1]) { continue }
            guard isIncluded(image) else { continue }
            if best.count == limit { best.removeLast() }
            let place = best.firstIndex { Self.isBetter(candidate, $0) } ?? best.count
            best.insert(candidate, at: place)
        }
        return best
    }

    private static func isBetter(_ a: Candidate, _ b: Candidate) -> Bool { (b.score, a.image) < (a.score, b.image) }

    /// Adds up the votes, and returns the images that got any.
    private func vote(_ query: QueryWords, _ scores: UnsafeMutableBufferPointer<Float>) -> [Int] {
        let weights = (0...Self.largestHammingDistance).map { distance in
            exp(-Float(distance * distance) / (Self.hammingScale * Self.hammingScale))
        }
        var touched: [Int] = []
        // The last feature that voted for an image, and its vote.
        var voters = [Int32](repeating: -1, count: imageCount)
        var votes = [Float](repeating: 0, count: imageCount)
        let kernels = query.kernels.table
        var found: [lk_hamming] = []
        for entry in query.entries where Int(entry.word) + 1 < offsets.count {
            let (start, end) = (offsets[Int(entry.word)], offsets[Int(entry.word) + 1])
            // Offsets cannot be trusted if another program changed the file.
            guard start < end, end <= signatures.count else { continue }
            let list = Int(start)..<Int(end)
            if found.count < list.count { found = Array(repeating: lk_hamming(), count: list.count) }
            let count = kernels.hamming_within(
                entry.signature, signatures.baseAddress.map { $0 + list.lowerBound }, list.count,
                UInt32(Self.largestHammingDistance), &found)
            guard count > 0 else { continue }
            // Rare words count more: inverse document frequency.
            let rarity = log(Float(imageCount) / Float(list.count) + 1)
            for match in found[..<count] {
                let image = Int(images[list.lowerBound + Int(match.index)])
                // A damaged file may name images that it does not have; `catalog verify` reports it.
                guard image < imageCount else { continue }
                let vote = weights[Int(match.distance)] * rarity
                if voters[image] != entry.feature {
                    if voters[image] < 0 { touched.append(image) }
                    voters[image] = entry.feature
                    votes[image] = vote
                    scores[image] += vote
                } else if vote > votes[image] {
                    scores[image] += vote - votes[image]
                    votes[image] = vote
                }
            }
        }
        return touched
    }
}

/// A visual word of a feature, and the signature of the feature under it.
///
/// Features with the same word show similar things if few bits of their signatures differ: see ``InvertedLists``.
public struct VisualWord: Sendable, Hashable {
    /// The place of the feature among those of its image.
    public let feature: Int
    /// The word's place in the vocabulary.
    public let word: UInt16
    /// 64 bits.
    public let signature: UInt64
}

extension LocalFeatures {
    /// The word of each feature. O(features).
    ///
    /// - Parameter model: the model that the features were extracted with.
    /// - Precondition: the model has their words.
    public func visualWords(_ model: LocalFeatureModel) -> [VisualWord] {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: LocalFeatureModel.dimension) { descriptor in
            words.enumerated().map { index, word in
                let start = index * DescriptorQuantizer.byteCount
                model.quantizer.restore(codes[start..<(start + DescriptorQuantizer.byteCount)], into: descriptor)
                let source = model.vocabulary.signatureSource(UnsafeBufferPointer(descriptor))
                return VisualWord(
                    feature: index, word: word, signature: model.vocabulary.signature(of: source, word: word))
            }
        }
    }
}

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

    /// Several words per feature.
    public var visualWords: [VisualWord] {
        entries.map { VisualWord(feature: Int($0.feature), word: $0.word, signature: $0.signature) }
    }

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
