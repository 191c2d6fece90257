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

    @Test(arguments: ["kernel", "weight", "power", "outputs"]) func aMissingParameterIsAnError(key: String) {
        let json = Self.json.replacingOccurrences(of: "\"\(key)\"", with: "\"other\"")
        #expect(throws: DecodingError.self) { try Self.decode(json) }
    }
}
