import Foundation
import Inference
import Lookalike
import ONNXImport
import Testing

private let fixtures = Bundle.module.resourceURL!.appendingPathComponent("Fixtures")

struct ImportTests {
    private static func options(_ name: String) -> ImportOptions { ImportOptions(name: name) }

    private static func file(_ name: String) -> URL { fixtures.appendingPathComponent("\(name).onnx") }

    /// The formula of `make_fixtures.py`, at the networks' own size, so that nothing is resized.
    private static func image() throws -> PixelBuffer {
        var bytes: [UInt8] = []
        for y in 0..<32 {
            for x in 0..<32 {
                for c in 0..<3 { bytes.append(UInt8((x * (3 + c) + y * (5 - c) + x * y / (7 + c)) % 256)) }
            }
        }
        return try PixelBuffer(bytes, width: 32, height: 32, format: .rgb8)
    }

    @Test(arguments: ["mobile", "residual", "attention", "channels-last", "various"])
    func agreesWithONNXRuntime(name: String) throws {
        let expected = try JSONDecoder().decode(
            [String: [Float]].self, from: Data(contentsOf: fixtures.appendingPathComponent("prints.json")))
        let print = try #require(expected[name])
        let network = try ImportedNetwork(contentsOf: Self.file(name), options: Self.options(name))
        let model = try FeaturePrintModel(network.modelFile(), named: name)
        let largest = print.map(abs).max() ?? 0
        for threads in [1, 3] {
            let vector = try model.featurePrint(for: Self.image(), threads: threads).vector
            #expect(vector.count == print.count)
            // Beside what rounding to half precision changes.
            let worst = zip(vector, print).map { abs($0 - $1) - abs($1) * 0x1p-11 }.max() ?? .infinity
            #expect(worst <= 1e-4 * largest, "\(threads) threads: \(worst) off")
        }
        #expect(!model.usesLocalFeatures && !model.localizesObjects && model.matchThreshold == nil)
    }

    @Test(arguments: ["mobile", "residual", "attention", "channels-last", "various"])
    func batchesChangeNothing(name: String) throws {
        let network = try ImportedNetwork(contentsOf: Self.file(name), options: Self.options(name))
        let model = try FeaturePrintModel(network.modelFile(), named: name)
        let images = try [Self.image(), Self.image().cropped(), Self.image()]
        let alone = try images.map { try model.featurePrint(for: $0, threads: 1).vector }
        // Twice, since the second time memory is used again that held other images.
        for _ in 0..<2 { #expect(try model.featurePrints(for: images, threads: 2).map(\.vector) == alone) }
    }

    @Test func foldsWhatItCan() throws {
        let network = try ImportedNetwork(contentsOf: Self.file("mobile"), options: Self.options("mobile"))
        let activations = network.graph.nodes.filter { $0.operation is NetworkGraph.Activation }
        // Behind a clamped power alone: the others are part of a convolution.
        #expect(activations.count <= 3, "\(activations.map(\.name))")
        let residuals = network.graph.nodes.filter {
            ($0.operation as? NetworkGraph.Convolution)?.residual != nil
        }
        #expect(residuals.count == 1)
        let last = try ImportedNetwork(contentsOf: Self.file("channels-last"), options: Self.options("x"))
        // No array but the last vector: transpositions cost nothing.
        let arrays = last.graph.nodes.filter { $0.operation is NetworkGraph.Rearrangement }
        #expect(arrays.count == 1, "\(arrays.map(\.name))")
    }

    @Test func aTensorInTheMiddleBecomesThePrint() throws {
        var options = Self.options("mobile")
        options.tensor = "nowhere"
        let error = #expect(throws: ImportError.self) {
            try ImportedNetwork(contentsOf: Self.file("mobile"), options: options)
        }
        #expect(error?.description.contains("no tensor “nowhere”") == true)
    }

