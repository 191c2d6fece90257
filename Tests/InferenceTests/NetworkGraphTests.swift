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
        #expect(
            graph.nodes[0].operation
                == .convolution(
                    .init(
                        weight: "c.weight", bias: "c.bias", outputs: 2, kernel: 3, stride: 2, padding: 1, relu: true,
                        residual: "image")))
        #expect(
            graph.nodes[1].operation
                == .convolution(
                    .init(
                        weight: "w", bias: "b", outputs: 2, kernel: 1, stride: 1, padding: 0, relu: false, residual: nil
                    )))
        #expect(graph.nodes[2].operation == .cornerVotes(stride: 32))
        #expect(graph.nodes[3].operation == .generalizedMean(power: 3, epsilon: 0.5))
        #expect(graph.nodes[4].operation == .linear(.init(weight: "w", bias: "b", outputs: 2)))
        #expect(graph.nodes[5].operation == .l2Normalization)
    }

    @Test func encodingKeepsEveryNode() throws {
        let graph = try Self.decode(Self.json)
        let copy = try JSONDecoder().decode(NetworkGraph.self, from: JSONEncoder().encode(graph))
        #expect(copy.nodes == graph.nodes && copy.input == graph.input && copy.corners == graph.corners)
    }

    /// A layer of every kind that an import makes.
    private static let imported: [NetworkGraph.Operation] = [
        .convolution(
            .init(
                weight: "w", bias: "b", outputs: 4, kernel: .init(height: 3, width: 5),
                stride: .init(height: 2, width: 1), padding: .init(top: 1, left: 0, bottom: 2, right: 3), dilation: 2,
                groups: 2, activation: .init(.leakyReLU, alpha: 0.25))),
        .maximumPooling(.init(kernel: 3, stride: 2, padding: 1, roundsUp: true)),
        .averagePooling(.init(kernel: 2, stride: 2, padding: 0, dilation: 2, countsPadding: true)),
        .activation(.init(.clamp, alpha: -1, beta: 6)),
        .combination(.init(.multiply, other: "c")),
        .constant(.init(tensor: "t", shape: [1, 4])),
        .map,
        .rearrangement(.init(shape: [1, 2, 3], strides: [0, -3, 1], offset: 3)),
        .channelSelection(
            .init(
                others: ["c"], channels: [.init(input: 0, first: 1, count: 2), .init(input: 1, first: 0, count: 4)],
                shuffledGroups: 2)),
        .concatenation(.init(others: ["c", "d"], axis: 1)),
        .padding(.init(mode: .reflect, before: [0, 1], after: [0, 2])),
        .reduction(.init(.l2, axes: [1])),
        .softmax(axis: 2),
        .normalization(.init(.axes(from: 1), epsilon: 0.5, weight: "w", bias: "b")),
        .normalization(.init(.channels, epsilon: 0.5, weight: "w", bias: "b")),
        .normalization(.init(.groups(4), epsilon: 0.5, weight: "w", bias: "b")),
        .matrixProduct(.init(other: "c")),
        .resizing(.init(size: 8, scales: [2, 2], mode: .linear, coordinates: .halfPixel, rounding: .down)),
    ]

    @Test(arguments: imported) func encodingKeepsAnOperation(operation: NetworkGraph.Operation) throws {
        let node = NetworkGraph.Node(name: "n", input: "a", operation: operation)
        let json = try JSONEncoder().encode(node)
        #expect(try JSONDecoder().decode(NetworkGraph.Node.self, from: json) == node)
        // One more key is an error.
        var object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        object["surplus"] = 1
        let other = try JSONSerialization.data(withJSONObject: object)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(NetworkGraph.Node.self, from: other) }
    }

    @Test(arguments: ["kernel", "weight", "power", "outputs"]) func aMissingParameterIsAnError(key: String) {
        let json = Self.json.replacingOccurrences(of: "\"\(key)\"", with: "\"other\"")
        #expect(throws: DecodingError.self) { try Self.decode(json) }
    }
}
