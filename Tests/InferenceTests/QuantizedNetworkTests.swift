import FeaturePrints
import Foundation
import Imaging
import Inference
import TestSupport
import Testing

/// Which layers of a network are int8, and that its int8 prints stay near those in float32.
struct QuantizedNetworkTests {
    /// A network with random weights. Its ranges are measured on images.
    struct Builder {
        private var nodes: [String] = []
        private var file = SafeTensorsBuilder()
        private var random = SeededGenerator(seed: 41)
        /// Whether the last layer gives a vector.
        var isVector = false
        /// Layers whose output stays float32.
        var float32: Set<String> = []

        private mutating func add(_ name: String, _ operation: String, _ input: String, _ parameters: String = "") {
            nodes.append("{\"name\":\"\(name)\",\"op\":\"\(operation)\",\"input\":\"\(input)\"\(parameters)}")
        }

        /// - Parameter function: “relu”, another function of a graph, or nil.
        mutating func convolve(
            _ name: String, _ input: String, inputs: Int = 16, outputs: Int = 16, kernel: Int = 3, stride: Int = 1,
            groups: Int = 1, _ function: String? = "relu", residual: String? = nil
        ) {
            let count = inputs / groups * kernel * kernel
            let scale = 2 / Float(count).squareRoot()
            file.add(
                "\(name).weight", random.floats(outputs * count).map { $0 * scale },
                shape: [outputs, inputs / groups, kernel, kernel])
            file.add("\(name).bias", random.floats(outputs).map { $0 * 0.2 }, shape: [outputs])
            let activation =
                switch function {
                case "relu": ",\"relu\":true"
                case "relu6": ",\"relu\":false,\"activation\":{\"function\":\"clamp\",\"alpha\":0,\"beta\":0.5}"
                case "hard_sigmoid":
                    ",\"relu\":false,\"activation\":{\"function\":\"hard_sigmoid\",\"alpha\":0.2,\"beta\":0.5}"
                case let function?: ",\"relu\":false,\"activation\":{\"function\":\"\(function)\"}"
                case nil: ",\"relu\":false"
                }
            add(
                name, "convolution", input,
                """
                ,"weight":"\(name).weight","bias":"\(name).bias","outputs":\(outputs),"kernel":\(kernel),\
                "stride":\(stride),"padding":\(kernel / 2),"groups":\(groups)\(activation)\
                \(residual.map { ",\"residual\":\"\($0)\"" } ?? "")
                """)
        }

        mutating func pool(
            _ name: String, _ input: String, _ operation: String = "max_pool", kernel: Int = 3, stride: Int = 1,
            padding: Int = 1, roundsUp: Bool = false
        ) {
            add(
                name, operation, input,
                """
                ,"kernel":\(kernel),"stride":\(stride),"padding":\(padding),"dilation":1,"counts_padding":false,\
                "rounds_up":\(roundsUp)
                """)
        }

        mutating func combine(_ name: String, _ left: String, _ operation: String, _ right: String) {
            add(name, "combine", left, ",\"operator\":\"\(operation)\",\"other\":\"\(right)\"")
        }

        /// The first value of each channel.
        mutating func flatten(_ name: String, _ input: String, channels: Int, pixels: Int) {
            add(name, "rearrange", input, ",\"shape\":[1,\(channels)],\"strides\":[0,\(pixels)],\"offset\":0")
        }

        /// A line for each pixel of a map, with its channels.
        mutating func lines(_ name: String, _ input: String, channels: Int, pixels: Int) {
            add(
                name, "rearrange", input,
                ",\"shape\":[1,\(pixels),\(channels)],\"strides\":[0,1,\(pixels)],\"offset\":0")
        }

        /// `count` copies of a vector, one after another.
        mutating func repeatVector(_ name: String, _ input: String, length: Int, count: Int) {
            add("\(name).rows", "rearrange", input, ",\"shape\":[\(count),\(length)],\"strides\":[0,1],\"offset\":0")
            flatten(name, "\(name).rows", channels: count * length, pixels: 1)
        }

        /// - Parameter weight: of all inputs of an output; random numbers if nil.
        mutating func multiply(_ name: String, _ input: String, inputs: Int, outputs: Int, weight: Float? = nil) {
            let count = outputs * inputs
            file.add(
                "\(name).weight", weight.map { .init(repeating: $0, count: count) } ?? random.floats(count),
                shape: [outputs, inputs])
            file.add("\(name).bias", random.floats(outputs), shape: [outputs])
            add(
                name, "linear", input, ",\"weight\":\"\(name).weight\",\"bias\":\"\(name).bias\",\"outputs\":\(outputs)"
            )
        }

