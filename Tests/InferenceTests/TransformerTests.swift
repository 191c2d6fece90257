import Compute
import Foundation
import Inference
import TestSupport
import Testing

/// A block of a transformer, whose layers become few, against double precision.
struct TransformerTests {
    /// Arrays of constants and layers with random weights, as a graph and in double precision.
    private struct Block {
        var nodes: [String] = []
        var file = SafeTensorsBuilder()
        var random: SeededGenerator

        mutating func add(_ name: String, _ operation: String, _ input: String, _ parameters: String) {
            nodes.append("{\"name\":\"\(name)\",\"op\":\"\(operation)\",\"input\":\"\(input)\",\(parameters)}")
        }

        mutating func constant(_ name: String, _ values: [Float], _ shape: [Int]) {
            file.add("\(name).values", values, shape: shape)
            add(name, "constant", "text", "\"tensor\":\"\(name).values\",\"shape\":\(shape)")
        }

        mutating func linear(_ name: String, _ input: String, _ from: [[Double]], _ outputs: Int) -> [[Double]] {
            let inputs = from[0].count
            let scale = 1 / Float(inputs).squareRoot()
            let weights = random.floats(inputs * outputs).map { $0 * 2 * scale }
            let bias = random.floats(outputs)
            file.add("\(name).weight", weights, shape: [outputs, inputs])
            file.add("\(name).bias", bias, shape: [outputs])
            add(name, "linear", input, "\"weight\":\"\(name).weight\",\"bias\":\"\(name).bias\",\"outputs\":\(outputs)")
            return from.map { line in
                (0..<outputs).map { output in
                    line.indices.reduce(Double(bias[output])) {
                        $0 + line[$1] * Double(weights[output * inputs + $1])
                    }
                }
            }
        }

        mutating func rearrange(_ name: String, _ input: String, _ shape: [Int], _ strides: [Int], offset: Int = 0) {
            add(name, "rearrange", input, "\"shape\":\(shape),\"strides\":\(strides),\"offset\":\(offset)")
        }

        mutating func combine(_ name: String, _ left: String, _ operation: String, _ right: String) {
            add(name, "combine", left, "\"operator\":\"\(operation)\",\"other\":\"\(right)\"")
        }
    }

    private static func lines(_ flat: [Float], of length: Int) -> [[Double]] {
        stride(from: 0, to: flat.count, by: length).map { start in flat[start..<(start + length)].map { Double($0) } }
    }

