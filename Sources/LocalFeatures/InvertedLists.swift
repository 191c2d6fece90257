import CKernels
import Compute
import Foundation

/// Inverted lists: for each visual word, the images that show it, with a signature per feature.
///
/// In a large catalog the list of each word is divided by the first bits of the signatures, and a query reads those
/// parts alone that its features are in, or would be in if the bits of least certainty were others: Q. Lv et al.,
/// "Multi-Probe LSH", VLDB 2007. So lists do not grow with the catalog.
///
/// A query's features vote for the images whose features have the same words and similar signatures, so the images that
/// a query shows are found among hundreds of thousands without comparing it with each of them, wherever in the picture
/// they are and however they are turned. J. Sivic and A. Zisserman, "Video Google", ICCV 2003; the signatures are those
/// of H. Jégou et al., "Hamming Embedding and Weak Geometric Consistency", ECCV 2008.
package struct InvertedLists: @unchecked Sendable {
    /// Where each list starts; one more than there are lists.
    private let offsets: UnsafeBufferPointer<UInt64>
    private let signatures: UnsafeBufferPointer<UInt32>
    /// The image of each signature, by its position.
    private let images: CodedImages
    /// The number of features of each image.
    private let featureCounts: UnsafeBufferPointer<UInt16>
    /// The owner keeps the memory alive. Unchecked: the memory is never written.
    private let owner: AnyObject

    /// Wraps memory that `owner` keeps and nobody writes.
    ///
    /// - Parameters:
    ///   - offsets: where each list starts, and the end of the last.
    ///   - signatures: the first half of the bits of each feature's signature, list after list.
    ///   - lows: the low bits of the images, from ``ImageEncoder``.
    ///   - highs: their high bits.
    ///   - featureCounts: the number of features of each image.
    /// - Precondition: there is at least one offset, and there are as many words of low and high bits as
    ///   ``InvertedListsShape`` says. Where offsets and bits are not what the builder and the encoder make, the result
    ///   is arbitrary.
    package init(
        offsets: UnsafeBufferPointer<UInt64>, signatures: UnsafeBufferPointer<UInt32>,
        lows: UnsafeBufferPointer<UInt64>, highs: UnsafeBufferPointer<UInt64>,
        featureCounts: UnsafeBufferPointer<UInt16>, owner: AnyObject
    ) {
        precondition(!offsets.isEmpty)
        let shape = InvertedListsShape(
            listCount: offsets.count - 1, imageCount: featureCounts.count, featureCount: signatures.count)
        images = CodedImages(shape, lows: lows, highs: highs)
        (self.offsets, self.signatures) = (offsets, signatures)
        (self.featureCounts, self.owner) = (featureCounts, owner)
    }

    /// The number of images, including those without features.
    package var imageCount: Int { featureCounts.count }

    /// The number of features of an image.
    package func featureCount(of image: Int) -> UInt16 { featureCounts[image] }

    /// Appends the images of a list, which ascend, and their signatures. Features of a damaged file may be missing.
    /// O(list).
    package func readFeatures(ofList list: Int, images: inout [UInt32], signatures: inout [UInt32]) {
        let features = features(ofList: list)
        guard !features.isEmpty else { return }
        withUnsafeTemporaryAllocation(of: lk_hamming.self, capacity: features.count) { places in
            for index in places.indices { places[index] = lk_hamming(index: UInt32(index), distance: 0) }
            withImages(ofList: list, from: features.lowerBound, at: UnsafeBufferPointer(places)) { index, image in
                images.append(UInt32(image))
                signatures.append(self.signatures[features.lowerBound + index])
            }
        }
    }

    /// Calls `body` for some places of a list, which ascend, with their order and their images. A damaged file may name
    /// images that it does not have; `catalog verify` reports it.
    private func withImages(
        ofList list: Int, from first: Int, at places: UnsafeBufferPointer<lk_hamming>,
        _ body: (_ index: Int, _ image: Int) -> Void
    ) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: places.count) { found in
            images.read(ofList: list, from: first, at: places, into: found)
            for index in 0..<places.count where found[index] < imageCount { body(index, Int(found[index])) }
        }
    }

    /// Whether lists that follow each other have no features.
    func areEmpty(_ lists: Range<Int>) -> Bool { offsets[lists.lowerBound] == offsets[lists.upperBound] }

    /// Where the features of a list are; empty if the offsets are damaged.
    private func features(ofList list: Int) -> Range<Int> {
        let (start, end) = (offsets[list], offsets[list + 1])
        // Offsets cannot be trusted if another program changed the file.
        return start < end && end <= signatures.count ? Int(start)..<Int(end) : 0..<0
    }

    /// The number of first bits of the signatures that divide the list of each word of a catalog, so that lists have a
    /// hundred to two hundred features. O(1).
    package static func divisionBits(imageCount: Int) -> Int {
        guard imageCount >= largeCatalog else { return 0 }
        return min(Int.bitWidth - (imageCount >> 16).leadingZeroBitCount, mostDivisionBits)
    }

    private static let mostDivisionBits = 8
    private static let largeCatalog = 1 << 18

    /// Whether so many lists can be those of a vocabulary. O(1).
    package static func isListCount(_ count: Int, ofWords wordCount: Int) -> Bool {
        (0...mostDivisionBits).contains { count == wordCount << $0 }
    }

    /// The parts of a word's list that are read: masks of the bits that differ from those of the query's feature, the
    /// likeliest first. Bits are numbered by certainty; the n-th least certain one costs n².
    private static func probes(bits: Int) -> [Int] {
        let count = Int(exp2(0.6 * Double(bits)).rounded())
        return (0..<(1 << bits)).map { mask in
            (cost: (0..<bits).reduce(0) { $0 + (mask >> $1 & 1) * ($1 + 1) * ($1 + 1) }, mask: mask)
        }.sorted { ($0.cost, $0.mask) < ($1.cost, $1.mask) }.prefix(count).map(\.mask)
    }

    /// An image, and how strongly the features of a query vote for it.
    package struct Candidate: Sendable, Equatable {
        /// The index of the image.
        package let image: Int
        /// The sum of its votes, divided by the square root of its number of features.
        package let score: Float
    }

    /// Larger distances of 32-bit signatures are no evidence. With each bit fewer, half as many features of other
    /// images are as close by chance, so a larger catalog allows fewer bits.
    private static func largestHammingDistance(imageCount: Int) -> Int {
        imageCount < largeCatalog ? 10 : imageCount < largeCatalog << 4 ? 9 : 8
    }
    /// The distance at which a vote counts 1/e; half the spread of a Gaussian as Jégou et al. use it in "On the
    /// Burstiness of Visual Elements" (CVPR 2009).
    private static let hammingScale: Float = 7
    /// Scores of images with fewer features are normalized as if they had this many.
    private static let fewestFeatures = 30

    /// The images with most votes, highest score first; of equal scores the first image first.
    ///
    /// A feature of the query votes once for an image, by the most similar signature. Lists of more than 16,384
    /// features are left out. Votes are added up for some thousand images at a time, so that memory follows the number
    /// of votes, and not that of the images.
    /// - Parameters:
    ///   - limit: candidates at most.
    ///   - isIncluded: whether an image may be a candidate.
    /// - Complexity: O(the parts of lists that the query reads).
    package func candidates(
        for query: QueryWords, limit: Int, where isIncluded: (Int) -> Bool = { _ in true }
    ) -> [Candidate] {
        guard imageCount > 0, limit > 0 else { return [] }
        var best: [Candidate] = []
        var tallies = [Tally](repeating: Tally(), count: min(imageCount, Self.imagesAtOnce))
        var touched: [Int] = []
        for votes in blocks(of: votes(of: query)) {
            let first = votes.first.map { Int($0.image) / Self.imagesAtOnce * Self.imagesAtOnce } ?? 0
            for vote in votes {
                let place = Int(vote.image) - first
                if tallies[place].add(vote) { touched.append(place) }
            }
            for place in touched {
                let (image, score) = (first + place, tallies[place].score)
                tallies[place] = Tally()
                // Most images have a vote or two.
                if best.count == limit, score < best[limit - 1].score * Self.leastShare { continue }
                let candidate = Candidate(
                    image: image, score: score / max(Float(featureCounts[image]).squareRoot(), Self.smallestNorm))
                if best.count == limit, !Self.isBetter(candidate, best[limit - 1]) { continue }
                guard isIncluded(image) else { continue }
                if best.count == limit { best.removeLast() }
                best.insert(candidate, at: best.firstIndex { Self.isBetter(candidate, $0) } ?? best.count)
            }
            touched.removeAll(keepingCapacity: true)
        }
        return best
    }

    private static let smallestNorm = Float(fewestFeatures).squareRoot()
    /// A little below the smallest norm, so that rounding does not matter.
    private static let leastShare = 0.99 * smallestNorm
    /// Their tallies stay in the second-level cache.
    private static let imagesAtOnce = 1 << 15

    private static func isBetter(_ a: Candidate, _ b: Candidate) -> Bool { (b.score, a.image) < (a.score, b.image) }

    private struct Vote {
        let image: UInt32
        let feature: Int32
        let value: Float
    }

    /// The votes for an image.
    private struct Tally {
        private(set) var score: Float = 0
        /// The last feature that voted, and its vote.
        private var feature: Int32 = -1
        private var value: Float = 0

        /// Adds a vote; true if it is the first one.
        mutating func add(_ vote: Vote) -> Bool {
            let isFirst = feature < 0
            if vote.feature != feature {
                score += vote.value
                (feature, value) = (vote.feature, vote.value)
            } else if vote.value > value {
                score += vote.value - value
                value = vote.value
            }
            return isFirst
        }
    }

    /// All votes, in the order of the query's features.
    private func votes(of query: QueryWords) -> [Vote] {
        let largestDistance = Self.largestHammingDistance(imageCount: imageCount)
        let weights = (0...largestDistance).map { distance in
            exp(-Float(distance * distance) / (Self.hammingScale * Self.hammingScale))
        }
        let kernels = query.kernels.table
        guard Self.isListCount(images.shape.listCount, ofWords: query.wordCount) else { return [] }
        let partCount = images.shape.listCount / query.wordCount
        let probes = Self.probes(bits: partCount.trailingZeroBitCount)
        let lists = lists(of: query, partCount: partCount, probes: probes)
        var votes: [Vote] = []
        var found: [lk_hamming] = []
        for (index, number) in lists.enumerated() {
            if index + Self.listsAhead < lists.count { prefetch(list: Int(lists[index + Self.listsAhead])) }
            let (entry, number) = (query.entries[index / probes.count], Int(number))
            let list = features(ofList: number)
            if list.isEmpty || list.count > Self.longestList { continue }
            if found.count < list.count { found = Array(repeating: lk_hamming(), count: list.count) }
            let count = kernels.hamming_within(
                UInt32(truncatingIfNeeded: entry.signature), signatures.baseAddress.map { $0 + list.lowerBound },
                list.count, UInt32(largestDistance), &found)
            guard count > 0 else { continue }
            // Rare words count more: inverse document frequency.
            let word = Int(entry.word) * partCount
            let features = offsets[word + partCount] - min(offsets[word], offsets[word + partCount])
            let rarity = log(Float(imageCount) / Float(max(features, 1)) + 1)
            found.withUnsafeBufferPointer { found in
                withImages(
                    ofList: number, from: list.lowerBound, at: UnsafeBufferPointer(rebasing: found[..<count])
                ) { place, image in
                    votes.append(
                        Vote(
                            image: UInt32(image), feature: entry.feature,
                            value: weights[Int(found[place].distance)] * rarity))
                }
            }
        }
        return votes
    }

    /// The lists to read, as many for each entry as there are probes.
    private func lists(of query: QueryWords, partCount: Int, probes: [Int]) -> [UInt32] {
        let bits = partCount.trailingZeroBitCount
        var lists: [UInt32] = []
        lists.reserveCapacity(query.entries.count * probes.count)
        for entry in query.entries {
            let uncertain = entry.uncertainBits(bits)
            for probe in probes {
                var part = Int(truncatingIfNeeded: entry.signature) & (partCount - 1)
                for place in 0..<bits { part ^= (probe >> place & 1) << Int(uncertain >> UInt64(8 * place) & 7) }
                lists.append(UInt32(Int(entry.word) * partCount + part))
            }
        }
        return lists
    }

    /// Lists have some hundred features. A much longer one is that of a pattern which many images repeat, such as a
    /// screen of dots: it says little of any of them, and would take longer to read than all the others.
    private static let longestList = 16_384

    /// Lists are anywhere in a large file: while a few are read, the next one comes from memory.
    private static let listsAhead = 6

    private func prefetch(list: Int) {
        let features = features(ofList: list)
        guard let signatures = signatures.baseAddress, !features.isEmpty, features.count <= Self.longestList else {
            return
        }
        lk_prefetch(signatures + features.lowerBound, features.count * MemoryLayout<UInt32>.stride)
        images.prefetch(ofList: list, features)
    }

    /// The votes for each block of ``imagesAtOnce`` images, in their order.
    private func blocks(of votes: [Vote]) -> [ArraySlice<Vote>] {
        let count = (imageCount - 1) / Self.imagesAtOnce + 1
        guard count > 1 else { return [votes[...]] }
        var next = [Int](repeating: 0, count: count + 1)
        for vote in votes { next[Int(vote.image) / Self.imagesAtOnce + 1] += 1 }
        for block in 0..<count { next[block + 1] += next[block] }
        let ends = next.dropFirst()
        let sorted = [Vote](unsafeUninitializedCapacity: votes.count) { sorted, initialized in
            for vote in votes {
                let block = Int(vote.image) / Self.imagesAtOnce
                sorted.initializeElement(at: next[block], to: vote)
                next[block] += 1
            }
            initialized = votes.count
        }
        return zip([0] + ends, ends).map { sorted[$0..<$1] }
    }
}

