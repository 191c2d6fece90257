import Foundation
import Inference
import Testing

struct NetworkGraphTests {
    private static let json = """
        {"version":1,"name":"tiny","input":{"width":4,"height":4,"mean":[0,0,0],"std":[1,1,1]},"corners":"v","nodes":[
        {"name":"c","op":"convolution","input":"image","weight":"c.weight","bias":"c.bias","outputs":2,"kernel":3,"stride":2,
        "padding":1,"relu":true,"residual":"image"},
        {"name":"d","op":"convolution","input":"c","weight":"w","bias":"b","outputs":2,"kernel":1,"stride":1,"padding":0},
        {"name":"v","op":"corner_votes","input":"c","stride":32},
        {"name":"p","op":"generalized_mean","input":"d","power":3,"epsilon":0.5},
        {"name":"l","op":"linear","input":"p","weight":"w","bias":"b","outputs":2},
        {"name":"n","op":"l2_normalize","input":"l"}]}
        """

    private static func decode(_ json: String) throws -> NetworkGraph {
        try JSONDecoder().decode(NetworkGraph.self, from: Data(json.utf8))
    }

    @Test func everyOperationIsDecoded() throws {
        let graph = try Self.decode(Self.json)
        #expect(graph.nodes.map(\.name) == ["c", "d", "v", "p", "l", "n"] && graph.corners == "v")
        let operations: [any LayerOperation] = [
            NetworkGraph.Convolution(
                weight: "c.weight", bias: "c.bias", outputs: 2, kernel: 3, stride: 2, padding: 1, relu: true,
                residual: "image"),
            NetworkGraph.Convolution(
                weight: "w", bias: "b", outputs: 2, kernel: 1, stride: 1, padding: 0, relu: false, residual: nil),
            NetworkGraph.CornerVotes(stride: 32), NetworkGraph.GeneralizedMean(power: 3, epsilon: 0.5),
            NetworkGraph.Linear(weight: "w", bias: "b", outputs: 2), NetworkGraph.L2Normalization(),
        ]
        for (node, operation) in zip(graph.nodes, operations) {
            #expect(node == NetworkGraph.Node(name: node.name, input: node.input, operation: operation))
        }
    }

    @Test func encodingKeepsEveryNode() throws {
        let graph = try Self.decode(Self.json)
        let copy = try JSONDecoder().decode(NetworkGraph.self, from: JSONEncoder().encode(graph))
        #expect(copy.nodes == graph.nodes && copy.input == graph.input && copy.corners == graph.corners)
    }

    /// A value of every operation, and of every name that it has in JSON.
    private static let examples: [any LayerOperation] = [
        NetworkGraph.CornerVotes(stride: 32),
        NetworkGraph.GeneralizedMean(power: 3, epsilon: 0.5),
        NetworkGraph.L2Normalization(),
        NetworkGraph.Linear(weight: "w", bias: "b", outputs: 2),
        NetworkGraph.Convolution(
            weight: "w", bias: "b", outputs: 4, kernel: .init(height: 3, width: 5),
            stride: .init(height: 2, width: 1), padding: .init(top: 1, left: 0, bottom: 2, right: 3), dilation: 2,
            groups: 2, activation: .init(.leakyReLU, alpha: 0.25)),
        NetworkGraph.Pooling(.maximum, kernel: 3, stride: 2, padding: 1, roundsUp: true),
        NetworkGraph.Pooling(.mean, kernel: 2, stride: 2, padding: 0, dilation: 2, countsPadding: true),
        NetworkGraph.Activation(.clamp, alpha: -1, beta: 6),
        NetworkGraph.Combination(.multiply, other: "c"),
        NetworkGraph.Constant(tensor: "t", shape: [1, 4]),
        NetworkGraph.ToMap(),
        NetworkGraph.Rearrangement(shape: [1, 2, 3], strides: [0, -3, 1], offset: 3),
        NetworkGraph.ChannelSelection(
            others: ["c"], channels: [.init(input: 0, first: 1, count: 2), .init(input: 1, first: 0, count: 4)],
            shuffledGroups: 2),
        NetworkGraph.Concatenation(others: ["c", "d"], axis: 1),
        NetworkGraph.ArrayPadding(mode: .reflect, before: [0, 1], after: [0, 2]),
        NetworkGraph.Reduction(.l2, axes: [1]),
        NetworkGraph.Softmax(axis: 2),
        NetworkGraph.Normalization(.axes(from: 1), epsilon: 0.5, weight: "w", bias: "b"),
        NetworkGraph.Normalization(.channels, epsilon: 0.5, weight: "w", bias: "b"),
        NetworkGraph.Normalization(.groups(4), epsilon: 0.5, weight: "w", bias: "b"),
        NetworkGraph.MatrixProduct(other: "c"),
        NetworkGraph.Comparison(.atMost, other: "c"),
        NetworkGraph.Choice(yes: "c", no: "d"),
        NetworkGraph.Lookup(places: "c", axis: 1, shape: [1, 2, 3]),
        NetworkGraph.Resizing(size: 8, scales: [2, 2], mode: .linear, coordinates: .halfPixel, rounding: .down),
    ]

    @Test(arguments: examples) func encodingKeepsAnOperation(operation: any LayerOperation) throws {
        let node = NetworkGraph.Node(name: "n", input: "a", operation: operation)
        let json = try JSONEncoder().encode(node)
        #expect(try JSONDecoder().decode(NetworkGraph.Node.self, from: json) == node)
        // One more key is an error.
        var object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        object["surplus"] = 1
        let other = try JSONSerialization.data(withJSONObject: object)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(NetworkGraph.Node.self, from: other) }
    }

    @Test func everyRegisteredNameHasAnExample() throws {
        var names: Set<String> = []
        for operation in Self.examples {
            let node = NetworkGraph.Node(name: "n", input: "a", operation: operation)
            let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(node))
            let name = try #require((object as? [String: Any])?["op"] as? String)
            #expect(NetworkGraph.operationTypes[name] == type(of: operation))
            names.insert(name)
        }
        #expect(names == Set(NetworkGraph.operationTypes.keys))
    }

    /// Each operation is a type in a file of its name.
    @Test func everyOperationOfTheModuleIsRegistered() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/Inference").standardizedFileURL
        var types: [String] = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: sources.path) where file.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            let conformance = /(?:struct|enum|extension) (?:\w+\.)*(\w+): (?:\w+, )*RunnableOperation\b/
            let names = text.matches(of: conformance).map { String($0.1) }
            #expect(names.isEmpty || file == "Operations/\(names[0]).swift", "\(file) has \(names)")
            types += names
        }
        #expect(types.sorted() == Set(NetworkGraph.operationTypes.values.map { "\($0)" }).sorted())
    }

    @Test(arguments: ["kernel", "weight", "power", "outputs"]) func aMissingParameterIsAnError(key: String) {
        let json = Self.json.replacingOccurrences(of: "\"\(key)\"", with: "\"other\"")
        #expect(throws: DecodingError.self) { try Self.decode(json) }
    }
}