    /// - Parameter isShared: whether another layer reads the scores, too, so that they have to be stored.
    private static func make(
        seed: UInt64, isShared: Bool = false, multiple: Int = 1
    ) throws -> (data: Data, graph: TextGraph, expected: [Double], words: String) {
        var block = Block(random: SeededGenerator(seed: seed))
        let rows = Int.random(in: 2...70, using: &block.random)
        let heads = Int.random(in: 1...3, using: &block.random)
        let depth = multiple * (multiple == 1 ? [3, 8, 16, 20, 24] : [1, 2]).randomElement(using: &block.random)!
        let width = heads * depth
        let isJoined = Bool.random(using: &block.random)
        let divides = Bool.random(using: &block.random)
        let maskShapes = [nil, [1, 1, rows, rows], [rows, rows], [1, heads, 1, rows]]
        let maskShape = maskShapes.randomElement(using: &block.random)!
        let start = block.random.floats(rows * width)
        block.constant("x", start, [1, rows, width])
        let x = lines(start, of: width)
        var parts: [[[Double]]] = []
        // As PyTorch exports them: reshaped, and their axes exchanged.
        let strides = [rows * width, depth, width, 1]
        if isJoined {
            let all = block.linear("qkv", "x", x, 3 * width)
            block.rearrange(
                "parted", "qkv", [1, rows, 3, heads, depth],
                [3 * rows * width, 3 * width, width, depth, 1])
            block.rearrange(
                "moved", "parted", [3, 1, heads, rows, depth], [width, 3 * rows * width, depth, 3 * width, 1])
            for (index, name) in ["q", "k", "v"].enumerated() {
                block.rearrange(
                    name, "moved", [1, heads, rows, depth], [rows * width, rows * depth, depth, 1],
                    offset: index * rows * width)
                parts.append(all.map { Array($0[(index * width)..<((index + 1) * width)]) })
            }
        } else {
            for name in ["q", "k", "v"] {
                parts.append(block.linear(name + "l", "x", x, width))
                block.rearrange(name, name + "l", [1, heads, rows, depth], strides)
            }
        }
        block.rearrange("kt", "k", [1, heads, depth, rows], [rows * width, rows * depth, 1, depth])
        let factor = 1 / Float(depth).squareRoot()
        block.constant("factor", [divides ? 1 / factor : factor.squareRoot()], [1])
        var scores = "scores"
        if divides {
            block.add("products", "matrix_product", "q", "\"other\":\"kt\"")
            block.combine("scores", "products", "divide", "factor")
        } else {
            block.combine("qs", "q", "multiply", "factor")
            block.combine("ks", "kt", "multiply", "factor")
            block.add("scores", "matrix_product", "qs", "\"other\":\"ks\"")
        }
        var mask: [Float] = []
        if let maskShape {
            mask = block.random.floats(maskShape.reduce(1, *), in: -3...3)
            block.constant("mask", mask, maskShape)
            block.combine("masked", seed % 3 == 0 ? "mask" : "scores", "add", seed % 3 == 0 ? "scores" : "mask")
            scores = "masked"
        }
        block.add("shares", "softmax", scores, "\"axis\":3")
        block.add("mixed", "matrix_product", "shares", "\"other\":\"v\"")
        block.rearrange("back", "mixed", [1, rows, heads, depth], [rows * width, depth, rows * depth, 1])
        block.rearrange("lines", "back", [1, rows, width], [rows * width, width, 1])
        var mixed = [[Double]](repeating: [Double](repeating: 0, count: width), count: rows)
        for (head, row) in (0..<heads).flatMap({ head in (0..<rows).map { (head, $0) } }) {
            let values = (0..<rows).map { key in
                let product = (0..<depth).reduce(0.0) {
                    $0 + parts[0][row][head * depth + $1] * parts[1][key][head * depth + $1]
                }
                let place = maskShape.map { $0.count == 4 && $0[2] == 1 ? head * rows + key : row * rows + key }
                return product * Double(factor) + (place.map { Double(mask[$0]) } ?? 0)
            }
            let exponentials = values.map { exp($0 - values.max()!) }
            let sum = exponentials.reduce(0, +)
            for column in 0..<depth {
                mixed[row][head * depth + column] = (0..<rows).reduce(0) {
                    $0 + exponentials[$1] / sum * parts[2][$1][head * depth + column]
                }
            }
        }
        let projected = block.linear("projected", "lines", mixed, width)
        let first = zip(x, projected).map { zip($0, $1).map { $0 + $1 } }
        block.combine("first", seed % 2 == 0 ? "x" : "projected", "add", seed % 2 == 0 ? "projected" : "x")
        let (weight, bias) = (block.random.floats(width), block.random.floats(width))
        block.file.add("n.weight", weight, shape: [width])
        block.file.add("n.bias", bias, shape: [width])
        block.add(
            "normalized", "normalize", "first",
            "\"scope\":\"axes\",\"axis\":2,\"epsilon\":1e-5,\"weight\":\"n.weight\",\"bias\":\"n.bias\"")
        let normalized = first.map { line in
            let mean = line.reduce(0, +) / Double(width)
            let variance = line.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(width)
            return line.indices.map {
                (line[$0] - mean) / (variance + 1e-5).squareRoot() * Double(weight[$0]) + Double(bias[$0])
            }
        }
        let hidden = block.linear("hidden", "normalized", normalized, 2 * width + 5 * (multiple == 1 ? 1 : 0))
        block.add("gelu", "activation", "hidden", "\"function\":\"gelu\"")
        let activated = hidden.map { $0.map { 0.5 * $0 * (1 + erf($0 / 2.0.squareRoot())) } }
        let second = block.linear("second", "gelu", activated, width)
        block.combine("sum", "first", "add", "second")
        let expected = zip(first, second).flatMap { zip($0, $1).map { $0 + $1 } }
        block.rearrange("out", "sum", [1, rows * width], [rows * width, 1])
        if isShared {
            block.rearrange("all", scores, [1, heads * rows * rows], [heads * rows * rows, 1])
            block.add("joined", "concatenate", "out", "\"axis\":1,\"others\":[\"all\"]")
        }
        let graph = try JSONDecoder().decode(
            TextGraph.self,
            from: Data(
                "{\"version\":1,\"length\":2,\"padding\":0,\"nodes\":[\(block.nodes.joined(separator: ","))]}".utf8))
        return (
            block.file.data, graph, expected,
            "seed \(seed): \(rows) rows, \(heads)×\(depth)\(isJoined ? ", joined" : ""), mask \(maskShape ?? [])"
        )
    }

