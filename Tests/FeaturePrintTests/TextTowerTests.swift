import Compute
import FeaturePrints
import Foundation
import Inference
import TestSupport
import Testing

/// A model of two towers made by hand, whose texts are sums of vectors of their words.
struct TextTowerTests {
    @Test func embedsTextsAsTheGraphSays() throws {
        let model = try FeaturePrintModel(TwoTowers.file(), named: "towers")
        #expect(model.readsTexts)
        let print = try model.featurePrint(describedBy: "red lamp red")
        // The vectors of the words that are no padding, summed.
        var expected = [Double](repeating: 0, count: TwoTowers.dimension)
        for word in ["red", "lamp", "red"] {
            let vector = try #require(TwoTowers.vectors[word])
            for (index, value) in vector.enumerated() { expected[index] += Double(value) }
        }
        let norm = expected.reduce(0) { $0 + $1 * $1 }.squareRoot()
        for (own, other) in zip(print.vector, expected) { #expect(abs(Double(own) - other / norm) < 1e-3) }
        // What is longer than the network takes is cut.
        let long = try model.featurePrint(describedBy: "red lamp red red blue blue blue blue")
        #expect(long == (try model.featurePrint(describedBy: "red lamp red red")))
    }

    @Test func identityIsThatOfImages() throws {
        let both = try FeaturePrintModel(TwoTowers.file(), named: "both")
        let images = try FeaturePrintModel(TwoTowers.file(readsTexts: false), named: "images")
        #expect(both.identity == images.identity)
        #expect(!images.readsTexts)
        let error = #expect(throws: ModelError.self) { try images.featurePrint(describedBy: "red") }
        #expect(error?.reason == .readsNoTexts)
    }

    @Test func probabilitiesAreThoseOfTheLogits() throws {
        let pairs = try FeaturePrintModel(TwoTowers.file(logits: #"{"scale": 10, "bias": -5}"#), named: "pairs")
        // The cosine of a distance of 1 is ½.
        #expect(pairs.probability(ofDistance: 1) == 0.5)
        #expect(pairs.probabilities(ofDistances: [1, 1]) == [0.5, 0.5])
        let several = try FeaturePrintModel(TwoTowers.file(logits: #"{"scale": 10}"#), named: "several")
        #expect(several.probability(ofDistance: 1) == nil)
        let shares = try #require(several.probabilities(ofDistances: [1, 2.0.squareRoot()]))
        #expect(abs(shares[0] - 1 / (1 + exp(-5))) < 1e-12)
        #expect(try FeaturePrintModel(TwoTowers.file(), named: "none").probabilities(ofDistances: [1]) == nil)
    }

    /// The part for images is as it was.
    @Test(arguments: [
        (#""length":4"#, #""length":0"#), (#""padding":0"#, #""padding":99"#), (#""version":1"#, #""version":7"#),
        ("WhitespaceSplit", "Odd"), (#""nodes""#, #""surplus":1,"nodes""#), (#"[6,3]"#, "[6,4]"),
        (#""shape":[1,4,3]"#, #""shape":[1,4,4]"#), (#""red":2"#, #""red":-2"#),
    ])
    func refusesADamagedTower(from: String, to: String) throws {
        let data = TwoTowers.file { $0.replacingOccurrences(of: from, with: to) }
        #expect(data != TwoTowers.file())
        let model = try FeaturePrintModel(data, named: "damaged")
        #expect(throws: ModelError.self) { try model.featurePrint(describedBy: "red") }
    }

    /// Numbers of pieces that the network has no vectors for stand for the last one: nothing beyond it is read.
    @Test func readsNothingBeyondItsVectors() throws {
        let data = TwoTowers.file { $0.replacingOccurrences(of: #""red":2"#, with: #""red":2000000"#) }
        let model = try FeaturePrintModel(data, named: "large")
        #expect(try model.featurePrint(describedBy: "red") == model.featurePrint(describedBy: "lamp"))
    }

    @Test func betweenWordsAndAnImage() throws {
        let model = try FeaturePrintModel(TwoTowers.file(), named: "towers")
        let (red, blue) = (try model.featurePrint(describedBy: "red"), try model.featurePrint(describedBy: "blue"))
        #expect(try model.featurePrint(between: red, and: blue, weight: 1).distance(to: red) < 1e-3)
        #expect(try model.featurePrint(between: red, and: blue, weight: 0).distance(to: blue) < 1e-3)
        let half = try model.featurePrint(between: red, and: blue, weight: 0.5)
        #expect(abs(try half.distance(to: red) - half.distance(to: blue)) < 1e-3)
    }
}
