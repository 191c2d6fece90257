import Foundation
import Inference
import LocalFeatures
import TestSupport
import Testing

struct LocalFeatureModelFileTests {
    /// The shipped model with another value at the beginning of a tensor.
    private static func file(_ tensor: String, _ value: Float, in folder: TemporaryFolder) throws -> URL {
        var data = try Data(contentsOf: FeatureFixture.file)
        let length = data.prefix(8).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
        let header = try #require(
            try JSONSerialization.jsonObject(with: data.subdata(in: 8..<(8 + length))) as? [String: Any])
        let entry = try #require(header[tensor] as? [String: Any])
        let offsets = try #require(entry["data_offsets"] as? [Int])
        let start = 8 + length + offsets[0]
        data.replaceSubrange(start..<(start + 4), with: withUnsafeBytes(of: value.bitPattern.littleEndian) { Data($0) })
        return try folder.write(data, to: "model.safetensors")
    }

    /// Descriptors with components that are no numbers ended the process.
    @Test(arguments: [
        ("deviations", 0), ("deviations", -0.1), ("deviations", 1e-40), ("dense.deviations", 0), ("projection", 1e38),
        ("mean", -3e38), ("mean", Float.nan),
    ])
    func valuesThatNoDescriptorSurvivesAreRefused(tensor: String, value: Float) throws {
        let folder = try TemporaryFolder()
        let url = try Self.file(tensor, value, in: folder)
        let error = #expect(throws: ModelError.self) { try LocalFeatureModel(contentsOf: url) }
        guard case .unusableTensor(let name, let words) = error?.reason else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(name == tensor && words.contains("at position 0"))
    }

    /// The shipped model with other metadata.
    private static func file(
        in folder: TemporaryFolder, changing change: (inout [String: String]) throws -> Void
    ) throws -> URL {
        var data = try Data(contentsOf: FeatureFixture.file)
        let length = data.prefix(8).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
        var header = try #require(
            try JSONSerialization.jsonObject(with: data.subdata(in: 8..<(8 + length))) as? [String: Any])
        var metadata = try #require(header["__metadata__"] as? [String: String])
        try change(&metadata)
        header["__metadata__"] = metadata
        let text = try JSONSerialization.data(withJSONObject: header)
        data.replaceSubrange(0..<(8 + length), with: withUnsafeBytes(of: UInt64(text.count).littleEndian) { Data($0) })
        data.insert(contentsOf: text, at: 8)
        return try folder.write(data, to: "model.safetensors")
    }

    /// The network of dense descriptors is checked like any other.
    @Test func aNetworkThatCannotBeReadIsRefused() throws {
        let folder = try TemporaryFolder()
        let url = try Self.file(in: folder) { metadata in
            metadata["lookalike.graph"] = "{"
            metadata["lookalike.activation_ranges"] = nil
        }
        let error = #expect(throws: ModelError.self) { try LocalFeatureModel(contentsOf: url) }
        #expect(error?.description.contains("its layer graph cannot be run") == true)
    }

    /// The tensors are the same, but their network is another.
    @Test func anotherGraphIsAnotherModel() throws {
        let folder = try TemporaryFolder()
        let url = try Self.file(in: folder) { metadata in
            let graph = try #require(metadata["lookalike.graph"])
            metadata["lookalike.graph"] = graph.replacing("\"mean\":[0.45,0.45,0.45]", with: "\"mean\":[0.5,0.5,0.5]")
            #expect(metadata["lookalike.graph"] != graph)
        }
        #expect(try LocalFeatureModel(contentsOf: url).digest != FeatureFixture.model().digest)
    }

    @Test func otherValuesAreAnotherModel() throws {
        let folder = try TemporaryFolder()
        let model = try LocalFeatureModel(contentsOf: Self.file("deviations", 0.05, in: folder))
        #expect(try model.digest != FeatureFixture.model().digest)
        #expect(LocalFeatureExtractor(model).features(of: FeatureFixture.image).count > 100)
    }
}