    private static func run(
        _ network: Network, threads: Int, simd: SIMDTarget, count: Int
    ) -> [[Double]] {
        let workspace = network.makeWorkspace(batchCapacity: 3, threads: threads)
        network.run(workspace, batch: 3, threads: threads, results: .output, kernels: simd)
        return (0..<3).map { network.output($0, in: workspace).prefix(count).map { Double($0) } }
    }

    @Test(arguments: 0..<24, [false, true]) func aBlockComputesWhatItSays(seed: UInt64, isShared: Bool) throws {
        let (data, graph, expected, words) = try Self.make(seed: seed, isShared: isShared)
        let network = try Network(graph: graph, file: SafeTensorsFile(data), quantizes: false)
        let kinds = network.summary.rows.map(\.kind)
        // Attention is one layer unless others read the scores; functions and sums are part of linear layers.
        #expect(kinds.contains { $0.hasPrefix("attention") } == !isShared, "\(words): \(kinds)")
        #expect(!kinds.contains("gelu") && kinds.contains { $0.hasSuffix(", gelu") }, "\(words): \(kinds)")
        #expect(kinds.filter { $0.hasSuffix(", sum") }.count == 2, "\(words): \(kinds)")
        for simd in SIMDTarget.available {
            for output in Self.run(network, threads: seed % 2 == 0 ? 1 : 2, simd: simd, count: expected.count) {
                for (value, other) in zip(output, expected) {
                    guard abs(value - other) > 2e-4 else { continue }
                    Issue.record("\(simd.name), \(words): \(value), not \(other)")
                    return
                }
            }
        }
    }

    @Test(arguments: 0..<12) func inInt8EachLineHasARangeOfItsOwn(seed: UInt64) throws {
        let (data, graph, expected, words) = try Self.make(seed: seed, multiple: 16)
        let network = try Network(graph: graph, file: SafeTensorsFile(data), quantizes: true)
        let kinds = network.summary.rows.map(\.kind)
        #expect(kinds.filter { $0.hasPrefix("linear") }.allSatisfy { $0.hasSuffix(", int8") }, "\(words): \(kinds)")
        for simd in SIMDTarget.available {
            for output in Self.run(network, threads: 1, simd: simd, count: expected.count) {
                let product = zip(output, expected).reduce(0) { $0 + $1.0 * $1.1 }
                let norms = [output, expected].map { $0.reduce(0) { $0 + $1 * $1 }.squareRoot() }
                #expect(product / (norms[0] * norms[1]) > 0.999, "\(simd.name), \(words)")
            }
        }
    }

