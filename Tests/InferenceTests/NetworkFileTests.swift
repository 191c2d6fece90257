import DefaultModel
import FeaturePrints
import Foundation
import Imaging
import Inference
import TestSupport
import Testing

/// Networks as files describe them: what they compute, what they cost, and what is refused.
struct NetworkFileTests {
    @Test func aTinyNetworkComputesWhatItSays() throws {
        let model = try FeaturePrintModel(SafeTensorsBuilder.tiny().data, named: "tiny")
        let image = try PixelBuffer(
            (0..<16).flatMap { _ in [51, 68, 200] as [UInt8] }, width: 4, height: 4, format: .rgb8)
        let print = try model.featurePrint(for: image)
        // Red 0.2 and green 4/15, scaled to length one: 3/5 and 4/5.
        #expect(abs(print.vector[0] - 0.6) < 0x1p-12 && abs(print.vector[1] - 0.8) < 0x1p-12)
        #expect(model.matchThreshold == nil)
        #expect(model.summary.parameters == 8 + 1 + 6)
        #expect(model.summary.multiplyAdds == 2 * 3 * 16 + 4 + 2)
    }

    /// Weights on the diagonal of the projection, as halves, and what they are.
    @Test(
        arguments: [
            (0x3C00, 1), (0xBC00, -1), (0x3555, 0x1.554p-2), (0x7BFF, 65504), (0x0400, 0x1p-14), (0x0001, 0x1p-24),
            (0x83FF, -0x1.FF8p-15),
        ] as [(UInt16, Double)])
    func halfFloatsAreReadExactly(pattern: UInt16, value: Double) throws {
        var builder = SafeTensorsBuilder.tiny()
        // Beside a number of the same size that is a power of two, so that the ratio survives the normalization.
        let other: (UInt16, Double) =
            value.magnitude < 0x1p-14 ? (0x0001, 0x1p-24) : value.magnitude > 2 ? (0x7800, 32768) : (0x3C00, 1)
        builder.addHalves("l.weight", [pattern, 0, 0, other.0], shape: [2, 2])
        let weights = try SafeTensorsFile(builder.data).floats("l.weight", shape: [2, 2])
        #expect(weights == [Float(value), 0, 0, Float(other.1)])
        let image = try PixelBuffer(
            (0..<16).flatMap { _ in [51, 51, 0] as [UInt8] }, width: 4, height: 4, format: .rgb8)
        // Components of a print are halves themselves.
        let print = try FeaturePrintModel(builder.data, named: "halves").featurePrint(for: image)
        #expect(abs(Double(print.vector[0] / print.vector[1]) / (value / other.1) - 1) < 0x1p-10)
    }

