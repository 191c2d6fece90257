import Compute
import Foundation
import Imaging
import LocalFeatures
import TestSupport
import Testing

/// Inverted lists in memory.
enum InvertedListsFixture {
    /// - Parameter runLength: the features of a run, about.
    static func build(_ images: [LocalFeatures?], bits: Int = 0, runLength: Int = .max) throws -> InvertedLists {
        let model = try FeatureFixture.model()
        var builder = InvertedListsBuilder(model)
        var runs: [InvertedListsBuilder.Run] = []
        for image in images {
            builder.append(image)
            if builder.pendingCount >= runLength { runs.append(builder.takeRun()) }
        }
        runs.append(builder.takeRun())
        let memory = Memory()
        let merged = InvertedListsMerge(
            runs: runs.map {
                InvertedListsMerge.StoredRun(
                    offsets: memory.copy($0.offsets), images: memory.copy($0.images),
                    signatures: memory.copy($0.signatures), owner: memory)
            }, changedCounts: builder.featureCounts, positions: Array(0..<UInt32(images.count)), earlier: nil,
            moved: [], imageCount: images.count, wordCount: model.wordCount, divisionBits: bits)
        var lists: [[(image: UInt32, signature: UInt32)]] = []
        merged.forEachList { images, signatures in lists.append(zip(images, signatures).map { ($0, $1) }) }
        return parts(lists, featureCounts: merged.featureCounts).lists
    }

    /// The features of a list: their images and signatures.
    static func features(_ lists: InvertedLists, ofList list: Int) -> [[UInt32]] {
        var (images, signatures): ([UInt32], [UInt32]) = ([], [])
        lists.readFeatures(ofList: list, images: &images, signatures: &signatures)
        return zip(images, signatures).map { [$0, $1] }
    }

    /// Keeps copies of arrays.
    private final class Memory: @unchecked Sendable {
        private var buffers: [UnsafeMutableRawBufferPointer] = []

        func copy<Element>(_ array: [Element]) -> UnsafeBufferPointer<Element> {
            let buffer = UnsafeMutableBufferPointer<Element>.allocate(capacity: array.count)
            _ = buffer.initialize(from: array)
            buffers.append(UnsafeMutableRawBufferPointer(buffer))
            return UnsafeBufferPointer(buffer)
        }

        deinit { for buffer in buffers { buffer.deallocate() } }
    }

    /// The parts of lists, which a test may damage.
    struct Parts {
        var offsets: [UInt64]
        var signatures: [UInt32]
        var lows: [UInt64]
        var highs: [UInt64]
        var featureCounts: [UInt16]

        var lists: InvertedLists {
            let memory = Memory()
            return InvertedLists(
                offsets: memory.copy(offsets), signatures: memory.copy(signatures), lows: memory.copy(lows),
                highs: memory.copy(highs), featureCounts: memory.copy(featureCounts), owner: memory)
        }
    }

    /// Parts of lists of images, which ascend, and of signatures.
    static func parts(_ lists: [[(image: UInt32, signature: UInt32)]], featureCounts: [UInt16]) -> Parts {
        let offsets = lists.reduce(into: [UInt64(0)]) { $0.append(($0.last ?? 0) + UInt64($1.count)) }
        let shape = InvertedListsShape(
            listCount: lists.count, imageCount: featureCounts.count, featureCount: Int(offsets.last ?? 0))
        let coded = [ImageEncoder.Part.lows, .highs].map { part in
            var encoder = ImageEncoder(part, of: shape)
            return lists.flatMap { list in
                encoder.append(list.map(\.image))
                return encoder.takeWords()
            } + encoder.finish()
        }
        return Parts(
            offsets: offsets, signatures: lists.flatMap { $0.map(\.signature) }, lows: coded[0], highs: coded[1],
            featureCounts: featureCounts)
    }
}