        /// The model file, whose print is made of the means of `output`.
        func data(_ output: String, ranges: [String: ActivationRange?] = [:]) throws -> Data {
            var builder = self
            var last = output
            if !builder.isVector {
                builder.add("mean", "generalized_mean", output, ",\"power\":1,\"epsilon\":1e-6")
                last = "mean"
            }
            builder.add("print", "l2_normalize", last)
            var file = file
            file.metadata["lookalike.graph"] = """
                {"version":1,"name":"test","input":{"width":15,"height":15,"mean":[0.5,0.5,0.5],\
                "std":[0.3,0.3,0.3]},"nodes":[\(builder.nodes.joined(separator: ",\n"))]}
                """
            if !ranges.isEmpty {
                file.metadata["lookalike.activation_ranges"] = String(
                    decoding: try JSONEncoder().encode(ranges), as: UTF8.self)
            }
            return file.data
        }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Convolutions that are computed in int8, “stem” among them.
        let int8Layers: Int
        /// Adds layers to the map “stem” of 16 channels and 15×15 pixels.
        let build: @Sendable (inout Builder) -> String
    }

    static let cases = [
        Case(testDescription: "a pool between convolutions", int8Layers: 2) {
            $0.pool("pool", "stem", stride: 2)
            $0.convolve("last", "pool", nil)
            return "last"
        },
        Case(testDescription: "a pool of a pool, with a last window that is partly outside", int8Layers: 2) {
            $0.pool("first", "stem", stride: 2, padding: 0, roundsUp: true)
            $0.pool("second", "first")
            $0.convolve("last", "second", nil)
            return "last"
        },
        Case(testDescription: "a pool that is a residual, too", int8Layers: 3) {
            $0.pool("pool", "stem")
            $0.convolve("middle", "pool")
            $0.convolve("last", "middle", nil, residual: "pool")
            return "last"
        },
        Case(testDescription: "a pool that is the residual of a convolution of a float32 input", int8Layers: 0) {
            $0.float32 = ["plain"]
            $0.pool("pool", "stem")
            $0.convolve("plain", "pool", nil)
            $0.convolve("last", "plain", nil, residual: "pool")
            return "last"
        },
        Case(testDescription: "a pool of what stays float32", int8Layers: 0) {
            $0.float32 = ["stem", "last"]
            $0.pool("pool", "stem")
            $0.convolve("last", "pool", nil)
            return "last"
        },
        Case(testDescription: "convolutions without activation, one with a residual", int8Layers: 4) {
            $0.convolve("first", "stem", outputs: 40, nil)
            $0.convolve("second", "first", inputs: 40, nil)
            $0.convolve("last", "second", nil, residual: "stem")
            return "last"
        },
        Case(testDescription: "a convolution of the image with a residual", int8Layers: 3) {
            $0.convolve("again", "image", inputs: 3, outputs: 16, kernel: 1, nil, residual: "stem")
            $0.convolve("last", "again", nil)
            return "last"
        },
        Case(testDescription: "a convolution of the image with a residual in float32", int8Layers: 2) {
            $0.float32 = ["stem"]
            $0.convolve("again", "image", inputs: 3, outputs: 16, kernel: 1, nil, residual: "stem")
            $0.convolve("last", "again", nil)
            return "last"
        },
        Case(testDescription: "a convolution of the image with a residual that gives float32", int8Layers: 0) {
            $0.float32 = ["again"]
            $0.convolve("again", "image", inputs: 3, outputs: 16, kernel: 1, nil, residual: "stem")
            $0.convolve("last", "again", nil)
            return "last"
        },
        Case(testDescription: "functions with negative values", int8Layers: 4) {
            $0.convolve("first", "stem", outputs: 24, kernel: 1, "hard_swish")
            $0.convolve("second", "first", inputs: 24, outputs: 35, "silu")
            $0.convolve("last", "second", inputs: 35, kernel: 5, stride: 2, "gelu")
            return "last"
        },
        Case(testDescription: "ReLU6", int8Layers: 3) {
            $0.convolve("first", "stem", "relu6")
            $0.convolve("last", "first", "relu6")
            return "last"
        },
        Case(testDescription: "an inverted residual with a gate", int8Layers: 6) {
            $0.convolve("expand", "stem", outputs: 48, kernel: 1, "hard_swish")
            $0.convolve("depthwise", "expand", inputs: 48, outputs: 48, kernel: 5, groups: 48, "hard_swish")
            $0.pool("squeeze", "depthwise", "average_pool", kernel: 15, padding: 0)
            $0.convolve("fewer", "squeeze", inputs: 48, outputs: 16, kernel: 1)
            $0.convolve("gate", "fewer", outputs: 48, kernel: 1, "hard_sigmoid")
            $0.combine("gated", "depthwise", "multiply", "gate")
            $0.convolve("project", "gated", inputs: 48, kernel: 1, nil, residual: "stem")
            $0.convolve("last", "project", outputs: 48, kernel: 1, "hard_swish")
            return "last"
        },
        Case(testDescription: "depthwise convolutions with strides", int8Layers: 4) {
            $0.convolve("first", "stem", kernel: 3, stride: 2, groups: 16)
            $0.convolve("second", "first", kernel: 7, groups: 16, nil)
            $0.convolve("last", "second", nil)
            return "last"
        },
        Case(testDescription: "groups", int8Layers: 4) {
            $0.convolve("first", "stem", outputs: 48, groups: 2, nil)
            $0.convolve("second", "first", inputs: 48, outputs: 24, groups: 6, "hard_swish")
            $0.convolve("last", "second", inputs: 24, outputs: 48, stride: 2, groups: 2, nil)
            return "last"
        },
        Case(testDescription: "a classifier of two layers", int8Layers: 2) {
            $0.isVector = true
            $0.convolve("last", "stem", outputs: 21, nil)
            $0.pool("pool", "last", "average_pool", kernel: 15, padding: 0)
            $0.flatten("vector", "pool", channels: 21, pixels: 1)
            $0.multiply("first", "vector", inputs: 21, outputs: 150)
            $0.multiply("second", "first", inputs: 150, outputs: 9)
            return "second"
        },
        Case(testDescription: "lines of an array, more than are multiplied together", int8Layers: 0) {
            ($0.isVector, $0.float32) = (true, ["stem", "last"])
            $0.convolve("last", "stem", outputs: 32, nil)
            $0.lines("lines", "last", channels: 32, pixels: 225)
            $0.multiply("wide", "lines", inputs: 32, outputs: 400)
            $0.multiply("narrow", "wide", inputs: 400, outputs: 19)
            $0.flatten("vector", "narrow", channels: 225 * 19, pixels: 1)
            return "vector"
        },
        Case(testDescription: "a map that is flattened", int8Layers: 2) {
            $0.isVector = true
            $0.convolve("last", "stem", stride: 2, nil)
            $0.flatten("vector", "last", channels: 16, pixels: 64)
            return "vector"
        },
        Case(testDescription: "a sum and a difference of maps", int8Layers: 4) {
            $0.convolve("one", "stem", nil)
            $0.convolve("two", "stem", "hard_swish")
            $0.combine("sum", "one", "add", "two")
            $0.combine("difference", "sum", "subtract", "stem")
            $0.convolve("last", "difference", nil)
            return "last"
        },
    ]

