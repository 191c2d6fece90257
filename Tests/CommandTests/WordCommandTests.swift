import Foundation
import Imaging
import TestSupport
import Testing

/// `search --words` and `label`, with a model whose words are colors.
struct WordCommandTests {
    private let folder: TemporaryFolder
    private let catalog: String
    private let model: String
    private static let blind = TwoTowers.file(readsTexts: false)

    init() throws {
        folder = try TemporaryFolder()
        catalog = folder.file("catalog").path
        model = try folder.write(TwoTowers.file(logits: #"{"scale": 10, "bias": -5}"#), to: "towers.safetensors").path
        let colors: [(String, [UInt8])] = [
            ("red", [250, 0, 0]), ("orange", [250, 120, 0]), ("green", [0, 250, 0]),
        ]
        for (name, color) in colors {
            let image = try PixelBuffer((0..<64).flatMap { _ in color }, width: 8, height: 8, format: .rgb8)
            try folder.write(image.pngData(), to: "images/\(name).png")
        }
        let result = try Command.run("index", folder.file("images").path, "--catalog", catalog, "--model", model)
        #expect(result.status == 0, "\(result.errors)")
    }

    private func image(_ name: String) -> String { folder.file("images/\(name).png").path }

    /// The objects of an array in a line of JSON.
    private static func rows(_ output: String, _ member: String) throws -> [[String: Any]] {
        let line = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
        return try #require(line?[member] as? [[String: Any]], "\(output)")
    }

    private func ids(_ arguments: String...) throws -> [String] {
        let result = try Command.run(["search", "--catalog", catalog, "--json"] + arguments)
        #expect(result.status == 0, "\(result.errors)")
        return try Self.rows(result.output, "results").compactMap { $0["id"] as? String }
    }

    @Test func wordsRankAllEntities() throws {
        #expect(try ids("--words", "RED") == ["red", "orange", "green"])
        #expect(try ids("--words", "red lamp", "--limit", "1") == ["orange"])
        #expect(try ids("--words", "green", "--where", "id != green", "--limit", "1") == ["orange"])
        #expect(try ids("--words", "red", "--max-distance", "0.1") == ["red"])
        #expect(try ids("--words", "red", "--words-weight", "0.9", image("green")).first == "red")
        #expect(try ids("--words", "red", "--words-weight", "0.1", image("green")).first == "green")
        let result = try Command.run("search", "--catalog", catalog, "--words", "red", "--limit", "1")
        // A scale of 10 and a bias of -5: e⁵ to 1.
        #expect(result.output.hasPrefix("red\n") && result.output.contains("99 %"), "\(result.output)")
        let missing = try Command.run("search", "--catalog", catalog, "--words", "red", "/no/such.png")
        #expect(missing.status == 3 && missing.errors.contains("/no/such.png"))
    }

    @Test(arguments: [
        (["--words", " "], "empty"), (["--words-weight", "0.5", "a.png"], "--words-weight needs --words"),
        (["--words", "red", "--words-weight", "0.5"], "beside an image"),
        (["--words", "red", "--words-weight", "2", "a.png"], "between 0 and 1"),
        (["--words", "red", "--min-confidence", "0.5"], "--min-confidence does not go with --words"),
    ])
    func optionsThatDoNotGoTogether(arguments: [String], words: String) throws {
        let result = try Command.run(["search", "--catalog", catalog] + arguments)
        #expect(result.status == 64 && result.errors.contains(words), "\(result.errors)")
    }

    @Test func aModelOfImagesAloneIsAnError() throws {
        let blind = try folder.write(Self.blind, to: "blind.safetensors").path
        let other = folder.file("other").path
        let indexed = try Command.run("index", folder.file("images").path, "--catalog", other, "--model", blind)
        #expect(indexed.status == 0, "\(indexed.errors)")
        for arguments in [
            ["search", "--catalog", other, "--words", "red"],
            ["label", "--model", blind, "--labels", "a", image("red")],
        ] {
            let result = try Command.run(arguments)
            #expect(result.status == 1 && result.errors.contains("reads images alone"), "\(result.errors)")
        }
    }

    @Test func labelsAreRanked() throws {
        func label(_ arguments: String...) throws -> Command.Result {
            try Command.run(["label", "--model", model, "--labels", "green, lamp,red"] + arguments)
        }
        let json = try label("--json", image("red"), image("green"))
        let lines = json.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 2, "\(json.errors)")
        let rows = try Self.rows(lines[0], "labels")
        #expect(rows.compactMap { $0["label"] as? String } == ["red", "lamp", "green"])
        let expected = 1 / (1 + exp(-5.0))
        #expect(abs((rows[0]["probability"] as? Double ?? 0) - expected) < 1e-3)
        #expect(try Self.rows(lines[1], "labels").first?["label"] as? String == "green")
        let limited = try label("--limit", "1", "--template", "{} lamp", image("orange"))
        #expect(limited.status == 0 && limited.output.hasSuffix("red\n"), "\(limited)")
        #expect(limited.output.split(separator: "\n").count == 2)
        let missing = try label("/no/such.png", image("red"))
        #expect(missing.status == 3 && missing.output.contains("red"), "\(missing)")
        for (arguments, words) in [(["--template", "a"], "lacks {}"), (["--limit=-1"], "negative")] {
            let refused = try Command.run(["label", "--model", model, "--labels", "a", image("red")] + arguments)
            #expect(refused.status == 64 && refused.errors.contains(words), "\(refused.errors)")
        }
        let none = try Command.run("label", "--model", model, "--labels", " ,", image("red"))
        #expect(none.status == 64 && none.errors.contains("--labels has none"))
    }
}