struct InvertedListsTests {
    /// The rule of the documentation, in double precision: a feature of the query votes once for an image, by the most
    /// similar signature under any of its five nearest words.
    private static func expected(
        _ raw: [Float], _ images: [LocalFeatures?], _ reference: ReferenceModel
    ) -> [(image: Int, score: Double)] {
        var lists: [Int: [(image: Int, signature: UInt64)]] = [:]
        for (image, features) in images.enumerated() {
            guard let features else { continue }
            for index in 0..<features.count {
                let word = Int(features.words[index])
                lists[word, default: []].append((image, features.codes[index].signature))
            }
        }
        var scores: [Int: Double] = [:]
        for start in stride(from: 0, to: raw.count, by: 128) {
            let descriptor = reference.projectedAsFloats(raw[start..<(start + 128)])
            var votes: [Int: Double] = [:]
            for word in reference.words(of: descriptor, count: 5) {
                let list = lists[word] ?? []
                let signature = reference.signature(of: descriptor.map(Double.init), word: word)
                let rarity = log(Double(images.count) / Double(max(list.count, 1)) + 1)
                for entry in list {
                    // The first half of the signature.
                    let distance = UInt32(truncatingIfNeeded: entry.signature ^ signature).nonzeroBitCount
                    guard distance <= 10 else { continue }
                    votes[entry.image] = max(
                        votes[entry.image] ?? 0, rarity * exp(-Double(distance * distance) / 49))
                }
            }
            for (image, vote) in votes { scores[image, default: 0] += vote }
        }
        return scores.map { image, score in
            (image, score / Double(max(images[image]?.count ?? 0, 30)).squareRoot())
        }.sorted { ($1.score, $0.image) < ($0.score, $1.image) }
    }

    /// One image has no features, one has few, two are equal.
    private static func collection(_ extractor: LocalFeatureExtractor) -> [LocalFeatures?] {
        var images: [LocalFeatures?] = (0..<12).map { extractor.features(of: SampleImage.shapes(seed: UInt64($0))) }
        images[4] = nil
        images[6] = extractor.features(of: SampleImage.shapes(seed: 6), detail: .init(longSide: 384, keypointCount: 12))
        images[9] = images[1]
        return images
    }

    @Test func candidatesFollowTheStatedRule() throws {
        let extractor = try FeatureFixture.extractor()
        let reference = try ReferenceModel()
        let images = Self.collection(extractor)
        let lists = try InvertedListsFixture.build(images)
        #expect(lists.imageCount == 12)
        for (degrees, scale) in [(0.0, 1.0), (40, 0.9)] {
            let (image, _) = try FeatureFixture.placed(degrees: degrees, scale: scale)
            let words = LocalFeatureQuery(extractor.queryFeatures(of: image), model: extractor.model).words
            let expected = Self.expected(extractor.rawDescriptors(of: image, detail: .query), images, reference)
            #expect(expected.count > 5)
            let found = lists.candidates(for: words, limit: 12)
            #expect(Set(found.map(\.image)) == Set(expected.map(\.image)))
            let scores = Dictionary(uniqueKeysWithValues: expected.map { ($0.image, $0.score) })
            for candidate in found {
                // A signature's bit, or a word, on the edge of rounding changes a score a little.
                let score = scores[candidate.image] ?? 0
                #expect(abs(Double(candidate.score) - score) < 0.01 * score + 0.01, "image \(candidate.image)")
            }
            #expect(zip(found, found.dropFirst()).allSatisfy { ($1.score, $0.image) < ($0.score, $1.image) })
            // Images 1 and 9 are equal: the first comes first.
            #expect(found.prefix(2).map(\.image) == [1, 9] && found[0].score == found[1].score)
            #expect(found[1].score > 3 * (found.count > 2 ? found[2].score : 0))
        }
    }

    @Test func limitsAndFiltersPickFromTheSameOrder() throws {
        let extractor = try FeatureFixture.extractor()
        let lists = try InvertedListsFixture.build(Self.collection(extractor))
        let words = LocalFeatureQuery(
            extractor.queryFeatures(of: FeatureFixture.image), model: extractor.model
        ).words
        let all = lists.candidates(for: words, limit: 100)
        #expect(all.count > 5)
        for limit in 0...all.count {
            #expect(lists.candidates(for: words, limit: limit) == Array(all.prefix(limit)))
            for divisor in [2, 3] {
                let wanted = all.filter { $0.image % divisor == 1 }
                let found = lists.candidates(for: words, limit: limit) { $0 % divisor == 1 }
                #expect(found == Array(wanted.prefix(limit)), "limit \(limit), divisor \(divisor)")
            }
        }
        #expect(lists.candidates(for: words, limit: 5) { _ in false }.isEmpty)
    }

