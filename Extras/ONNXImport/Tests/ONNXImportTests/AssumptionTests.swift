import Foundation
import Lookalike
import ONNXImport
import Testing

/// What a file does not say, and how it is found or refused.
struct AssumptionTests {
    /// A network that makes the means of the channels its print, behind some nodes on the image. A 1 at the end of the
    /// print says by what it was divided.
    private static func file(
        _ steps: [ProtocolBuffer], _ constants: [ProtocolBuffer], element: Int = 1, input: [Int] = [1, 3, 8, 8]
    ) -> Data {
        let end: [ProtocolBuffer] = [.node("GlobalAveragePool", ["x"], "mean"), .node("Flatten", ["mean"], "means")]
        let joined = ProtocolBuffer.node("Concat", ["means", "one"], "out").attribute("axis", 1)
        return ProtocolBuffer.model(
            steps + end + [joined], initializers: constants + [.floats("one", [1], [1, 1])], element: element,
            input: input
        ).data
    }

    /// The values that the network gives to a plain color, which is (1, 0.6, 0).
    private static func values(
        _ file: Data, mean: [Float]? = nil, std: [Float]? = nil
    ) throws -> (values: [Float], assumptions: [String]) {
        let options = ImportOptions(name: "x", mean: mean, std: std)
        let network = try ImportedNetwork(file, named: "x.onnx", options: options)
        let model = try FeaturePrintModel(network.modelFile(), named: "x")
        let pixels = [[UInt8]](repeating: [255, 153, 0], count: 64).flatMap(\.self)
        let image = try PixelBuffer(pixels, width: 8, height: 8, format: .rgb8)
        let print = try model.featurePrint(for: image).vector
        return (print.dropLast().map { $0 / print[3] }, network.assumptions)
    }

    private static let mean: [Float] = [0.485, 0.456, 0.406], std: [Float] = [0.229, 0.224, 0.225]
    private static let expected: [Float] = zip(zip([1, 0.6, 0], mean), std).map { ($0.0 - $0.1) / $1 }