    /// Networks of two towers come as one file.
    @Test func otherTowersAreLeftOut() throws {
        let image: [ProtocolBuffer] = [
            .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "image_embeds"),
        ]
        let text: [ProtocolBuffer] = [
            .node("Gather", ["words", "ids"], "text_embeds"),
            .node("MatMul", ["image_embeds", "text_embeds"], "logits"),
        ]
        let ids = ProtocolBuffer().adding(1, "ids")
        let file = ProtocolBuffer.model(
            text + image, initializers: [.floats("words", [1, 2], [2, 1])], outputs: ["logits", "image_embeds"],
            otherInputs: [ids]
        ).data
        var options = Self.options("x")
        let error = #expect(throws: ImportError.self) { try ImportedNetwork(file, named: "x", options: options) }
        #expect(error?.description.contains("--tensor names an output that needs no other") == true)
        options.tensor = "image_embeds"
        let alone = ProtocolBuffer.model(image, outputs: ["image_embeds"]).data
        #expect(
            try ImportedNetwork(file, named: "x", options: options).modelFile()
                == ImportedNetwork(alone, named: "x", options: options).modelFile())
    }

    @Test func aWrongSizeIsRefused() {
        var options = Self.options("mobile")
        options.inputSize = 64
        let error = #expect(throws: ImportError.self) {
            try ImportedNetwork(contentsOf: Self.file("mobile"), options: options)
        }
        #expect(error?.description.contains("cannot take images of 64 pixels") == true)
    }

    @Test func anUnknownOperatorIsNamed() throws {
        var data = try Data(contentsOf: Self.file("mobile"))
        // The field “op_type”, with a name of the same length, so that the file stays whole.
        let field = Data([4 << 3 | 2, 9])
        let range = try #require(data.range(of: field + Data("HardSwish".utf8)))
        data.replaceSubrange(range, with: field + Data("HardSwirl".utf8))
        let error = #expect(throws: ImportError.self) {
            try ImportedNetwork(data, named: "x.onnx", options: Self.options("x"))
        }
        let words = error?.description ?? ""
        #expect(words.hasPrefix("x.onnx: node “") && words.contains("(HardSwirl) is not supported"), "\(words)")
    }

    /// What is cropped on one side and added on the other moves the image.
    @Test func paddingThatKeepsTheSizeIsPadding() throws {
        let nodes: [ProtocolBuffer] = [
            .node("Pad", ["image", "p"], "moved"), .node("GlobalAveragePool", ["moved"], "mean"),
            .node("Flatten", ["mean"], "out"),
        ]
        for (pads, isPadded) in [([0, 0, 0, -1, 0, 0, 0, 1], true), ([0, 0, 0, 0, 0, 0, 0, 0], false)] {
            let file = ProtocolBuffer.model(nodes, initializers: [.integers("p", pads)]).data
            let network = try ImportedNetwork(file, named: "x", options: Self.options("x"))
            let paddings = network.graph.nodes.filter { $0.operation is NetworkGraph.ArrayPadding }
            #expect(paddings.isEmpty != isPadded)
        }
    }

    /// The softmax of the darker channels is 0 as a float.
    @Test func logarithmsOfASoftmaxReachFar() throws {
        let doubled = (0..<10).map { ProtocolBuffer.node("Add", ["x\($0)", "x\($0)"], "x\($0 + 1)") }
        let nodes: [ProtocolBuffer] =
            [.node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "x0")] + doubled
            + [.node("LogSoftmax", ["x10"], "out")]
        let network = try ImportedNetwork(
            ProtocolBuffer.model(nodes).data, named: "x",
            options: ImportOptions(name: "x", mean: [0, 0, 0], std: [1, 1, 1]))
        let model = try FeaturePrintModel(network.modelFile(), named: "x")
        let pixels = [[UInt8]](repeating: [255, 153, 0], count: 64).flatMap(\.self)
        let print = try model.featurePrint(for: PixelBuffer(pixels, width: 8, height: 8, format: .rgb8))
        // (0, −0.4, −1), as a unit vector.
        for (value, expected) in zip(print.vector, [0, -0.3714, -0.9285]) {
            #expect(abs(Double(value) - expected) < 1e-3, "\(print.vector)")
        }
    }

    @Test func aMissingFileIsNamed() {
        let error = #expect(throws: ImportError.self) {
            try ImportedNetwork(contentsOf: URL(fileURLWithPath: "/nowhere/n.onnx"), options: Self.options("n"))
        }
        #expect(error?.description.hasPrefix("/nowhere/n.onnx: cannot be read") == true)
    }
}

/// Files that were damaged, or made to harm.
struct HostileFileTests {
    /// Imports a file and, if that succeeds, makes a model of it.
    private func use(_ data: Data) throws {
        let network = try ImportedNetwork(data, named: "x", options: ImportOptions(name: "x"))
        _ = try FeaturePrintModel(network.modelFile(), named: "x")
    }

    /// It took the square of their number.
    @Test func manyLayersOfOneName() throws {
        let nodes = (0..<20_000).map { _ in ProtocolBuffer.node("Relu", ["image"], "a") }
        let file = ProtocolBuffer.model(nodes + [.node("Flatten", ["a"], "out")]).data
        let network = try ImportedNetwork(file, named: "x", options: ImportOptions(name: "x"))
        #expect(Set(network.graph.nodes.map(\.name)).count == network.graph.nodes.count)
    }

    @Test func truncatedFilesAreRefused() throws {
        let whole = try Data(contentsOf: fixtures.appendingPathComponent("channels-last.onnx"))
        for count in stride(from: 0, to: whole.count - 1, by: 97) {
            #expect(throws: (any Error).self, "\(count) of \(whole.count) bytes") { try use(whole.prefix(count)) }
        }
    }

    struct Bomb: Sendable, CustomStringConvertible {
        let description: String
        /// In the error's words.
        let says: String
        let nodes: [ProtocolBuffer]
        let initializers: [ProtocolBuffer]
    }