    @Test func theStrongestFeaturesVote() throws {
        let extractor = try FeatureFixture.extractor()
        let features = extractor.queryFeatures(of: FeatureFixture.image)
        let all = LocalFeatureQuery(features, model: extractor.model).words.visualWords
        #expect(features.count > 20 && Set(all.map(\.feature)) == Set(0..<features.count))
        for count in [0, 1, 20, features.count, .max] {
            let query = LocalFeatureQuery(features, model: extractor.model, votingCount: count)
            #expect(query.words.visualWords == all.filter { $0.feature < count }, "\(count)")
            #expect(query.features.count == features.count)
        }
    }

    @Test func everySIMDTargetVotesTheSame() throws {
        let extractor = try FeatureFixture.extractor()
        let lists = try InvertedListsFixture.build(Self.collection(extractor))
        let features = extractor.queryFeatures(of: FeatureFixture.image)
        let found = SIMDTarget.available.map { simd in
            lists.candidates(
                for: LocalFeatureQuery(features, model: extractor.model, simd: simd).words, limit: 12)
        }
        #expect(found.allSatisfy { $0 == found[0] } && found[0].count > 5)
    }

    @Test func emptyListsHaveNoCandidates() throws {
        let extractor = try FeatureFixture.extractor()
        let words = LocalFeatureQuery(
            extractor.queryFeatures(of: FeatureFixture.image), model: extractor.model
        ).words
        for images in [[], [nil, nil]] as [[LocalFeatures?]] {
            let lists = try InvertedListsFixture.build(images)
            #expect(lists.imageCount == images.count && lists.candidates(for: words, limit: 5).isEmpty)
        }
    }

    @Test(arguments: [1, 150, 600]) func runsAreMergedToTheSameLists(length: Int) throws {
        let images = Self.collection(try FeatureFixture.extractor())
        let whole = try InvertedListsFixture.build(images)
        let merged = try InvertedListsFixture.build(images, runLength: length)
        for word in 0..<65_536 {
            let expected = InvertedListsFixture.features(whole, ofList: word)
            #expect(InvertedListsFixture.features(merged, ofList: word) == expected, "word \(word)")
        }
    }

    /// Parts of a list have the features whose signatures start with their bits, in the order of the images.
    @Test(arguments: [1, 2, 4, 8]) func dividedListsHoldTheSameFeatures(bits: Int) throws {
        let images = Self.collection(try FeatureFixture.extractor())
        let before = try InvertedListsFixture.build(images)
        let after = try InvertedListsFixture.build(images, bits: bits)
        for word in 0..<65_536 {
            let whole = InvertedListsFixture.features(before, ofList: word)
            for part in 0..<(1 << bits) {
                let expected = whole.filter { Int($0[1]) & (1 << bits - 1) == part }
                let found = InvertedListsFixture.features(after, ofList: word << bits | part)
                #expect(found == expected, "word \(word), part \(part)")
            }
        }
        #expect(InvertedLists.isListCount(65_536 << bits, ofWords: 65_536))
        #expect(!InvertedLists.isListCount(65_537 << bits, ofWords: 65_536))
        #expect(!InvertedLists.isListCount(65_536 << 9, ofWords: 65_536))
    }

