import Foundation
import Lookalike
import ONNXImport
import Testing

/// What does not depend on the image is computed during the import.
struct FoldingTests {
    /// The numbers that an import makes of “y”: the network puts them behind the means of the image.
    private func folded(
        _ nodes: [ProtocolBuffer], _ initializers: [ProtocolBuffer], input: [Int] = [1, 3, 8, 8], inputSize: Int? = nil
    ) throws -> [Float] {
        let end: [ProtocolBuffer] = [
            .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "means"),
            .node("Reshape", ["y", "row"], "numbers"),
            .node("Concat", ["means", "numbers"], "out").attribute("axis", 1),
        ]
        let file = ProtocolBuffer.model(
            nodes + end, initializers: initializers + [.integers("row", [1, -1])], input: input)
        let network = try ImportedNetwork(
            file.data, named: "x", options: ImportOptions(name: "x", inputSize: inputSize))
        // A constant, and no layer that computes it.
        #expect(network.graph.nodes.count <= 6, "\(network.graph.nodes.map(\.name))")
        let data = try network.modelFile()
        let length = Int(data.prefix(8).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) })
        let header = try #require(
            JSONSerialization.jsonObject(with: data[8..<(8 + length)]) as? [String: [String: Any]])
        let place = try #require(header["numbers"]?["data_offsets"] as? [Int])
        let bytes = data[(8 + length + place[0])..<(8 + length + place[1])]
        return bytes.withUnsafeBytes { buffer in
            (0..<(buffer.count / 4)).map { buffer.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
        }
    }

    private func agree(_ a: [Float], _ b: [Float], _ limit: Float = 1e-5) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { abs($0 - $1) <= limit * max(1, abs($1)) }
    }

    private struct Resizes: Decodable {
        struct Case: Decodable {
            let size: [Int]
            let words: [String: String]
            let numbers: [String: Double]
            let result: [Float]
        }

        let values: [Float]
        let cases: [Case]
    }

    @Test func positionsAreResizedAsByONNXRuntime() throws {
        let url = try #require(Bundle.module.resourceURL).appendingPathComponent("Fixtures/resizes.json")
        let resizes = try JSONDecoder().decode(Resizes.self, from: Data(contentsOf: url))
        #expect(resizes.cases.count >= 9)
        for test in resizes.cases {
            var node = ProtocolBuffer.node("Resize", ["w", "", "", "sizes"], "y")
            for (name, word) in test.words { node = node.attribute(name, word) }
            for (name, number) in test.numbers {
                node = name == "cubic_coeff_a" ? node.attribute(name, Float(number)) : node.attribute(name, Int(number))
            }
            let result = try folded(
                [node], [.floats("w", resizes.values, [1, 2, 5, 7]), .integers("sizes", [1, 2] + test.size)])
            #expect(agree(result, test.result, 1e-5), "\(test.words) \(test.numbers) to \(test.size): \(result)")
        }
    }

    /// As DINOv2 computes the size of its positions: from the image's, with a cast that was taken for the image's own.
    @Test func sizesFollowFromTheInput() throws {
        let nodes: [ProtocolBuffer] = [
            .node("Shape", ["image"], "shape"), .node("Gather", ["shape", "last"], "side"),
            .node("Div", ["side", "patch"], "count"), .node("Cast", ["count"], "float").attribute("to", 1),
            .node("Pow", ["float", "half"], "root"), .node("Floor", ["root"], "floor"),
            .node("Cast", ["floor"], "integer").attribute("to", 7), .node("Unsqueeze", ["integer", "first"], "axis"),
            .node("Concat", ["axis", "axis"], "extents").attribute("axis", 0),
            .node("ConstantOfShape", ["extents"], "zeros"), .node("Shape", ["zeros"], "sizes"),
            .node("Range", ["zero", "integer", "one"], "range"), .node("Tile", ["range", "two"], "tiled"),
            .node("Concat", ["sizes", "tiled"], "all").attribute("axis", 0),
            .node("Cast", ["all"], "y").attribute("to", 1),
        ]
        let result = try folded(
            nodes,
            [
                .integer("last", 3), .integer("patch", 4), .floats("half", [0.5]), .integers("first", [0]),
                .integer("zero", 0), .integer("one", 1), .integers("two", [2]),
            ], input: [1, 3, 0, 0], inputSize: 40)
        #expect(result == [3, 3, 0, 1, 2, 0, 1, 2])
    }

    /// Operators that have a layer are computed with it.
    @Test func layersComputeConstants() throws {
        let x: [Float] = [1, -2, 3, 4, 0.5, -1]
        let cases: [(ProtocolBuffer, [Float])] = [
            (.node("ReduceMean", ["x"], "y", ["axes": [1]]), [2.0 / 3, 3.5 / 3]),
            (.node("MatMul", ["x", "m"], "y"), [4, 1, 3, -0.5]),
            (.node("Relu", ["x"], "y"), [1, 0, 3, 4, 0.5, 0]),
            (.node("LeakyRelu", ["x"], "y").attribute("alpha", Float(0.5)), [1, -1, 3, 4, 0.5, -0.5]),
            (.node("ReduceProd", ["x"], "y", ["axes": [1]]), [-6, -2]),
            (.node("Pow", ["x", "two"], "y"), [1, 4, 9, 16, 0.25, 1]),
            (.node("ScatterND", ["x", "places", "updates"], "y"), [1, 7, 3, 8, 0.5, -1]),
        ]
        for (node, expected) in cases {
            let result = try folded(
                [node],
                [
                    .floats("x", x, [2, 3]), .floats("m", [1, 0, 0, 1, 1, 1], [3, 2]), .floats("two", [2]),
                    .integers("places", [0, 1, 1, 0], [2, 2]), .floats("updates", [7, 8], [2]),
                ])
            #expect(agree(result, expected), "\(result), not \(expected)")
        }
        // More elements than a network gives at once.
        let many = (0..<70_000).map { Float($0 % 97) - 48 }
        #expect(try folded([.node("Relu", ["x"], "y")], [.floats("x", many, [700, 100])]) == many.map { max($0, 0) })
    }

    @Test func branchesOnSizesAreTaken() throws {
        for (limit, expected) in [(4, [Float(1), 2]), (40, [10, 20])] {
            let branch = ProtocolBuffer.node("If", ["isLarge"], "y")
                .attribute("then_branch", nodes: [.node("Identity", ["a"], "t")], output: "t")
                .attribute("else_branch", nodes: [.node("Mul", ["a", "ten"], "e")], output: "e")
            // The branch reads a name that a later node makes.
            let nodes: [ProtocolBuffer] = [
                branch, .node("Mul", ["b", "half"], "a"), .node("Size", ["image"], "size"),
                .node("Shape", ["image"], "shape"), .node("Gather", ["shape", "last"], "side"),
                .node("Greater", ["side", "limit"], "isLarge"),
            ]
            let result = try folded(
                nodes,
                [
                    .floats("b", [2, 4], [2]), .floats("half", [0.5]), .floats("ten", [10]), .integer("last", 3),
                    .integer("limit", limit),
                ])
            #expect(result == expected)
        }
    }

    // MARK: Quantized graphs

    private func print(_ nodes: [ProtocolBuffer], _ initializers: [ProtocolBuffer], color: [UInt8]) throws -> [Float] {
        let file = ProtocolBuffer.model(nodes, initializers: initializers)
        let network = try ImportedNetwork(
            file.data, named: "x", options: ImportOptions(name: "x", mean: [0, 0, 0], std: [1, 1, 1]))
        let model = try FeaturePrintModel(network.modelFile(), named: "x")
        let pixels = [[UInt8]](repeating: color, count: 64).flatMap(\.self)
        return try model.featurePrint(for: PixelBuffer(pixels, width: 8, height: 8, format: .rgb8)).vector
    }

    /// Weights with a scale per row, and constants that are quantized.
    @Test func integersBecomeNumbers() throws {
        let weights = try folded(
            [.node("DequantizeLinear", ["w", "s", "z"], "y").attribute("axis", 0)],
            [
                .bytes("w", [0, 127, 255, 128], [2, 2], isSigned: true), .floats("s", [0.5, 2], [2]),
                .bytes("z", [0, 1], [2], isSigned: true),
            ])
        #expect(weights == [0, 63.5, -4, -258])
        let codes = try folded(
            [.node("QuantizeLinear", ["w", "s", "z"], "q"), .node("Cast", ["q"], "y").attribute("to", 1)],
            [.floats("w", [-9, 0.125, 0.375, 0.3, 99], [5]), .floats("s", [0.25]), .bytes("z", [3])])
        // Halves to even, and clamped.
        #expect(codes == [0, 3, 5, 4, 255])
    }

    /// The steps and the ends of the range of what depends on the image: here (1, 0.6, 0.2).
    @Test func activationsHaveSteps() throws {
        func codes(_ scale: Float, _ zero: UInt8) throws -> [Float] {
            let nodes: [ProtocolBuffer] = [
                .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "means"),
                .node("QuantizeLinear", ["means", "s", "z"], "q"), .node("DequantizeLinear", ["q", "s", "z"], "d"),
                .node("Concat", ["d", "one"], "out").attribute("axis", 1),
            ]
            let vector = try print(
                nodes, [.floats("s", [scale]), .bytes("z", [zero]), .floats("one", [1], [1, 1])], color: [255, 153, 51])
            return vector.dropLast().map { $0 / vector[3] }
        }
        #expect(agree(try codes(0.25, 0), [1, 0.5, 0.25], 1e-3))
        // Codes above 254 end at 255: one step above the zero point.
        #expect(agree(try codes(0.5, 254), [0.5, 0.5, 0], 1e-3))
    }

    /// Factors of a linear layer's results go into its weights, unless another layer has the same weights.
    @Test(arguments: [["w", "v"], ["w", "w"]]) func factorsAreMultipliedOnce(weights: [String]) throws {
        let nodes: [ProtocolBuffer] = [
            .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "means"),
            .node("MatMul", ["means", weights[0]], "p"), .node("Add", ["p", "b"], "first"),
            .node("Mul", ["first", "factors"], "scaled"), .node("MatMul", ["means", weights[1]], "second"),
            .node("Concat", ["scaled", "second", "one"], "out").attribute("axis", 1),
        ]
        let matrix: [Float] = [1, 2, -3, 4, 0.5, -6]
        let vector = try print(
            nodes,
            [
                .floats("w", matrix, [3, 2]), .floats("v", matrix, [3, 2]), .floats("b", [0.25, -1], [2]),
                .floats("factors", [3, -0.5], [2]), .floats("one", [1], [1, 1]),
            ], color: [255, 153, 51])
        let found = vector.dropLast().map { $0 / vector[4] }
        // The means are (1, 0.6, 0.2).
        let second: [Float] = [1 - 3 * 0.6 + 0.5 * 0.2, 2 + 4 * 0.6 - 6 * 0.2]
        #expect(agree(found, [3 * (second[0] + 0.25), -0.5 * (second[1] - 1)] + second, 1e-3), "\(found)")
    }

    /// A product of integers whose scales are chosen for each image is the product of the numbers.
    @Test func dynamicIntegersMultiply() throws {
        let nodes: [ProtocolBuffer] = [
            .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "means"),
            .dynamic("means", ["q", "qs", "qz"]), .node("MatMulInteger", ["q", "w", "qz", "wz"], "sums"),
            .node("Cast", ["sums"], "floats").attribute("to", 1), .node("Mul", ["qs", "ws"], "scale"),
            .node("Mul", ["floats", "scale"], "product"),
            .node("Concat", ["product", "one"], "out").attribute("axis", 1),
        ]
        let initializers: [ProtocolBuffer] = [
            .bytes("w", [130, 126, 128, 129, 138, 128], [3, 2]), .bytes("wz", [128]), .floats("ws", [0.5]),
            .floats("one", [1], [1, 1]),
        ]
        let vector = try print(nodes, initializers, color: [255, 153, 51])
        let product = vector.dropLast().map { $0 / vector[2] }
        #expect(agree(product, [2, -0.7], 1e-3), "\(product)")
        // What else reads integers would take them for numbers.
        let misused = nodes.dropLast(4) + [ProtocolBuffer.node("Mul", ["sums", "ws"], "out")]
        let error = #expect(throws: ImportError.self) { try print(Array(misused), initializers, color: [0, 0, 0]) }
        #expect(error?.description.contains("computes with the integers of “sums”") == true)
    }
}

extension ProtocolBuffer {
    /// A node with three outputs: integers, their scale and their zero point.
    fileprivate static func dynamic(_ input: String, _ outputs: [String]) -> ProtocolBuffer {
        outputs.reduce(ProtocolBuffer().adding(1, input)) { $0.adding(2, $1) }.adding(4, "DynamicQuantizeLinear")
    }
}
