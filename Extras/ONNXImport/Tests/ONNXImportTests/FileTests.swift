import Foundation
import Lookalike
import ONNXImport
import Testing

/// Files as exporters and converters write them: weights in other files, nodes in any order, half precision.
struct FileTests {
    /// The mean color, multiplied by a matrix.
    private static let nodes: [ProtocolBuffer] = [
        .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "flat"),
        .node("MatMul", ["flat", "w"], "out"),
    ]
    private static let weights: [Float] = [1, -2, 0.5, 4, -0.25, 3]

    private static func bytes(_ values: [Float]) -> Data {
        values.reduce(Data()) { $0 + withUnsafeBytes(of: $1.bitPattern.littleEndian) { Data($0) } }
    }

    private static func imported(_ file: ProtocolBuffer) throws -> Data {
        try ImportedNetwork(file.data, named: "x", options: ImportOptions(name: "x")).modelFile()
    }

    private static let whole = ProtocolBuffer.model(nodes, initializers: [.floats("w", weights, [3, 2])])

    /// Calls `body` with a folder that is removed afterwards, and with the path of a network in it.
    private func withFolder(_ body: (URL, URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("onnx-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder, folder.appendingPathComponent("x.onnx"))
    }

    private func write(_ entries: [String: String], to file: URL) throws {
        let tensor = ProtocolBuffer.external("w", [3, 2], entries)
        try ProtocolBuffer.model(Self.nodes, initializers: [tensor]).data.write(to: file)
    }

    @Test func weightsLieInAnotherFile() throws {
        try withFolder { folder, file in
            let options = ImportOptions(name: "x")
            let expected = try Self.imported(Self.whole)
            let data = Data(repeating: 7, count: 4096) + Self.bytes(Self.weights)
            try data.write(to: folder.appendingPathComponent("x.onnx.data"))
            let entries = ["location": "x.onnx.data", "offset": "4096"]
            for entries in [entries, entries.merging(["length": "24"]) { $1 }] {
                try write(entries, to: file)
                #expect(try ImportedNetwork(contentsOf: file, options: options).modelFile() == expected)
            }
            // As in the cache of Hugging Face, where both are links to files with other names.
            let cache = folder.appendingPathComponent("snapshot")
            try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
            for name in ["x.onnx", "x.onnx.data"] {
                try FileManager.default.createSymbolicLink(
                    at: cache.appendingPathComponent(name),
                    withDestinationURL: folder.appendingPathComponent(name))
            }
            let linked = try ImportedNetwork(contentsOf: cache.appendingPathComponent("x.onnx"), options: options)
            #expect(try linked.modelFile() == expected)
        }
    }

    private static let unusable: [([String: String], String)] = [
        (["location": "gone.data"], "“gone.data”, which has to be beside it and cannot be read"),
        (["location": "x.data", "offset": "8", "length": "24"], "bytes 8 to 32, but that has 24 bytes"),
        (["location": "x.data", "offset": "80"], "at byte 80, but that has 24 bytes"),
        (["location": "x.data", "length": "20"], "with 20 bytes, but its shape needs 24"),
        (["location": "x.data", "offset": "-4"], "offset “-4”"),
        (["location": "x.data", "offset": "9999999999999999999999"], "offset “9999999999999999999999”"),
        (["location": "../x.data"], "not in the network’s folder"),
        (["location": "a/../../x.data"], "not in the network’s folder"),
        (["location": "/dev/zero"], "not in the network’s folder"), (["location": "."], "no regular file"),
        ([:], "not in the network’s folder"),
    ]

    @Test(arguments: unusable)
    func unusableLocationsAreNamed(entries: [String: String], words: String) throws {
        try withFolder { folder, file in
            try Self.bytes(Self.weights).write(to: folder.appendingPathComponent("x.data"))
            try write(entries, to: file)
            let error = #expect(throws: ImportError.self) {
                try ImportedNetwork(contentsOf: file, options: ImportOptions(name: "x"))
            }
            let description = error?.description ?? ""
            #expect(description.contains("tensor “w”") && description.contains(words), "\(description)")
            // The bytes of a network have no folder.
            #expect(throws: ImportError.self) {
                try ImportedNetwork(Data(contentsOf: file), named: "x", options: ImportOptions(name: "x"))
            }
        }
    }

    @Test func nodesAreInAnyOrder() throws {
        let expected = try Self.imported(Self.whole)
        let tensor = ProtocolBuffer.floats("w", Self.weights, [3, 2])
        for order in [[2, 1, 0], [1, 2, 0], [2, 0, 1], [0, 2, 1]] {
            let file = ProtocolBuffer.model(order.map { Self.nodes[$0] }, initializers: [tensor])
            #expect(try Self.imported(file) == expected, "\(order)")
        }
    }

    /// A recursive sort would need a stack as deep as the chain.
    @Test func longChainsAreSorted() throws {
        let chain = (0..<10_000).reversed().map { ProtocolBuffer.node("Relu", ["\($0)"], "\($0 + 1)") }
        let file = ProtocolBuffer.model(chain + [.node("Flatten", ["image"], "0")], outputs: ["10000"])
        let network = try ImportedNetwork(file.data, named: "x", options: ImportOptions(name: "x"))
        #expect(!network.graph.nodes.isEmpty)
    }

    @Test func cyclesAreRefused() {
        let nodes: [ProtocolBuffer] = [
            .node("Flatten", ["image"], "a"), .node("Add", ["a", "c"], "b"), .node("Relu", ["b"], "c"),
            .node("Relu", ["c"], "out"),
        ]
        let error = #expect(throws: ImportError.self) { try Self.imported(ProtocolBuffer.model(nodes)) }
        #expect(error?.description.contains("depends on its own output") == true, "\(String(describing: error))")
    }

    /// √2 in half precision is not that of float32.
    @Test func halvesAreRead() throws {
        let nodes: [ProtocolBuffer] = [
            .node("Conv", ["image", "w"], "x"), .node("Div", ["x", "root"], "scaled"),
            .node("Erf", ["scaled"], "erf"), .node("Add", ["erf", "one"], "sum"),
            .node("Mul", ["x", "sum"], "product"),
            .node("Mul", ["product", "half"], "gelu"), .node("Flatten", ["gelu"], "out"),
        ]
        let halves: [ProtocolBuffer] = [
            .halves("root", [0x3DA8]), .halves("one", [0x3C00]), .halves("half", [0x3800]),
            .halves("w", [0x3C00, 0xC000, 0x3555], [1, 3, 1, 1]),
        ]
        let floats: [ProtocolBuffer] = [
            .floats("root", [Float(2).squareRoot()]), .floats("one", [1]), .floats("half", [0.5]),
            .floats("w", [1, -2, 0x1.554p-2], [1, 3, 1, 1]),
        ]
        let file = ProtocolBuffer.model(nodes, initializers: halves)
        #expect(try Self.imported(file) == Self.imported(ProtocolBuffer.model(nodes, initializers: floats)))
    }
}
