import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing

/// Maximum pooling between int8 convolutions: which graphs have it, and that int8 prints stay near float32 ones.
struct QuantizedPoolingTests {
    /// A network of 3×3 convolutions and pooling, with random weights, and the same range for all that have one.
    private struct Builder {
        var nodes: [String] = []
        var file = SafeTensorsBuilder()
        var ranges: [String: Double?] = [:]
        private var random = SeededGenerator(seed: 41)

        mutating func convolve(
            _ name: String, _ input: String, inputs: Int = 16, relu: Bool = true, residual: String? = nil,
            range: Double? = 4
        ) {
            file.add("\(name).weight", random.floats(16 * inputs * 9).map { $0 * 0.3 }, shape: [16, inputs, 3, 3])
            file.add("\(name).bias", random.floats(16).map { $0 * 0.2 }, shape: [16])
            let sum = residual.map { ",\"residual\":\"\($0)\"" } ?? ""
            nodes.append(
                """
                {"name":"\(name)","op":"convolution","input":"\(input)","weight":"\(name).weight",\
                "bias":"\(name).bias","outputs":16,"kernel":3,"stride":1,"padding":1,"relu":\(relu)\(sum)}
                """)
            if relu { ranges[name] = .some(range) }
        }

        mutating func pool(_ name: String, _ input: String, stride: Int = 1, padding: Int = 1, roundsUp: Bool = false) {
            nodes.append(
                """
                {"name":"\(name)","op":"max_pool","input":"\(input)","kernel":3,"stride":\(stride),\
                "padding":\(padding),"dilation":1,"counts_padding":false,"rounds_up":\(roundsUp)}
                """)
        }

        /// The model file, whose print is the mean of `output`.
        func data(_ output: String) throws -> Data {
            var file = file
            let end = """
                {"name":"mean","op":"generalized_mean","input":"\(output)","power":1,"epsilon":1e-6},
                {"name":"print","op":"l2_normalize","input":"mean"}
                """
            file.metadata["lookalike.graph"] = """
                {"version":1,"name":"pooling","input":{"width":15,"height":15,"mean":[0.5,0.5,0.5],\
                "std":[0.3,0.3,0.3]},"nodes":[\((nodes + [end]).joined(separator: ","))]}
                """
            file.metadata["lookalike.activation_ranges"] = try #require(
                String(data: JSONEncoder().encode(ranges), encoding: .utf8))
            return file.data
        }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let data: Data
        /// Convolutions that are computed in int8.
        let int8Layers: Int
    }

    private static func make(_ words: String, int8Layers: Int, _ build: (inout Builder) -> String) throws -> Case {
        var builder = Builder()
        builder.convolve("stem", "image", inputs: 3)
        let output = build(&builder)
        return Case(testDescription: words, data: try builder.data(output), int8Layers: int8Layers)
    }

    static let cases = Result {
        try [
            make("a pool between convolutions", int8Layers: 1) {
                $0.pool("pool", "stem", stride: 2)
                $0.convolve("last", "pool", relu: false)
                return "last"
            },
            make("a pool of a pool, with a last window that is partly outside", int8Layers: 1) {
                $0.pool("first", "stem", stride: 2, padding: 0, roundsUp: true)
                $0.pool("second", "first")
                $0.convolve("last", "second", relu: false)
                return "last"
            },
            make("a pool that is a residual, too", int8Layers: 2) {
                $0.pool("pool", "stem")
                $0.convolve("middle", "pool")
                $0.convolve("last", "middle", relu: false, residual: "pool")
                return "last"
            },
            make("a pool that is the residual of a convolution in float32", int8Layers: 0) {
                $0.pool("pool", "stem")
                $0.convolve("plain", "pool", relu: false)
                $0.convolve("last", "plain", relu: false, residual: "pool")
                return "last"
            },
            make("a pool that a mean reads, too", int8Layers: 0) {
                $0.pool("pool", "stem")
                $0.convolve("middle", "pool", relu: false)
                return "pool"
            },
            make("a pool of what stays float32", int8Layers: 0) {
                $0.ranges["stem"] = .some(nil)
                $0.pool("pool", "stem")
                $0.convolve("last", "pool", relu: false)
                return "last"
            },
        ]
    }

    @Test func int8PrintsAreNearThoseInFloat32() throws {
        for network in try Self.cases.get() {
            let float32 = try FeaturePrintModel(network.data, named: "pooling", precision: .float32)
            let int8 = try FeaturePrintModel(network.data, named: "pooling", precision: .int8)
            let layers = int8.summary.rows.count { $0.kind.contains(", int8") }
            #expect(layers == network.int8Layers, "\(network.testDescription)")
            for seed in 0..<4 {
                let image = SampleImage.blocks(seed: UInt64(seed))
                let (exact, near) = (try float32.featurePrint(for: image), try int8.featurePrint(for: image))
                let cosine = zip(exact.vector, near.vector).reduce(0) { $0 + $1.0 * $1.1 }
                #expect(cosine > 0.999, "\(network.testDescription), seed \(seed): \(cosine)")
                #expect((exact.vector == near.vector) == (network.int8Layers == 0), "\(network.testDescription)")
            }
        }
    }
}
