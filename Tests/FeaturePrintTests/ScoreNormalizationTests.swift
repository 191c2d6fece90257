import FeaturePrints
import Foundation
import Inference
import TestSupport
import Testing

struct ScoreNormalizationTests {
    /// The tiny network, with background prints and what a file says of them.
    private static func builder(
        _ rows: [[Float]], nearest: Int = 1, weight: Double = 0.5, typical: Double = 0.5, recommended: String? = "0.6"
    ) -> SafeTensorsBuilder {
        var builder = SafeTensorsBuilder.tiny()
        builder.add("b", rows.flatMap { $0 }, shape: [rows.count, 2])
        builder.metadata["lookalike.background"] =
            #"{"tensor":"b","nearest":\#(nearest),"weight":\#(weight),"typical_distance":\#(typical)}"#
        builder.metadata["lookalike.recommended_max_distance"] = recommended
        return builder
    }

    private static func model(_ builder: SafeTensorsBuilder) throws -> FeaturePrintModel {
        try FeaturePrintModel(builder.data, named: "bad.safetensors")
    }

    private static func unit(_ angle: Double) -> [Float] { [Float(cos(angle)), Float(sin(angle))] }

    @Test func theLimitMovesWithTheDistanceToTheBackground() throws {
        let model = try Self.model(Self.builder([[1, 0], [0, 1]]))
        #expect(model.backgroundSetCount == 2 && model.matchThreshold == 0.6)
        let print = FeaturePrint(vector: [0.6, 0.8], model: model.identity)
        // (0.6, 0.8) is √0.4 from (0, 1) and √0.8 from (1, 0).
        let limit = try #require(model.matchThreshold(for: [print]))
        #expect(abs(limit - (0.6 + 0.5 * (0.4.squareRoot() - 0.5))) < 1e-3)
    }