    @Test(arguments: [(0x7C00, "inf"), (0xFC00, "-inf"), (0x7E00, "nan")] as [(UInt16, String)])
    func halfFloatsThatAreNoNumbersAreRefused(pattern: UInt16, says: String) {
        var builder = SafeTensorsBuilder.tiny()
        builder.addHalves("l.weight", [0x3C00, 0, 0, pattern], shape: [2, 2])
        let error = #expect(throws: ModelError.self) { try FeaturePrintModel(builder.data, named: "halves") }
        #expect(
            error?.description.contains("has the value \(says) at position 3") == true, "\(error?.description ?? "")")
    }

    /// Average pooling over a million pixels, for each of a million.
    @Test func workWithoutMultiplyAddsCounts() throws {
        var builder = SafeTensorsBuilder()
        builder.metadata["lookalike.graph"] = """
            {"version":1,"name":"slow","input":{"width":1024,"height":1024,"mean":[0,0,0],"std":[1,1,1]},"nodes":[
            {"name":"m","op":"map","input":"image"},
            {"name":"p","op":"average_pool","input":"m","kernel":1023,"stride":1,"padding":511,"dilation":1,\
            "counts_padding":false,"rounds_up":false},
            {"name":"g","op":"generalized_mean","input":"p","power":1,"epsilon":1e-6},
            {"name":"n","op":"l2_normalize","input":"g"}]}
            """
        let slow = try FeaturePrintModel(builder.data, named: "slow").summary
        #expect(slow.multiplyAdds == 3 && slow.operationCount > 16 * 1024 * 1024 * 1023 * 1023)
        let plain = try FeaturePrintModel.default().summary
        #expect(plain.operationCount > plain.multiplyAdds && plain.operationCount < 2 * plain.multiplyAdds)
    }

    /// A dilated kernel has two taps, but an int8 depthwise convolution widens all rows between them.
    @Test func memoryThatIsWrittenBetweenTapsCounts() throws {
        func operationCount(dilation: Int) throws -> Int {
            var builder = SafeTensorsBuilder.tiny()
            builder.add("d.weight", [Float](repeating: 1, count: 2 * 2), shape: [2, 1, 2, 1])
            builder.metadata["lookalike.activation_ranges"] = "{\"c\":1,\"d\":1}"
            let layer =
                #"{"name":"d","op":"convolution","input":"c","weight":"d.weight","bias":"c.bias","outputs":2,"#
                + #""kernel":[2,1],"stride":1,"padding":0,"dilation":[\#(dilation),1],"groups":2},"#
            Self.edit("\"width\":4,\"height\":4", "\"width\":1024,\"height\":1024")(&builder)
            Self.edit("{\"name\":\"p\"", layer + "\n{\"name\":\"p\"")(&builder)
            Self.edit("\"input\":\"c\",\"power\"", "\"input\":\"d\",\"power\"")(&builder)
            return try FeaturePrintModel(builder.data, named: "d", precision: .int8).summary.operationCount
        }
        #expect(try operationCount(dilation: 512) > 2 * operationCount(dilation: 1))
    }

    struct Damage: Sendable, CustomStringConvertible {
        let description: String
        /// In the error's words.
        let says: String
        let apply: @Sendable (inout SafeTensorsBuilder) -> Void

        init(_ description: String, says: String, apply: @escaping @Sendable (inout SafeTensorsBuilder) -> Void) {
            (self.description, self.says, self.apply) = (description, says, apply)
        }
    }

    private static func edit(_ from: String, _ to: String) -> @Sendable (inout SafeTensorsBuilder) -> Void {
        { builder in
            let graph = builder.metadata["lookalike.graph"] ?? ""
            precondition(graph.contains(from), "the edit does nothing")
            builder.metadata["lookalike.graph"] = graph.replacingOccurrences(of: from, with: to)
        }
    }

    /// Adds a layer on a tensor without axes.
    private static func scalar(_ operation: String, _ parameters: String)
        -> @Sendable (inout SafeTensorsBuilder) -> Void
    {
        edit(
            "{\"name\":\"n\"",
            "{\"name\":\"s\",\"op\":\"rearrange\",\"input\":\"l\",\"shape\":[],\"strides\":[],\"offset\":0},\n"
                + "{\"name\":\"t\",\"op\":\"\(operation)\",\"input\":\"s\",\(parameters)},\n{\"name\":\"n\"")
    }

    /// Adds a rearrangement of a vector, and another layer that reads it.
    private static func rearranged(_ parameters: String, then next: String? = nil)
        -> @Sendable (inout SafeTensorsBuilder) -> Void
    {
        let layer = "{\"name\":\"s\",\"op\":\"rearrange\",\"input\":\"l\",\(parameters)},\n"
        let reader = next.map { "{\"name\":\"t\",\"input\":\"s\",\($0)},\n" } ?? ""
        return edit("{\"name\":\"n\"", layer + reader + "{\"name\":\"n\"")
    }

    static let damages: [Damage] = [
        Damage("no graph", says: "has no “lookalike.graph”") { $0.metadata = [:] },
        Damage("a graph that is no JSON", says: "cannot be run") { $0.metadata["lookalike.graph"] = "{" },
        Damage("a later version", says: "version 2", apply: edit("\"version\":1", "\"version\":2")),
        Damage("no nodes", says: "“nodes” is missing", apply: edit("\"nodes\"", "\"knots\"")),
        Damage("an unknown layer", says: "“swish”", apply: edit("l2_normalize", "swish")),
        Damage(
            "an input that comes later", says: "reads “l”, which no layer before it makes",
            apply: edit("\"input\":\"image\"", "\"input\":\"l\"")),
        Damage("two of one name", says: "two layers are called “p”", apply: edit("\"name\":\"l\"", "\"name\":\"p\"")),
        Damage("a layer called image", says: "two layers", apply: edit("\"name\":\"c\"", "\"name\":\"image\"")),
        Damage("a stride of zero", says: "stride 0", apply: edit("\"stride\":1", "\"stride\":0")),
        Damage(
            "a kernel larger than the image", says: "larger than its input", apply: edit("\"kernel\":1", "\"kernel\":9")
        ),
        Damage("a power of zero", says: "power 0", apply: edit("\"power\":1", "\"power\":0")),
        Damage("a power that only some kernels compute", says: "power 9", apply: edit("\"power\":1", "\"power\":9")),
        Damage("a power near zero", says: "power 0.01", apply: edit("\"power\":1", "\"power\":0.01")),
        Damage(
            "an epsilon beyond all values", says: "at most 8192",
            apply: edit("\"epsilon\":1e-6", "\"epsilon\":1e10")),
        Damage("an input without pixels", says: "0×4", apply: edit("\"width\":4", "\"width\":0")),
        Damage("an input beyond all bounds", says: "outside", apply: edit("\"width\":4", "\"width\":4000000000000")),
        Damage("a layer of 69 GB", says: "1024×4096×4096, needs 68719476736 bytes of memory, more than the limit") {
            $0.add("c.weight", [Float](repeating: 0, count: 3 * 1024), shape: [1024, 3, 1, 1])
            $0.add("c.bias", [Float](repeating: 0, count: 1024), shape: [1024])
            $0.add("l.weight", [Float](repeating: 0, count: 2 * 1024), shape: [2, 1024])
            Self.edit("\"width\":4,\"height\":4", "\"width\":4096,\"height\":4096")(&$0)
            Self.edit("\"outputs\":2,\"kernel\"", "\"outputs\":1024,\"kernel\"")(&$0)
        },
        Damage("layers that are large together", says: "a pass over one image needs 805306368 bytes") {
            $0.add("c.weight", [Float](repeating: 0, count: 3 * 17), shape: [17, 3, 1, 1])
            $0.add("c.bias", [Float](repeating: 0, count: 17), shape: [17])
            $0.add("l.weight", [Float](repeating: 0, count: 2 * 17), shape: [2, 17])
            Self.edit("\"width\":4,\"height\":4", "\"width\":4096,\"height\":4096")(&$0)
            Self.edit("\"outputs\":2,\"kernel\":1,\"stride\":1", "\"outputs\":17,\"kernel\":1,\"stride\":2")(&$0)
        },
        Damage("convolutions that share a tensor", says: "bytes of memory, more than the limit of 4294967296") {
            $0.add("s.weight", [Float](repeating: 0, count: 3 * 256), shape: [256, 3, 1, 1])
            $0.add("r.weight", [Float](repeating: 0, count: 9 << 16), shape: [256, 256, 3, 3])
            $0.add("r.bias", [Float](repeating: 0, count: 256), shape: [256])
            let layers = (0..<500).map {
                #"{"name":"r\#($0 + 1)","op":"convolution","input":"r\#($0)","weight":"r.weight","bias":"r.bias","#
                    + #""outputs":256,"kernel":3,"stride":1,"padding":1},"#
            }
            let stem =
                #"{"name":"r0","op":"convolution","input":"image","weight":"s.weight","bias":"r.bias","#
                + #""outputs":256,"kernel":1,"stride":1,"padding":0},"#
            Self.edit("\"width\":4,\"height\":4", "\"width\":16,\"height\":16")(&$0)
            Self.edit("\"nodes\":[", "\"nodes\":[" + stem + layers.joined())(&$0)
        },
        Damage("constants that share a tensor", says: "bytes of memory, more than the limit of 4294967296") {
            $0.add("t", [Float](repeating: 0, count: 1 << 19), shape: [1, 1 << 19])
            let layers = (0..<2_100).map {
                #"{"name":"t\#($0)","op":"constant","input":"image","tensor":"t","shape":[1,524288]},"#
            }
            Self.edit("\"nodes\":[", "\"nodes\":[" + layers.joined())(&$0)
        },
        Damage("a deviation of zero", says: "deviations", apply: edit("[1,1,1]", "[1,0,1]")),
        Damage("a residual of another shape", says: "adds", apply: edit("\"relu\":true", "\"residual\":\"image\"")),
        Damage(
            "a convolution with an offset", says: "“offset”, which this program does not know",
            apply: edit("\"stride\":1", "\"stride\":1,\"offset\":2")),
        Damage(
            "two activations", says: "layer “c” has ReLU and another activation",
            apply: edit("\"relu\":true", "\"relu\":true,\"activation\":{\"function\":\"silu\"}")),
        Damage(
            "an unknown activation", says: "cannot be run",
            apply: edit("\"relu\":true", "\"activation\":{\"function\":\"crelu\"}")),
        Damage(
            "an activation with another key", says: "the activation has “slope”",
            apply: edit("\"relu\":true", "\"activation\":{\"function\":\"leaky_relu\",\"slope\":2}")),
        Damage(
            "three sides of padding", says: "neither one number nor 4",
            apply: edit("\"padding\":0", "\"padding\":[0,0,0]")),
        Damage(
            "groups that do not divide the channels", says: "has 2 groups for 3 inputs",
            apply: edit("\"stride\":1", "\"stride\":1,\"groups\":2")),
        Damage(
            "a key of another layer", says: "layer “l” (linear) has “relu”",
            apply: edit("\"name\":\"l\"", "\"name\":\"l\",\"relu\":true")),
        Damage(
            "an input of another layout", says: "its input has “layout”",
            apply: edit("\"width\":4", "\"width\":4,\"layout\":\"nchw\"")),
        Damage(
            "a graph with another output", says: "the graph has “outputs_of”",
            apply: edit("\"version\":1", "\"version\":1,\"outputs_of\":\"p\"")),
        Damage(
            "the softmax of a number", says: "has axis 0, but its input is []", apply: scalar("softmax", "\"axis\":0")),
        Damage(
            "a sum of a number", says: "has axis 0, but its input is []",
            apply: scalar("reduce", "\"function\":\"sum\",\"axes\":[0]")),
        Damage(
            "a number joined with itself", says: "has axis 0, but its input is []",
            apply: scalar("concatenate", "\"others\":[\"s\"],\"axis\":0")),
        Damage(
            "a normalized number", says: "has axis 0, but its input is []",
            apply: scalar(
                "normalize",
                "\"scope\":\"axes\",\"axis\":0,\"epsilon\":0,\"weight\":\"l.bias\",\"bias\":\"l.bias\"")),
        Damage(
            "a padded number", says: "pads 0 axes",
            apply: scalar("pad", "\"mode\":\"constant\",\"value\":0,\"before\":[],\"after\":[]")),
        Damage("an int8 kernel beyond all bounds", says: "layer “c”") {
            $0.metadata["lookalike.activation_ranges"] = "{}"
            Self.edit("\"kernel\":1", "\"kernel\":4294967296")(&$0)
        },
        Damage(
            "elements beyond all bounds", says: "reads beyond its input",
            apply: rearranged("\"shape\":[2],\"strides\":[1],\"offset\":9223372036854775807")),
        Damage(
            "elements before all bounds", says: "reads beyond its input",
            apply: rearranged("\"shape\":[2],\"strides\":[-1],\"offset\":-9223372036854775808")),
        Damage(
            "axes without end", says: "has 200 axes",
            apply: rearranged(
                "\"shape\":\([Int](repeating: 1, count: 200)),\"strides\":\([Int](repeating: 0, count: 200)),"
                    + "\"offset\":0")),
        Damage(
            "padding of a huge axis", says: "extent 134217728",
            apply: rearranged(
                "\"shape\":[1,134217728],\"strides\":[0,0],\"offset\":0",
                then: "\"op\":\"pad\",\"mode\":\"constant\",\"value\":0,\"before\":[0,0],\"after\":[0,0]")),
        Damage(
            "products without end", says: "number of products 100000000",
            apply: rearranged(
                "\"shape\":[100000000,1,1],\"strides\":[0,0,0],\"offset\":0",
                then: "\"op\":\"matrix_product\",\"other\":\"s\"")),
        Damage(
            "no vector at the end", says: "has to give a vector",
            apply: { builder in
                let graph = builder.metadata["lookalike.graph"] ?? ""
                builder.metadata["lookalike.graph"] =
                    graph.components(separatedBy: ",\n{\"name\":\"p\"")[0] + "]}"
            }),
        Damage("a missing tensor", says: "“l.bias” is named by the graph") { $0.entries["l.bias"] = nil },
        Damage("a tensor of another shape", says: "[2, 3, 1, 1]") { $0.entries["c.weight"]?["shape"] = [3, 2, 1, 1] },
        Damage("an unknown number format", says: "of type F8") { $0.entries["c.bias"]?["dtype"] = "F8" },
        Damage("a negative extent", says: "impossible shape") { $0.entries["c.bias"]?["shape"] = [-2] },
        Damage("an overflowing shape", says: "impossible shape") { $0.entries["c.bias"]?["shape"] = [Int.max, 8] },
        Damage("offsets outside the file", says: "outside the file") {
            $0.entries["c.bias"]?["data_offsets"] = [24, 10_000]
        },
        Damage("offsets the wrong way round", says: "outside the file") {
            $0.entries["c.bias"]?["data_offsets"] = [32, 24]
        },
        Damage("too few bytes for the shape", says: "needs 8") { $0.entries["c.bias"]?["data_offsets"] = [24, 28] },
        Damage("overlapping tensors", says: "overlaps") { $0.entries["c.bias"]?["data_offsets"] = [20, 28] },
        Damage("not a number", says: "has the value nan at position 1") { $0.add("c.bias", [0, .nan], shape: [2]) },
        Damage("infinity", says: "has the value inf") { $0.add("l.weight", [1, 0, .infinity, 1], shape: [2, 2]) },
        Damage("more layers than can be planned", says: "at most 16384") {
            let layers = (0..<17_000).map {
                #"{"name":"r\#($0)","op":"activation","input":"image","function":"hard_swish"},"#
            }
            $0.metadata["lookalike.graph"] = $0.metadata["lookalike.graph"]?.replacingOccurrences(
                of: #""nodes":["#, with: #""nodes":["# + layers.joined())
        },
    ]

    @Test(arguments: damages) func saysWhatIsWrong(damage: Damage) {
        var builder = SafeTensorsBuilder.tiny()
        damage.apply(&builder)
        let error = #expect(throws: ModelError.self) { try FeaturePrintModel(builder.data, named: "bad.safetensors") }
        let words = error?.description ?? ""
        #expect(words.hasPrefix("bad.safetensors: ") && words.contains(damage.says), "\(words)")
    }

    @Test func aPartOfOtherDataIsReadAsAFile() throws {
        let file = SafeTensorsBuilder.tiny().data
        let model = try FeaturePrintModel(file, named: "x")
        for before in [1, 7, 100] {
            let part = (Data(repeating: 0x7B, count: before) + file).dropFirst(before)
            #expect(try FeaturePrintModel(part, named: "x").identity == model.identity)
        }
    }

    @Test func everyTruncationIsAnError() {
        let whole = SafeTensorsBuilder.tiny().data
        for count in 0..<whole.count {
            #expect(throws: ModelError.self, "\(count) of \(whole.count) bytes") {
                try FeaturePrintModel(whole.prefix(count), named: "x")
            }
        }
    }

    @Test func randomDamageNeverCrashes() {
        let whole = SafeTensorsBuilder.tiny().data
        var random = SeededGenerator(seed: 77)
        for _ in 0..<2000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? FeaturePrintModel(bytes, named: "x")
        }
    }
}
