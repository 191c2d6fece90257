import Compute
import Foundation
import Imaging
import LocalFeatures
import TestSupport
import Testing

/// Inverted lists in memory.
enum InvertedListsFixture {
    static func build(_ images: [LocalFeatures?]) throws -> InvertedListsBuilder {
        var builder = InvertedListsBuilder(try FeatureFixture.model())
        for image in images { builder.count(image) }
        builder.finishCounting()
        for (index, image) in images.enumerated() { if let image { builder.place(image, image: index) } }
        return builder
    }

    /// Keeps copies of the builder's arrays.
    private final class Memory: @unchecked Sendable {
        let offsets: UnsafeMutableBufferPointer<UInt64>
        let signatures: UnsafeMutableBufferPointer<UInt64>
        let images: UnsafeMutableBufferPointer<UInt32>
        let counts: UnsafeMutableBufferPointer<UInt16>

        init(_ builder: InvertedListsBuilder) {
            func copy<Element>(_ array: [Element]) -> UnsafeMutableBufferPointer<Element> {
                let buffer = UnsafeMutableBufferPointer<Element>.allocate(capacity: array.count)
                _ = buffer.initialize(from: array)
                return buffer
            }
            (offsets, signatures) = (copy(builder.offsets), copy(builder.signatures))
            (images, counts) = (copy(builder.images), copy(builder.featureCounts))
        }

        deinit {
            offsets.deallocate()
            signatures.deallocate()
            images.deallocate()
            counts.deallocate()
        }
    }

    static func lists(_ builder: InvertedListsBuilder) -> InvertedLists {
        let memory = Memory(builder)
        return InvertedLists(
            offsets: UnsafeBufferPointer(memory.offsets), signatures: UnsafeBufferPointer(memory.signatures),
            images: UnsafeBufferPointer(memory.images), featureCounts: UnsafeBufferPointer(memory.counts),
            owner: memory)
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
                let descriptor = reference.restored(features.codes[(32 * index)..<(32 * index + 32)])
                lists[word, default: []].append((image, reference.signature(of: descriptor, word: word)))
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
                    let distance = (entry.signature ^ signature).nonzeroBitCount
                    guard distance <= 22 else { continue }
                    votes[entry.image] = max(
                        votes[entry.image] ?? 0, rarity * exp(-Double(distance * distance) / 144))
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
        let lists = InvertedListsFixture.lists(try InvertedListsFixture.build(images))
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
        let lists = InvertedListsFixture.lists(try InvertedListsFixture.build(Self.collection(extractor)))
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

    @Test func everySIMDTargetVotesTheSame() throws {
        let extractor = try FeatureFixture.extractor()
        let lists = InvertedListsFixture.lists(try InvertedListsFixture.build(Self.collection(extractor)))
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
            let lists = InvertedListsFixture.lists(try InvertedListsFixture.build(images))
            #expect(lists.imageCount == images.count && lists.candidates(for: words, limit: 5).isEmpty)
        }
    }
}
