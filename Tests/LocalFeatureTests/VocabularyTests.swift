import Foundation
import Imaging
import LocalFeatures
import TestSupport
import Testing

struct VocabularyTests {
    private static let images = [
        SampleImage.shapes(seed: 5), SampleImage.shapes(seed: 6, count: 300), SampleImage.blocks(seed: 7),
    ]

    /// The search compares the words of three groups alone. Measured on these images: the nearest
    /// word for 211 of 229 descriptors (92 %), and one at most 1.15 times as far (squared) for 227.
    @Test func theNearestWordIsFoundForMostDescriptors() throws {
        let reference = try ReferenceModel()
        let extractor = try FeatureFixture.extractor()
        var (total, right, near) = (0, 0, 0)
        for image in Self.images {
            let features = extractor.features(of: image)
            let raw = extractor.rawDescriptors(of: image)
            #expect(raw.count == features.count * 128)
            for index in stride(from: 0, to: features.count, by: 2) {
                let descriptor = reference.projected(raw[(index * 128)..<((index + 1) * 128)])
                let nearest = reference.nearestWord(descriptor)
                total += 1
                if Int(features.words[index]) == nearest.word { right += 1 }
                let distance = reference.squaredDistance(descriptor, word: Int(features.words[index]))
                if distance <= 1.15 * nearest.distance { near += 1 }
            }
        }
        #expect(total > 150)
        #expect(right * 100 >= total * 85, "\(right) of \(total)")
        #expect(near * 100 >= total * 95, "\(near) of \(total) are a little farther at most")
    }

    /// The two-level search itself, written out.
    @Test func wordsAreThoseOfTheNearestGroups() throws {
        let reference = try ReferenceModel()
        let extractor = try FeatureFixture.extractor()
        for image in Self.images {
            let features = extractor.features(of: image)
            let raw = extractor.rawDescriptors(of: image)
            let expected = (0..<features.count).map { index in
                reference.words(
                    of: reference.projectedAsFloats(raw[(index * 128)..<((index + 1) * 128)]), count: 1)[0]
            }
            let same = zip(features.words, expected).count { Int($0) == $1 }
            // Equal scores but for rounding may change places.
            #expect(same * 100 >= features.count * 99, "\(same) of \(features.count)")
        }
    }

    /// Codes are the descriptor's components, within half a step.
    @Test func codesStandForTheProjectedDescriptor() throws {
        let reference = try ReferenceModel()
        let extractor = try FeatureFixture.extractor()
        let features = extractor.features(of: FeatureFixture.image)
        let raw = extractor.rawDescriptors(of: FeatureFixture.image)
        for index in 0..<features.count {
            let descriptor = reference.projected(raw[(index * 128)..<((index + 1) * 128)])
            let codes = features.codes[(32 * index)..<(32 * index + 32)].flatMap { [$0 & 15, $0 >> 4] }
            for (component, code) in codes.enumerated() {
                let step = Double(reference.steps[component])
                // The outermost codes stand for all that is beyond, too.
                let wanted = min(max(descriptor[component], -7.5 * step), 7.5 * step)
                #expect(abs((Double(code) - 7.5) * step - wanted) <= 0.5 * step + 1e-5)
            }
        }
    }

    @Test func signaturesSayOnWhichSideOfTheCenterADescriptorLies() throws {
        let reference = try ReferenceModel()
        let extractor = try FeatureFixture.extractor()
        let features = extractor.features(of: FeatureFixture.image)
        let builder = try InvertedListsFixture.build([features])
        #expect(try InvertedListsFixture.build([features]).signatures == builder.signatures)
        #expect(builder.signatures.count == features.count && Set(builder.signatures).count > features.count / 2)
        // Within a list, features keep their order.
        let order = (0..<features.count).sorted { (features.words[$0], $0) < (features.words[$1], $1) }
        for (position, index) in order.enumerated() {
            let word = Int(features.words[index])
            let descriptor = reference.restored(features.codes[(32 * index)..<(32 * index + 32)])
            let expected = reference.signature(of: descriptor, word: word)
            let different = builder.signatures[position] ^ UInt32(truncatingIfNeeded: expected)
            for bit in 0..<32 where different >> UInt32(bit) & 1 == 1 {
                let center = Double(Int(reference.centers[word * 64 + bit]) - reference.zero) * Double(reference.unit)
                #expect(abs(descriptor[bit] - center) < 1e-5, "a component may round to its center at most")
            }
        }
    }
}
