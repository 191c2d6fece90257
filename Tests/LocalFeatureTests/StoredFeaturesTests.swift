import Foundation
import LocalFeatures
import TestSupport
import Testing

struct StoredFeaturesTests {
    @Test func readBackWithinTheQuantization() throws {
        let features = try FeatureFixture.extractor().features(of: SampleImage.shapes(seed: 3, width: 300, height: 170))
        #expect(features.count > 50)
        #expect(features.encoded.count == 8 + 19 * features.count + 8 * features.dense.count)
        let copy = try #require(LocalFeatures(encoded: features.encoded))
        #expect((copy.width, copy.height) == (features.width, features.height))
        #expect(copy.words == features.words && copy.codes == features.codes && copy.count == features.count)
        #expect(copy.dense == features.dense && copy.dense.count == 255)
        for (a, b) in zip(features.keypoints, copy.keypoints) {
            #expect(abs(a.x - b.x) <= 0.51 / 4_095 * Float(features.width) + 1e-4)
            #expect(abs(a.y - b.y) <= 0.51 / 4_095 * Float(features.height) + 1e-4)
            #expect(abs(log2(a.scale / b.scale)) <= 0.51 / 16)
            #expect(angleBetween(a.angle, b.angle) <= 0.51 / 256 * 2 * .pi)
        }
        #expect(copy.encoded == features.encoded)
    }

    @Test func haveTheDocumentedForm() throws {
        let features = try FeatureFixture.extractor().features(of: FeatureFixture.image)
        #expect(StoredFeatures(features).data == features.encoded)
    }

    /// A slice of other data has other indices.
    @Test func aSliceIsReadToo() throws {
        let features = try FeatureFixture.extractor().features(of: FeatureFixture.image)
        let longer = Data([9, 9, 9]) + features.encoded
        #expect(LocalFeatures(encoded: longer[3...])?.codes == features.codes)
    }

    @Test func noFeaturesAreFeaturesToo() throws {
        let features = try FeatureFixture.extractor().features(of: FeatureFixture.gray(width: 60, height: 50))
        #expect(features.count == 0 && features.encoded.count == 8 + 8 * features.dense.count)
        #expect(LocalFeatures(encoded: features.encoded) == features)
    }

    @Test func wordsBeyondTheVocabularyAreRefused() throws {
        var stored = StoredFeatures(try FeatureFixture.extractor().features(of: FeatureFixture.image))
        stored.words[stored.words.count - 1] = 1000
        let largest = Int(try #require(stored.words.max()))
        #expect(LocalFeatures(encoded: stored.data, wordCount: largest + 1)?.words == stored.words)
        #expect(LocalFeatures(encoded: stored.data, wordCount: largest) == nil)
        #expect(LocalFeatures(encoded: stored.data, wordCount: 0) == nil)
        #expect(LocalFeatures(encoded: stored.data.dropLast(), wordCount: largest + 1) == nil)
    }

    @Test func otherBytesAreRefused() throws {
        let data = try FeatureFixture.extractor().features(of: FeatureFixture.image).encoded
        for count in [0, 1, 7, 8, 9, 26, 27, data.count - 8, data.count - 1] {
            #expect(LocalFeatures(encoded: data.prefix(count)) == nil, "cut to \(count)")
        }
        #expect(LocalFeatures(encoded: data + [0]) == nil && LocalFeatures(encoded: data + Data(count: 19)) == nil)
        for (position, value) in [(0, 0), (0, 1), (0, 255)] {
            var changed = data
            changed[position] = UInt8(value)
            #expect(LocalFeatures(encoded: changed) == nil, "version \(value)")
        }
        for position in [2, 4] {
            var changed = data
            (changed[position], changed[position + 1]) = (0, 0)
            #expect(LocalFeatures(encoded: changed) == nil, "a side of 0")
        }
        // The count says one more, or one less.
        for step in [1, -1] {
            var changed = data
            changed[6] = UInt8(truncatingIfNeeded: Int(changed[6]) + step)
            #expect(LocalFeatures(encoded: changed) == nil)
        }
    }
}