    private static func agree(_ a: [Float], _ b: [Float]) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { abs($0 - $1) < 1e-3 * max(1, abs($1)) }
    }

    private static func channels(_ name: String, _ values: [Float]) -> ProtocolBuffer {
        .floats(name, values, [1, 3, 1, 1])
    }

    /// The same numbers come out whoever normalizes.
    @Test func aNetworkThatNormalizesTheImageGetsItPlain() throws {
        let m = Self.mean, s = Self.std
        let bytes = m.map { $0 * 255 }, byteDeviations = s.map { $0 * 255 }
        let files: [(Data, String)] = [
            // Nothing: ImageNet's values are taken.
            (Self.file([.node("Identity", ["image"], "x")], []), "ImageNet’s, as the file does not say"),
            // The mean and the deviation are of values in 0…1.
            (
                Self.file(
                    [.node("Sub", ["image", "m"], "a"), .node("Div", ["a", "s"], "x")],
                    [Self.channels("m", m), Self.channels("s", s)]), "0…1, without mean"
            ),
            (
                Self.file(
                    [.node("Mul", ["image", "f"], "a"), .node("Add", ["a", "o"], "x")],
                    [Self.channels("f", s.map { 1 / $0 }), Self.channels("o", zip(m, s).map { -$0 / $1 })]),
                "0…1, without mean"
            ),
            // The mean and the deviation are of values in 0…255.
            (
                Self.file(
                    [.node("Sub", ["image", "m"], "a"), .node("Div", ["a", "s"], "x")],
                    [Self.channels("m", bytes), Self.channels("s", byteDeviations)]), "0…255, without mean"
            ),
            (
                Self.file(
                    [
                        .node("Cast", ["image"], "b").attribute("to", 1), .node("Div", ["b", "n"], "c"),
                        .node("Sub", ["c", "m"], "a"), .node("Div", ["a", "s"], "x"),
                    ], [.floats("n", [255]), Self.channels("m", m), Self.channels("s", s)]), "0…255, without mean"
            ),
            // The mean and the deviation are of bytes.
            (
                Self.file(
                    [
                        .node("Cast", ["image"], "b").attribute("to", 1), .node("Sub", ["b", "m"], "a"),
                        .node("Div", ["a", "s"], "x"),
                    ], [Self.channels("m", bytes), Self.channels("s", byteDeviations)], element: 2), "uint8"
            ),
        ]
        for (index, (file, words)) in files.enumerated() {
            let (values, assumptions) = try Self.values(file)
            #expect(Self.agree(values, Self.expected), "\(index): \(values)")
            #expect(assumptions.count == 3 && assumptions[0].contains(words), "\(assumptions)")
            #expect(
                assumptions[0].hasPrefix("input “image”, RGB, channels first: ") && assumptions[1].contains("“out”"))
        }
    }

    /// Channels are last in files of TensorFlow.
    @Test func channelsMayBeLast() throws {
        let file = Self.file(
            [
                .node("Sub", ["image", "m"], "a"), .node("Div", ["a", "s"], "b"),
                .node("Transpose", ["b"], "x", ["perm": [0, 3, 1, 2]]),
            ], [.floats("m", Self.mean, [3]), .floats("s", Self.std, [3])], input: [1, 8, 8, 3])
        let (values, assumptions) = try Self.values(file)
        #expect(Self.agree(values, Self.expected), "\(values)")
        #expect(assumptions[0].contains("channels last"))
    }

    /// A mean that is subtracted without a deviation, the range −1…1, a factor alone.
    @Test func rangesOfValuesAreFound() throws {
        for (steps, constants, expected) in [
            (
                [.node("Sub", ["image", "m"], "x")], [Self.channels("m", [123.7, 116.3, 103.5])], [131.3, 36.7, -103.5]
            ),
            (
                [.node("Mul", ["image", "t"], "a"), .node("Sub", ["a", "o"], "x")],
                [.floats("t", [2]), .floats("o", [1])], [1, 0.2, -1]
            ),
            (
                [.node("Sub", ["image", "h"], "a"), .node("Mul", ["a", "f"], "x")],
                [.floats("h", [127.5]), .floats("f", [0.0078125])], [0.99609, 0.199219, -0.99609]
            ),
            ([.node("Div", ["image", "n"], "x")], [.floats("n", [255])], [1, 0.6, 0]),
            ([.node("Sub", ["o", "image"], "x")], [.floats("o", [1])], [0, 0.4, 1]),
        ] as [([ProtocolBuffer], [ProtocolBuffer], [Float])] {
            let values = try Self.values(Self.file(steps, constants)).values
            #expect(Self.agree(values, expected), "\(values) instead of \(expected)")
        }
    }

    @Test func whatIsGivenIsTaken() throws {
        let own = Self.file([.node("Sub", ["image", "m"], "x")], [Self.channels("m", [0.5, 0.5, 0.5])])
        let (values, assumptions) = try Self.values(own, mean: [0, 0, 0], std: [0.5, 0.5, 0.5])
        #expect(Self.agree(values, [1.5, 0.7, -0.5]))
        #expect(assumptions[0].contains("as given; the network normalizes the image itself, too"), "\(assumptions)")
        let plain = Self.file([.node("Identity", ["image"], "x")], [])
        #expect(Self.agree(try Self.values(plain, mean: [0, 0, 0], std: [1, 1, 1]).values, [1, 0.6, 0]))
    }

    private static func words(_ file: Data, _ options: ImportOptions = ImportOptions(name: "x")) -> String {
        do {
            _ = try ImportedNetwork(file, named: "x.onnx", options: options)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func rangesThatAreNoneAreRefused() {
        let far = Self.file([.node("Add", ["image", "o"], "x")], [.floats("o", [1000])])
        #expect(Self.words(far).contains("give --mean and --std"))
        let bytes = Self.file([.node("Cast", ["image"], "x").attribute("to", 1)], [], element: 2)
        let given = ImportOptions(name: "x", mean: [0, 0, 0])
        #expect(Self.words(bytes, given).contains("takes bytes (uint8)"))
    }

    @Test(arguments: [(3, "int8"), (6, "int32"), (7, "int64"), (8, "string"), (9, "bool"), (77, "number 77")])
    func typesOfInputsAreNamed(element: Int, name: String) {
        let file = Self.file([.node("Cast", ["image"], "x").attribute("to", 1)], [], element: element)
        #expect(Self.words(file).contains("elements of the type \(name); floats or bytes (uint8) are needed"))
    }

    @Test func oneOfSeveralOutputsHasToBeNamed() throws {
        let nodes: [ProtocolBuffer] = [
            .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "embedding"),
            .node("Softmax", ["embedding"], "s"), .node("Identity", ["s"], "probabilities"),
        ]
        let file = ProtocolBuffer.model(nodes, outputs: ["probabilities", "embedding"]).data
        let words = Self.words(file)
        #expect(
            words.contains("2 outputs"), "\(words)")
        #expect(
            words.contains("“probabilities” (1×3, from Softmax), “embedding” (1×3)")
                && words.contains("--tensor"), "\(words)")
        let named = try ImportedNetwork(file, named: "x", options: ImportOptions(name: "x", tensor: "embedding"))
        #expect(named.assumptions[1] == "output “embedding”")
        let probable = try ImportedNetwork(
            ProtocolBuffer.model(nodes, outputs: ["probabilities"]).data, named: "x", options: ImportOptions(name: "x"))
        #expect(probable.assumptions[1].contains("from Softmax: these may be the probabilities of classes"))
        // An output that does not depend on the image is none.
        let constant = ProtocolBuffer.model(
            nodes, initializers: [.floats("scale", [1], [1])], outputs: ["scale", "embedding"]
        ).data
        #expect(
            try ImportedNetwork(constant, named: "x", options: ImportOptions(name: "x")).assumptions[1].contains(
                "embedding"))
        let unknown = Self.words(file, ImportOptions(name: "x", tensor: "nowhere"))
        #expect(unknown.contains("no tensor “nowhere”") && unknown.contains("its outputs are “probabilities”"))
    }
}
