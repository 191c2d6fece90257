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

    /// A bit of each component says on which side of the word's center it is, and one of the first 32 whether it is
    /// farther than 0.9816 standard deviations.
    @Test func codesSayWhereADescriptorLiesFromItsWord() throws {
        let reference = try ReferenceModel()
        let extractor = try FeatureFixture.extractor()
        let features = extractor.features(of: FeatureFixture.image)
        let raw = extractor.rawDescriptors(of: FeatureFixture.image)
        for index in 0..<features.count {
            let descriptor = reference.projected(raw[(index * 128)..<((index + 1) * 128)])
            let word = Int(features.words[index])
            for component in 0..<64 {
                let offset = descriptor[component] - reference.center(word, component)
                let isAbove = features.codes[index].signature >> UInt64(component) & 1 == 1
                #expect(isAbove == (offset > 0) || abs(offset) < 1e-5)
                let threshold = component < 32 ? 0.9816 * Double(reference.deviations[component]) : .infinity
                let isFar = UInt64(features.codes[index].far) >> UInt64(component) & 1 == 1
                #expect(isFar == (abs(offset) > threshold) || abs(abs(offset) - threshold) < 1e-5)
            }
        }
    }

    /// Descriptors are most of what they were: the mean squared error was 0.05 when the quantizer was fitted.
    @Test func codesStandForTheProjectedDescriptor() throws {
        let reference = try ReferenceModel()
        let extractor = try FeatureFixture.extractor()
        var errors: [Double] = []
        for image in Self.images {
            let features = extractor.features(of: image)
            let raw = extractor.rawDescriptors(of: image)
            let restored = LocalFeatureQuery(features, model: extractor.model).features
            for index in 0..<features.count {
                let descriptor = reference.projected(raw[(index * 128)..<((index + 1) * 128)])
                let values = restored.descriptors[(index * 64)..<((index + 1) * 64)].map(Double.init)
                #expect(abs(values.reduce(0) { $0 + $1 * $1 } - 1) < 1e-4)
                errors.append(zip(descriptor, values).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) })
            }
        }
        let mean = errors.reduce(0, +) / Double(errors.count)
        #expect(mean < 0.08, "\(mean)")
    }

    @Test func listsHaveTheSignaturesInTheOrderOfWords() throws {
        let features = try FeatureFixture.extractor().features(of: FeatureFixture.image)
        let runs = try (0..<2).map { _ in
            var builder = InvertedListsBuilder(try FeatureFixture.model())
            builder.append(features)
            return builder.takeRun()
        }
        #expect(runs[0].signatures == runs[1].signatures)
        // Within a list, features keep their order.
        let order = (0..<features.count).sorted { (features.words[$0], $0) < (features.words[$1], $1) }
        let expected = order.map { UInt32(truncatingIfNeeded: features.codes[$0].signature) }
        #expect(runs[0].signatures == expected && Set(expected).count > features.count / 2)
    }
}
