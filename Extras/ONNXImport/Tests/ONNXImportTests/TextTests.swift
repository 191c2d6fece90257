import Foundation
import Lookalike
import ONNXImport
import Testing

private let fixtures = Bundle.module.resourceURL!.appendingPathComponent("Fixtures")

/// Towers for texts, compared with onnxruntime; see `make_fixtures.py`.
struct TextTests {
    private struct Expected: Decodable {
        let lines: [[Int]]
        let prints: [String: [[Float]]]
    }

    /// A folder with a tokenizer whose words are numbers, `t0` to `t39`, and 1 for the rest of a text.
    private static func tokenizer(_ change: (String) -> String = { $0 }) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let vocabulary = (0..<40).map { "\"t\($0)\":\($0)" }.joined(separator: ",")
        let json = """
            {"pre_tokenizer":{"type":"WhitespaceSplit"},"padding":{"pad_id":1,"strategy":"BatchLongest"},
            "model":{"type":"WordPiece","unk_token":"t2","vocab":{\(vocabulary)}}}
            """
        try Data(change(json).utf8).write(to: folder.appendingPathComponent("tokenizer.json"))
        return folder
    }

    private static func file(_ name: String) -> URL { fixtures.appendingPathComponent("\(name).onnx") }

    /// The model of images whose prints have as many dimensions.
    private static func model(_ texts: ImportedTexts) throws -> FeaturePrintModel {
        var network = try ImportedNetwork(
            contentsOf: file("mobile"), options: ImportOptions(name: "both"))
        network.texts = texts
        return try FeaturePrintModel(network.modelFile(), named: "both")
    }

    @Test(arguments: ["texts", "masked-texts"]) func agreesWithONNXRuntime(name: String) throws {
        let expected = try JSONDecoder().decode(
            Expected.self, from: Data(contentsOf: fixtures.appendingPathComponent("texts.json")))
        let folder = try Self.tokenizer()
        defer { try? FileManager.default.removeItem(at: folder) }
        let texts = try ImportedTexts(contentsOf: Self.file(name), tokenizer: folder)
        #expect(texts.graph.length == 12)
        #expect(texts.graph.padding == 1)
        let model = try Self.model(texts)
        for (line, print) in zip(expected.lines, try #require(expected.prints[name])) {
            for threads in [1, 3] {
                let words = line.map { "t\($0)" }.joined(separator: " ")
                let vector = try model.featurePrint(describedBy: words, threads: threads).vector
                #expect(vector.count == print.count)
                let worst = zip(vector, print).map { abs($0 - $1) - abs($1) * 0x1p-11 }.max() ?? .infinity
                #expect(worst <= 1e-4, "\(name), \(line): \(worst) off")
            }
        }
    }

    @Test func filesThatAreNoTokenizer() throws {
        func reason(_ tokenizer: URL, _ network: String = "texts", length: Int? = nil) -> String {
            let error = #expect(throws: ImportError.self) {
                try ImportedTexts(contentsOf: Self.file(network), tokenizer: tokenizer, length: length)
            }
            return error?.description ?? ""
        }
        let odd = try Self.tokenizer { $0.replacingOccurrences(of: "WhitespaceSplit", with: "Odd") }
        let unpadded = try Self.tokenizer { $0.replacingOccurrences(of: "padding", with: "other") }
        let plain = try Self.tokenizer()
        defer { for folder in [odd, unpadded, plain] { try? FileManager.default.removeItem(at: folder) } }
        #expect(reason(odd).contains("the pre-tokenizer “Odd”"))
        #expect(reason(unpadded).contains("fills up"))
        #expect(reason(plain.appendingPathComponent("none")).contains("does not exist"))
        #expect(reason(plain, length: 11).contains("texts of 12 numbers, not of 11"))
        // A network for images has no text.
        #expect(reason(plain, "residual").contains("not the numbers of texts"))
        try FileManager.default.removeItem(at: plain.appendingPathComponent("tokenizer.json"))
        #expect(reason(plain).contains("no tokenizer"))
    }
}