    /// Some parts of a list are read: at least that of the feature itself, at most all.
    @Test(arguments: [1, 2, 4, 8]) func dividedListsVoteForNearlyTheSame(bits: Int) throws {
        let extractor = try FeatureFixture.extractor()
        let images = Self.collection(extractor)
        let whole = try InvertedListsFixture.build(images)
        let divided = try InvertedListsFixture.build(images, bits: bits)
        let (image, _) = try FeatureFixture.placed(degrees: 40, scale: 0.9)
        let words = LocalFeatureQuery(extractor.queryFeatures(of: image), model: extractor.model).words
        let all = Dictionary(
            uniqueKeysWithValues: whole.candidates(for: words, limit: 12).map { ($0.image, $0.score) })
        let found = divided.candidates(for: words, limit: 12)
        #expect(found.prefix(2).map(\.image) == [1, 9])
        for candidate in found { #expect(candidate.score <= (all[candidate.image] ?? 0) * 1.0001) }
        #expect(found[0].score > 0.8 * (all[1] ?? 0), "\(found[0].score) of \(all[1] ?? 0)")
        // An image finds itself in the first part of each list.
        let own = LocalFeatureQuery(try #require(images[1]), model: extractor.model).words
        let best = (whole.candidates(for: own, limit: 1), divided.candidates(for: own, limit: 1))
        #expect(best.1[0].image == 1 && best.1[0].score > 0.9 * best.0[0].score)
    }

    @Test func largeCatalogsHaveDividedLists() {
        let bits = [0, 1, 262_143, 262_144, 1_000_000, 10_000_000, 1_000_000_000].map {
            InvertedLists.divisionBits(imageCount: $0)
        }
        #expect(bits == [0, 0, 0, 3, 4, 8, 8])
    }

    /// More images than are added up at a time, some of them without features, and lists of all lengths.
    /// The larger a catalog, the more similar signatures have to be.
    @Test(arguments: [
        (UInt64(1), 30_000, 10), (2, 90_000, 10), (3, 262_143, 10), (4, 262_144, 9), (5, 4_194_303, 9),
        (6, 4_194_304, 8),
    ])
    func manyImagesFollowTheStatedRule(seed: UInt64, imageCount: Int, largestDistance: Int) throws {
        var random = SeededGenerator(seed: seed)
        let extractor = try FeatureFixture.extractor()
        let words = LocalFeatureQuery(
            extractor.queryFeatures(of: FeatureFixture.image), model: extractor.model
        ).words
        let counts = (0..<imageCount).map { _ in UInt16.random(in: 0...300, using: &random) }
        var lists = [[(image: UInt32, signature: UInt32)]](repeating: [], count: 65_536)
        for word in words.visualWords where lists[Int(word.word)].isEmpty {
            let count = Int.random(in: 0...Int.random(in: 1...400, using: &random), using: &random)
            // A few images get many votes.
            lists[Int(word.word)] = (0..<count).map { _ in
                let image = UInt32.random(in: 0..<UInt32(imageCount), using: &random)
                let flipped = (0..<Int.random(in: 0...14, using: &random)).reduce(UInt32(0)) { bits, _ in
                    bits | 1 << UInt32.random(in: 0..<32, using: &random)
                }
                return (image % 8 == 0 ? image % 4096 : image, UInt32(truncatingIfNeeded: word.signature) ^ flipped)
            }.sorted { $0.image < $1.image }
        }
        var expected: [Int: Double] = [:]
        let features = Dictionary(grouping: words.visualWords, by: \.feature)
        for (_, words) in features {
            var votes: [Int: Double] = [:]
            for word in words {
                let list = lists[Int(word.word)]
                let rarity = log(Double(imageCount) / Double(max(list.count, 1)) + 1)
                for (image, signature) in list {
                    let distance = (signature ^ UInt32(truncatingIfNeeded: word.signature)).nonzeroBitCount
                    guard distance <= largestDistance else { continue }
                    votes[Int(image)] = max(votes[Int(image)] ?? 0, rarity * exp(-Double(distance * distance) / 49))
                }
            }
            for (image, vote) in votes { expected[image, default: 0] += vote }
        }
        for (image, score) in expected { expected[image] = score / Double(max(counts[image], 30)).squareRoot() }
        let found = InvertedListsFixture.parts(lists, featureCounts: counts).lists.candidates(for: words, limit: 60)
        #expect(found.count == 60, "seed \(seed)")
        #expect(zip(found, found.dropFirst()).allSatisfy { ($1.score, $0.image) < ($0.score, $1.image) })
        for (candidate, score) in zip(found, expected.values.sorted(by: >)) {
            #expect(abs(Double(candidate.score) - score) < 1e-4 * score, "seed \(seed), image \(candidate.image)")
            #expect(abs(Double(candidate.score) - (expected[candidate.image] ?? 0)) < 1e-4 * score, "seed \(seed)")
        }
    }

    /// A pattern that many images repeat would take longer to read than all the rest.
    @Test(arguments: [(16_384, true), (16_385, false)]) func veryLongListsAreLeftOut(count: Int, isRead: Bool) throws {
        let extractor = try FeatureFixture.extractor()
        let words = LocalFeatureQuery(
            extractor.queryFeatures(of: FeatureFixture.image), model: extractor.model
        ).words
        var lists = [[(image: UInt32, signature: UInt32)]](repeating: [], count: 65_536)
        let pattern = try #require(words.visualWords.first)
        let other = try #require(words.visualWords.first { $0.word != pattern.word })
        lists[Int(pattern.word)] = (0..<count).map {
            (UInt32(100 + $0), UInt32(truncatingIfNeeded: pattern.signature))
        }
        lists[Int(other.word)] = [(5, UInt32(truncatingIfNeeded: other.signature))]
        let found = InvertedListsFixture.parts(lists, featureCounts: Array(repeating: 200, count: 100 + count))
            .lists.candidates(for: words, limit: 50)
        #expect(found.first?.image == 5)
        #expect(found.count == (isRead ? 50 : 1))
    }

    @Test(arguments: 0..<40) func codedImagesAreReadBack(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let imageCount = [0, 1, 2, 63, 64, 65, 1000, 70_000][seed % 8]
        // One list, few, or more than there are features.
        let listCount = [1, 3, 300][seed % 3]
        let lists = (0..<listCount).map { _ -> [(image: UInt32, signature: UInt32)] in
            let longest = imageCount == 0 ? 0 : [0, 1, 40, 900][Int.random(in: 0..<4, using: &random)]
            return (0..<Int.random(in: 0...longest, using: &random)).map { _ in
                UInt32.random(in: 0..<UInt32(imageCount), using: &random)
            }.sorted().map { ($0, UInt32(truncatingIfNeeded: random.next())) }
        }
        let read = InvertedListsFixture.parts(lists, featureCounts: Array(repeating: 1, count: imageCount)).lists
        for (index, list) in lists.enumerated() {
            let features = InvertedListsFixture.features(read, ofList: index)
            #expect(features == list.map { [$0.image, $0.signature] }, "seed \(seed), list \(index)")
        }
    }

    /// As in lists of a file that another program changed.
    @Test func imagesThatDoNotAscendTakeNoMoreRoom() {
        var random = SeededGenerator(seed: 77)
        let lists = (0..<5).map { _ in (0..<100).map { _ in UInt32.random(in: 0..<9_000, using: &random) } }
        let shape = InvertedListsShape(listCount: 5, imageCount: 9_000, featureCount: 500)
        for (part, count) in [(ImageEncoder.Part.lows, shape.lowWordCount), (.highs, shape.highWordCount)] {
            var encoder = ImageEncoder(part, of: shape)
            for list in lists { encoder.append(list) }
            #expect(encoder.takeWords().count + encoder.finish().count == count)
        }
    }

    /// Whatever the bits say, images are among those that there are.
    @Test(arguments: 0..<40) func damagedListsAreReadWithoutHarm(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let extractor = try FeatureFixture.extractor()
        let words = LocalFeatureQuery(
            extractor.queryFeatures(of: FeatureFixture.image), model: extractor.model
        ).words
        let imageCount = [1, 50, 33_000][seed % 3]
        var lists = [[(image: UInt32, signature: UInt32)]](repeating: [], count: 65_536)
        for word in words.visualWords {
            lists[Int(word.word)] = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                (UInt32.random(in: 0..<UInt32(imageCount), using: &random), UInt32(truncatingIfNeeded: word.signature))
            }.sorted { $0.image < $1.image }
        }
        var parts = InvertedListsFixture.parts(lists, featureCounts: Array(repeating: 9, count: imageCount))
        func damage(_ words: inout [UInt64], _ value: (inout SeededGenerator) -> UInt64) {
            for _ in 0..<Int.random(in: 0...300, using: &random) {
                words[Int.random(in: 0..<words.count, using: &random)] = value(&random)
            }
        }
        damage(&parts.lows) { $0.next() }
        damage(&parts.highs) { [0, .max, $0.next()][Int.random(in: 0..<3, using: &$0)] }
        if seed % 2 == 1 {
            damage(&parts.offsets) {
                UInt64.random(in: 0...[100, .max][Int.random(in: 0..<2, using: &$0)], using: &$0)
            }
        }
        let read = parts.lists
        for candidate in read.candidates(for: words, limit: 20) {
            #expect((0..<imageCount).contains(candidate.image), "seed \(seed)")
        }
        for list in 0..<65_536 {
            for feature in InvertedListsFixture.features(read, ofList: list) where feature[0] >= imageCount {
                Issue.record("seed \(seed), image \(feature[0])")
            }
        }
    }
}