    /// Against the definition, in double precision.
    @Test(arguments: [1, 2, 7]) func aQueryIsAsNearAsTheNearestOfItsCrops(nearest: Int) throws {
        var random = SeededGenerator(seed: 31)
        for round in 0..<50 {
            let rows = (0..<Int.random(in: nearest...40, using: &random)).map { _ in
                Self.unit(.random(in: 0..<(2 * .pi), using: &random))
            }
            let model = try Self.model(Self.builder(rows, nearest: nearest, weight: 0.7, typical: 0.3))
            let crops = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                FeaturePrint(
                    vector: Self.unit(.random(in: 0..<(2 * .pi), using: &random)), model: model.identity)
            }
            let distances = rows.map { row in
                crops.map { hypot(Double($0.vector[0] - row[0]), Double($0.vector[1] - row[1])) }.min() ?? .infinity
            }.sorted()
            let mean = distances.prefix(nearest).reduce(0, +) / Double(nearest)
            let limit = model.matchThreshold(for: crops)
            #expect(abs((limit ?? .nan) - min(max(0.6 + 0.7 * (mean - 0.3), 0), 2)) < 1e-5, "seed 31, round \(round)")
        }
    }

    /// Against the definition: the neighbors of a catalog and of the background together, copies once, the nearest left
    /// out.
    @Test func neighborsOfTheCatalogCountLikeTheBackground() throws {
        var random = SeededGenerator(seed: 32)
        for round in 0..<50 {
            let rows = (0..<12).map { _ in Self.unit(.random(in: 0..<(2 * .pi), using: &random)) }
            var builder = Self.builder(rows, weight: 0.7, typical: 0.3)
            builder.metadata["lookalike.background"] =
                #"{"tensor":"b","nearest":3,"skipped":2,"weight":0.7,"typical_distance":0.3}"#
            let model = try Self.model(builder)
            let print = FeaturePrint(
                vector: Self.unit(.random(in: 0..<(2 * .pi), using: &random)), model: model.identity)
            let neighbors = (0..<6).map { Double($0) * 0.2 + .random(in: 0...0.1, using: &random) }
            let background = rows.map { hypot(Double(print.vector[0] - $0[0]), Double(print.vector[1] - $0[1])) }
            let mean = (neighbors + background).sorted()[2..<5].reduce(0, +) / 3
            let copies = neighbors.flatMap { [$0, $0 + 1e-5, $0 + 2e-5] }
            let limit = try #require(model.matchThreshold(for: [print], beside: copies))
            #expect(abs(limit - min(max(0.6 + 0.7 * (mean - 0.3), 0), 2)) < 1e-5, "seed 32, round \(round)")
        }
    }

    @Test func theLimitStaysADistance() throws {
        let near = try Self.model(Self.builder([[1, 0]], weight: 1, typical: 2, recommended: "0.1"))
        #expect(near.matchThreshold(for: [FeaturePrint(vector: [1, 0], model: near.identity)]) == 0)
        let far = try Self.model(Self.builder([[1, 0]], weight: 1, typical: 0, recommended: "1.9"))
        #expect(far.matchThreshold(for: [FeaturePrint(vector: [-1, 0], model: far.identity)]) == 2)
    }

    @Test func withoutBackgroundOrAdviceNothingMoves() throws {
        var builder = SafeTensorsBuilder.tiny()
        let plain = try Self.model(builder)
        let print = FeaturePrint(vector: [1, 0], model: plain.identity)
        #expect(plain.matchThreshold(for: [print]) == nil && plain.backgroundSetCount == 0)
        builder.metadata["lookalike.recommended_max_distance"] = "0.5"
        #expect(try Self.model(builder).matchThreshold(for: [print]) == 0.5)
        #expect(try Self.model(Self.builder([[1, 0]], recommended: nil)).matchThreshold(for: [print]) == nil)
        #expect(try Self.model(Self.builder([[1, 0]])).matchThreshold(for: []) == 0.6)
    }

    @Test func adviceIsNoPartOfTheIdentity() throws {
        let plain = try Self.model(SafeTensorsBuilder.tiny())
        let advised = try Self.model(Self.builder([[1, 0], [0, 1]]))
        #expect(plain.identity == advised.identity)
        // Wherever the prints lie in the file.
        var first = Self.builder([[1, 0]])
        let weights = SafeTensorsBuilder.tiny()
        first.blob = first.blob.suffix(8) + weights.blob
        first.entries["b"]?["data_offsets"] = [0, 8]
        for (name, entry) in weights.entries {
            let offsets = try #require(entry["data_offsets"] as? [Int])
            first.entries[name]?["data_offsets"] = offsets.map { $0 + 8 }
        }
        #expect(try Self.model(first).identity == plain.identity)
    }

    static let damages: [(says: String, builder: @Sendable () -> SafeTensorsBuilder)] = [
        ("both together at most 2", { builder([[1, 0], [0, 1]], nearest: 3) }),
        ("nearest is at least 1", { builder([[1, 0], [0, 1]], nearest: 0) }),
        ("weight = 2.5", { builder([[1, 0]], weight: 2.5) }),
        ("typical_distance = 2.5", { builder([[1, 0]], typical: 2.5) }),
        ("has no prints", { builder([]) }),
        ("whose norm is not 1, in row 1", { builder([[1, 0], [0.5, 0]]) }),
        ("has the value nan at position 1", { builder([[1, .nan]]) }),
    ]

    @Test(arguments: damages.indices) func saysWhatIsWrong(index: Int) {
        let damage = Self.damages[index]
        let error = #expect(throws: ModelError.self) { try Self.model(damage.builder()) }
        let words = error?.description ?? ""
        #expect(words.hasPrefix("bad.safetensors: ") && words.contains(damage.says), "\(words)")
    }

    @Test func saysWhatIsMissing() {
        var builder = Self.builder([[1, 0]])
        builder.entries["b"] = nil
        #expect(throws: ModelError.self) { try Self.model(builder) }
        builder = Self.builder([[1, 0]])
        builder.entries["b"]?["shape"] = [2, 1]
        let error = #expect(throws: ModelError.self) { try Self.model(builder) }
        #expect(error?.description.contains("[2, 1]") == true)
        builder = Self.builder([[1, 0]])
        builder.metadata["lookalike.background"] = #"{"tensor":"b"}"#
        let unsaid = #expect(throws: ModelError.self) { try Self.model(builder) }
        #expect(unsaid?.description.contains("“nearest” is missing") == true, "\(unsaid?.description ?? "")")
    }
}