/// A visual word of a feature, and the signature of the feature under it.
///
/// Features with the same word show similar things if few bits of their signatures differ: see `InvertedLists`.
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
    public var visualWords: [VisualWord] {
        zip(words, codes).enumerated().map { VisualWord(feature: $0, word: $1.0, signature: $1.1.signature) }
    }
}

/// The visual words of a query's features, with the signature of each feature under each of its words.
public struct QueryWords: Sendable {
    struct Entry: Sendable {
        let feature: Int32
        let word: UInt16
        let signature: UInt64
        /// `Vocabulary.margins`.
        let margins: SIMD8<Int16>

        /// The first bits of the signature, the least certain first, in 8 bits each.
        func uncertainBits(_ count: Int) -> UInt64 {
            var keys = SIMD8<Int16>(repeating: .max)
            for bit in 0..<count { keys[bit] = margins[bit] << 3 | Int16(bit) }
            var order: UInt64 = 0
            for place in 0..<count {
                let bit = keys.min() & 7
                order |= UInt64(bit) << UInt64(8 * place)
                keys[Int(bit)] = .max
            }
            return order
        }
    }

    /// Words per feature: what a capture changes can move a descriptor into a neighboring word (J. Philbin et al.,
    /// "Lost in Quantization", CVPR 2008).
    private static let wordsPerFeature = 5