    /// A network of three linear layers and attention, on lines that it reads.
    private static func attention(
        seed: UInt64
    ) throws -> (network: Network, rows: Int, width: Int, expected: ([Float]) -> [Double], words: String) {
        var block = Block(random: SeededGenerator(seed: seed))
        let rows = 2 * Int.random(in: 1...50, using: &block.random) + Int.random(in: 0...1, using: &block.random)
        let heads = Int.random(in: 1...4, using: &block.random)
        let (depth, columns) = ([16, 32, 64].randomElement(using: &block.random)!, [8, 16, 20, 64][Int(seed % 4)])
        let width = 32
        let kinds = ["no mask", "a mask", "a mask of each head", "the keys before"]
        let kind = kinds[Int(seed / 4 % 4)]
        // A text is numbers, and for each whether it is one: as many as the lines have.
        let length = (rows * width + 1) / 2
        block.rearrange("x", "text", [1, rows, width], [rows * width, width, 1])
        var weights: [String: (weight: [Float], bias: [Float])] = [:]
        for (name, each) in [("q", depth), ("k", depth), ("v", columns)] {
            let outputs = heads * each
            let weight = block.random.floats(outputs * width, in: -0.6...0.6)
            let bias = block.random.floats(outputs, in: -0.3...0.3)
            weights[name] = (weight, bias)
            block.file.add("\(name).weight", weight, shape: [outputs, width])
            block.file.add("\(name).bias", bias, shape: [outputs])
            block.add(
                "\(name)l", "linear", "x",
                "\"weight\":\"\(name).weight\",\"bias\":\"\(name).bias\",\"outputs\":\(outputs)")
            let count = rows * outputs
            if name == "k" {
                block.rearrange(name, "kl", [1, heads, depth, rows], [count, depth, 1, outputs])
            } else {
                block.rearrange(name, name + "l", [1, heads, rows, each], [count, each, outputs, 1])
            }
        }
        let factor = 1 / Float(depth).squareRoot()
        block.constant("factor", [factor], [1])
        block.add("products", "matrix_product", "q", "\"other\":\"k\"")
        block.combine("scores", "products", "multiply", "factor")
        var mask = [Float](repeating: 0, count: heads * rows * rows)
        for index in mask.indices {
            let (row, key) = (index / rows % rows, index % rows)
            switch kind {
            case "a mask":
                mask[index] =
                    index < rows * rows ? .random(in: -3...3, using: &block.random) : mask[index % (rows * rows)]
            case "a mask of each head": mask[index] = .random(in: -3...3, using: &block.random)
            case "the keys before":
                mask[index] = key > row ? (seed % 2 == 0 ? -1e4 : -.greatestFiniteMagnitude) : 0
            default: break
            }
        }
        if kind != "no mask" {
            let isOfHeads = kind == "a mask of each head"
            block.constant(
                "mask", isOfHeads ? mask : Array(mask[..<(rows * rows)]), [1, isOfHeads ? heads : 1, rows, rows])
            block.combine("masked", "scores", "add", "mask")
        }
        block.add("shares", "softmax", kind == "no mask" ? "scores" : "masked", "\"axis\":3")
        block.add("mixed", "matrix_product", "shares", "\"other\":\"v\"")
        let outputs = heads * columns
        block.rearrange("back", "mixed", [1, rows, heads, columns], [rows * outputs, columns, rows * columns, 1])
        block.rearrange("out", "back", [1, rows * outputs], [rows * outputs, 1])
        let graph = try JSONDecoder().decode(
            TextGraph.self,
            from: Data(
                "{\"version\":1,\"length\":\(length),\"padding\":0,\"nodes\":[\(block.nodes.joined(separator: ","))]}"
                    .utf8))
        func expected(_ text: [Float]) -> [Double] {
            func lines(_ name: String, _ each: Int) -> [[Double]] {
                let (weight, bias) = weights[name]!
                return (0..<rows).map { row in
                    (0..<(heads * each)).map { output in
                        (0..<width).reduce(Double(bias[output])) {
                            $0 + Double(text[row * width + $1]) * Double(weight[output * width + $1])
                        }
                    }
                }
            }
            let (q, k, v) = (lines("q", depth), lines("k", depth), lines("v", columns))
            var result = [Double](repeating: 0, count: rows * outputs)
            for (row, head) in (0..<rows).flatMap({ row in (0..<heads).map { (row, $0) } }) {
                let scores = (0..<rows).map { key in
                    (0..<depth).reduce(0.0) { $0 + q[row][head * depth + $1] * k[key][head * depth + $1] }
                        * Double(factor) + Double(mask[(head * rows + row) * rows + key])
                }
                let exponentials = scores.map { exp($0 - scores.max()!) }
                for column in 0..<columns {
                    result[row * outputs + head * columns + column] =
                        (0..<rows).reduce(0) { $0 + exponentials[$1] * v[$1][head * columns + column] }
                        / exponentials.reduce(0, +)
                }
            }
            return result
        }
        return (
            try Network(graph: graph, file: SafeTensorsFile(block.file.data), quantizes: true), rows, width, expected,
            "seed \(seed): \(rows) rows, \(heads) heads of \(depth) and \(columns), \(kind)"
        )
    }