    private static let images = (0..<12).map { SampleImage.blocks(seed: UInt64($0)) }

    /// Without ranges, and with those of the images.
    private static func models(_ network: Case) throws -> (float32: FeaturePrintModel, int8: FeaturePrintModel) {
        var builder = Builder()
        builder.convolve("stem", "image", inputs: 3)
        let output = network.build(&builder)
        let plain = try FeaturePrintModel(builder.data(output), named: "plain", precision: .float32)
        let measured = try plain.activationRanges(for: images).map { name, range in
            (name, builder.float32.contains(name) ? nil : ActivationRange?.some(range))
        }
        let data = try builder.data(output, ranges: Dictionary(uniqueKeysWithValues: measured))
        let float32 = try FeaturePrintModel(data, named: network.testDescription, precision: .float32)
        return (float32, try FeaturePrintModel(data, named: network.testDescription, precision: .int8))
    }

    @Test(arguments: cases) func int8PrintsAreNearThoseInFloat32(network: Case) throws {
        let (float32, int8) = try Self.models(network)
        let layers = int8.summary.rows.filter { $0.kind.contains("convolution") && $0.kind.contains(", int8") }
        #expect(layers.count == network.int8Layers, "\(layers.map(\.kind))")
        let linear = int8.summary.rows.filter { $0.kind.hasPrefix("linear") }
        #expect(linear.allSatisfy { $0.kind.hasSuffix(", int8") })
        for (index, image) in Self.images.enumerated() {
            let (exact, near) = (try float32.featurePrint(for: image), try int8.featurePrint(for: image))
            let cosine = zip(exact.vector, near.vector).reduce(0) { $0 + $1.0 * $1.1 }
            #expect(cosine > 0.999, "image \(index): \(cosine)")
        }
    }