    static let bombs: [Bomb] = [
        Bomb(
            description: "extents beside a zero, whose product overflows", says: "impossible shape",
            nodes: [.node("Transpose", ["w"], "out")],
            initializers: [
                [0, 1 << 29, 1 << 29, 1 << 29].reduce(ProtocolBuffer()) { $0.adding(1, $1) }
                    .adding(2, 1).adding(8, "w")
            ]),
        Bomb(
            description: "a filled tensor with such extents", says: "makes a constant of the shape",
            nodes: [.node("ConstantOfShape", ["s"], "w"), .node("Transpose", ["w"], "out")],
            initializers: [.integers("s", [0, 1 << 24, 1 << 24, 1 << 24])]),
        Bomb(
            description: "a constant that is repeated without end", says: "makes a constant of the shape",
            nodes: [.node("Expand", ["w", "s"], "out")],
            initializers: [.integers("w", [1]), .integers("s", [2, .max])]),
        Bomb(
            description: "a table of all sums", says: "makes a constant of the shape",
            nodes: [
                .node("Range", ["0", "n", "1"], "r"), .node("Unsqueeze", ["r", "1"], "c"),
                .node("Add", ["r", "c"], "out"),
            ],
            initializers: [
                .integers("0", [0]), .integers("n", [1 << 20]), .integers("1", [1]),
            ]),
        Bomb(
            description: "a constant joined with itself", says: "makes a constant of the shape",
            nodes: [
                .node("ConstantOfShape", ["s"], "w"),
                .node("Concat", Array(repeating: "w", count: 2000), "out"),
            ],
            initializers: [.integers("s", [1 << 20])]),
        Bomb(
            description: "a constant that is turned again and again", says: "makes constants of more than 33554432",
            nodes: [
                .node("ConstantOfShape", ["s"], "w"), .node("Transpose", ["w"], "t"), .node("Transpose", ["t"], "out"),
            ],
            initializers: [.integers("s", [1 << 12, 1 << 12])]),
        Bomb(
            description: "windows without end", says: "kernel_shape",
            nodes: [.node("MaxPool", ["image"], "out", ["kernel_shape": [.max, .min]])], initializers: []),
        Bomb(
            description: "steps without end", says: "strides",
            nodes: [.node("AveragePool", ["image"], "out", ["kernel_shape": [2, 2], "strides": [.max, 1]])],
            initializers: []),
        Bomb(
            description: "padding without end", says: "pads",
            nodes: [.node("MaxPool", ["image"], "out", ["kernel_shape": [2, 2], "pads": [.max, .max, 1, .min]])],
            initializers: []),
        Bomb(
            description: "a constant without an axis that it needs", says: "removes the axes [0] of [2]",
            nodes: [.node("Squeeze", ["w", "a"], "v"), .node("Reshape", ["image", "v"], "out")],
            initializers: [.integers("w", [1, -1]), .integers("a", [0])]),
        Bomb(
            description: "a shape with axes without end", says: "makes a constant of the shape",
            nodes: [.node("Expand", ["w", "s"], "v"), .node("Reshape", ["image", "v"], "out")],
            initializers: [.integers("w", [1]), .integers("s", [Int](repeating: 1, count: 200))]),
        Bomb(
            description: "a convolution with outputs without end", says: "has a weight of the shape",
            nodes: [.node("Conv", ["image", "w"], "out")], initializers: [.empty("w", [1 << 29, 0, 1, 1])]),
        Bomb(
            description: "axes without end", says: "axis",
            nodes: [.node("ReduceSum", ["image", "a"], "out")], initializers: [.integers("a", [.min])]),
    ]

    /// A small file may ask for any amount of memory, and for numbers that overflow.
    @Test(arguments: bombs) func bombsAreRefused(bomb: Bomb) {
        let file = ProtocolBuffer.model(bomb.nodes, initializers: bomb.initializers).data
        let error = #expect(throws: ImportError.self) { try use(file) }
        #expect(error?.description.contains(bomb.says) == true, "\(error?.description ?? "")")
    }

    /// A flipped bit may give another network that is well formed; it must not end the process.
    @Test func flippedBitsNeverCrash() throws {
        let whole = try Data(contentsOf: fixtures.appendingPathComponent("channels-last.onnx"))
        var state: UInt64 = 88_172_645_463_325_252
        func next(_ bound: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }
        // Half of them where the nodes are, which is before the weights.
        for round in 0..<300 {
            var bytes = whole
            for _ in 0..<(1 + next(3)) {
                let place = next(round % 2 == 0 ? min(6000, bytes.count) : bytes.count)
                bytes[place] ^= UInt8(1 << next(8))
            }
            _ = try? use(bytes)
        }
    }
}

extension PixelBuffer {
    /// Another image: the same in other colors.
    fileprivate func cropped() throws -> PixelBuffer {
        try PixelBuffer((0..<(32 * 32 * 3)).map { UInt8($0 * 7 % 251) }, width: 32, height: 32, format: .rgb8)
    }
}