    /// The cosine between each line and what it should be, and that all SIMD targets agree to the bit: until the
    /// function after a linear layer, all that they round are codes.
    @Test(arguments: 0..<32) func attentionInInt8IsThatOfFloats(seed: UInt64) throws {
        let (network, rows, width, expected, words) = try Self.attention(seed: seed)
        let kinds = network.summary.rows.map(\.kind)
        #expect(kinds.contains { $0.hasPrefix("attention") && $0.hasSuffix(", int8") }, "\(words): \(kinds)")
        var random = SeededGenerator(seed: seed + 100)
        let batch = Int.random(in: 1...3, using: &random)
        let texts = (0..<batch).map { _ in random.floats(rows * width) }
        var first: [[Float]]?
        for simd in SIMDTarget.available {
            let threads = seed % 2 == 0 ? 1 : 2
            let workspace = network.makeWorkspace(batchCapacity: batch, threads: threads)
            for (index, text) in texts.enumerated() {
                _ = network.input(index, in: workspace).update(fromContentsOf: text)
            }
            network.run(workspace, batch: batch, threads: threads, results: .output, kernels: simd)
            let outputs = (0..<batch).map { Array(network.output($0, in: workspace)) }
            for (text, output) in zip(texts, outputs) {
                let (lines, others) = (output.map { Double($0) }, expected(text))
                for row in 0..<rows {
                    let own = (row * lines.count / rows)..<((row + 1) * lines.count / rows)
                    let product = own.reduce(0) { $0 + lines[$1] * others[$1] }
                    let norms = [lines, others].map { all in own.reduce(0) { $0 + all[$1] * all[$1] }.squareRoot() }
                    #expect(product / (norms[0] * norms[1]) > 0.995, "\(simd.name), \(words), row \(row)")
                    #expect(abs(norms[0] / norms[1] - 1) < 0.05, "\(simd.name), \(words), row \(row)")
                }
            }
            #expect(outputs == first ?? outputs, "\(simd.name), \(words)")
            first = first ?? outputs
        }
    }

    @Test(arguments: 0..<200) func aViewOfAViewIsWhereItsElementsAre(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        // A permutation of part of an array, as another one views it.
        let extents = (0..<3).map { _ in Int.random(in: 1...4, using: &random) }
        let whole = ArrayView(extents: extents)
        let order = (0..<3).shuffled(using: &random)
        let inner = ArrayView(
            extents: order.map { extents[$0] }, strides: order.map { whole.strides[$0] },
            offset: Int.random(in: 0...3, using: &random))
        let count = extents.reduce(1, *)
        let factors = (1...count).filter { count % $0 == 0 }
        let columns = factors.randomElement(using: &random)!
        let outer =
            Bool.random(using: &random)
            ? ArrayView(extents: [columns, count / columns], strides: [1, columns], offset: 0)
            : ArrayView(extents: [count / columns, columns])
        func elements(_ view: ArrayView) -> [Int] {
            var indices: [[Int]] = [[]]
            for extent in view.extents { indices = indices.flatMap { index in (0..<extent).map { index + [$0] } } }
            return indices.map { view.offset($0) }
        }
        guard let view = outer.of(inner) else { return }
        let places = elements(inner)
        #expect(elements(view) == elements(outer).map { places[$0] }, "seed \(seed): \(outer) of \(inner) is \(view)")
    }
}