    @Test(arguments: cases) func threadsAndBatchesGiveTheSamePrints(network: Case) throws {
        let int8 = try Self.models(network).int8
        let together = try int8.featurePrints(for: Self.images)
        for (image, print) in zip(Self.images, together) {
            #expect(try int8.featurePrint(for: image).vector == print.vector)
        }
    }

    /// The sum of 320,000 products of the codes 255 and 127 would need 34 bits.
    @Test func aLinearLayerWhoseSumMayOverflowStaysFloat32() throws {
        let network = Case(testDescription: "320,000 inputs", int8Layers: 0) {
            $0.isVector = true
            $0.pool("brightest", "stem", kernel: 15, padding: 0)
            $0.flatten("vector", "brightest", channels: 16, pixels: 1)
            $0.repeatVector("long", "vector", length: 16, count: 20_000)
            $0.multiply("sum", "long", inputs: 320_000, outputs: 2, weight: 1)
            return "sum"
        }
        let (float32, int8) = try Self.models(network)
        #expect(int8.summary.rows.filter { $0.kind.hasPrefix("linear") }.map(\.kind) == ["linear"])
        for image in Self.images {
            let (exact, near) = (try float32.featurePrint(for: image), try int8.featurePrint(for: image))
            #expect(zip(exact.vector, near.vector).allSatisfy { abs($0 - $1) < 0.001 })
        }
    }

    @Test func linesThatAreNoWholeBlocksStayFloat32() throws {
        let network = Case(testDescription: "lines of 40", int8Layers: 2) {
            $0.isVector = true
            $0.convolve("last", "stem", outputs: 40, stride: 2, nil)
            $0.lines("lines", "last", channels: 40, pixels: 64)
            $0.multiply("product", "lines", inputs: 40, outputs: 16)
            $0.flatten("vector", "product", channels: 64 * 16, pixels: 1)
            return "vector"
        }
        let int8 = try Self.models(network).int8
        #expect(int8.summary.rows.filter { $0.kind.hasPrefix("linear") }.map(\.kind) == ["linear, 64 rows"])
    }

    @Test func aConvolutionWhoseSumMayOverflowIsRefused() throws {
        var builder = Builder()
        builder.convolve("stem", "image", inputs: 3, outputs: 7_392)
        builder.convolve("last", "stem", inputs: 7_392, outputs: 1, nil)
        let data = try builder.data("last", ranges: ["stem": ActivationRange(upper: 2)])
        let error = #expect(throws: ModelError.self) { try FeaturePrintModel(data, named: "n", precision: .int8) }
        #expect(
            error?.reason
                == .unusableGraph(
                    "layer “last” sums 66528 products for each output, of which int8 allows 66311: give “stem” the "
                        + "range null, or load the model in float32"))
        _ = try FeaturePrintModel(data, named: "n", precision: .float32)
    }

    @Test func aRangeForNoLayerIsRefused() throws {
        var builder = Builder()
        builder.convolve("stem", "image", inputs: 3)
        builder.convolve("last", "stem", nil)
        let data = try builder.data("last", ranges: ["steam": ActivationRange(upper: 2)])
        let error = #expect(throws: ModelError.self) { try FeaturePrintModel(data, named: "n", precision: .int8) }
        #expect(
            error?.reason
                == .unusableGraph("“lookalike.activation_ranges” has a range for “steam”, which no layer is called"))
    }

    @Test(arguments: ["2", "[-1,3]", "[0,0.5]"]) func rangesAreReadAndWritten(json: String) throws {
        let range = try JSONDecoder().decode(ActivationRange.self, from: Data(json.utf8))
        let again = try JSONDecoder().decode(ActivationRange.self, from: JSONEncoder().encode(range))
        #expect(range == again && range.lower <= 0 && range.upper > range.lower)
    }

    @Test(arguments: ["-1", "[1,2]", "[-2,-1]", "[0,0]", "[0,1,2]", "\"1\"", "[-1,1e60]"])
    func impossibleRangesAreRefused(json: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ActivationRange.self, from: Data(json.utf8))
        }
    }
}