    let entries: [Entry]
    let kernels: SIMDTarget
    /// The number of words that there are.
    let wordCount: Int

    /// Several words per feature.
    public var visualWords: [VisualWord] {
        entries.map { VisualWord(feature: Int($0.feature), word: $0.word, signature: $0.signature) }
    }

    init(_ query: QueryFeatures, model: LocalFeatureModel, kernels: SIMDTarget) {
        self.kernels = kernels
        wordCount = model.wordCount
        let (dimension, count) = (LocalFeatureModel.dimension, Self.wordsPerFeature)
        var entries: [Entry] = []
        entries.reserveCapacity(query.count * count)
        query.descriptors.withUnsafeBufferPointer { descriptors in
            let words = model.vocabulary.words(of: descriptors, count: count)
            for feature in 0..<query.count {
                let source = model.vocabulary.signatureSource(
                    UnsafeBufferPointer(rebasing: descriptors[(feature * dimension)..<((feature + 1) * dimension)]))
                model.vocabulary.signatures(
                    of: source, words: words[(feature * count)..<((feature + 1) * count)]
                ) { word, signature in
                    entries.append(
                        Entry(
                            feature: Int32(feature), word: word, signature: signature,
                            margins: model.vocabulary.margins(of: source, word: word)))
                }
            }
        }
        self.entries = entries
    }
}
