import DefaultModel
import Foundation
import Imaging
import TestSupport
import Testing

/// The commands on a catalog with local features.
@Suite(.serialized) struct VerifiedSearchCommandTests {
    private struct Answer: Decodable {
        struct Result: Decodable {
            let id: String
            let confidence: Double
            let distance: Double
            let inliers: Int
            let outline: [[Double]]?
        }
        let query: String
        let results: [Result]
        let incomplete: Bool?
    }

    private let folder: TemporaryFolder
    private let photograph: URL
    private let placement: Placement
    private var catalog: String { folder.file("catalog").path }

    private static func cover(_ index: Int) -> PixelBuffer {
        SampleImage.shapes(seed: UInt64(70 + index), width: 300, height: 260)
    }

    init() throws {
        folder = try TemporaryFolder()
        for index in 0..<4 { try folder.write(Self.cover(index).pngData(), to: "images/i\(index).png") }
        placement = Placement(of: Self.cover(2), scale: 0.9, degrees: 30, center: SIMD2(330, 240))
        let image = SampleImage.shapes(seed: 901, width: 640, height: 480, count: 60)
            .drawing(Self.cover(2), at: placement)
        photograph = try folder.write(image.pngData(), to: "queries/photo.png")
        let other = SampleImage.shapes(seed: 902, width: 640, height: 480)
        try folder.write(other.pngData(), to: "queries/other.png")
    }

    private func index(_ more: String...) throws {
        let result = try Command.run(["index", folder.file("images").path, "--catalog", catalog] + more)
        #expect(result.status == 0, "\(result.errors)")
    }

    private func search(_ more: String...) throws -> [Answer.Result] { try answer(more).results }

    private func answer(_ more: [String]) throws -> Answer {
        let result = try Command.run(["search", "--catalog", catalog, "--json", photograph.path] + more)
        #expect(result.status == 0, "\(result.errors)")
        let answer = try JSONDecoder().decode(Answer.self, from: Data(result.output.utf8))
        #expect(answer.query == photograph.path)
        return answer
    }

    @Test func answersHaveConfidenceAndOutline() throws {
        try index()
        let results = try search()
        #expect(results.map(\.id) == ["i2"])
        #expect(try search("--max-objects", "1").map(\.id) == ["i2"])
        let first = try #require(results.first)
        #expect(first.confidence >= 0.5 && first.confidence <= 1 && first.inliers >= 12)
        let corners = placement.corners(width: 640, height: 480).map { $0 * SIMD2(640, 480) }
        let outline = try #require(first.outline)
        #expect(outline.count == 4)
        for (corner, expected) in zip(outline, corners) {
            #expect(corner.count == 2 && hypot(corner[0] - expected.x, corner[1] - expected.y) < 12)
        }
        let text = try Command.run("search", "--catalog", catalog, photograph.path).output
        #expect(text.contains(" %  ") && text.contains("  i2"))
    }

    @Test func boundsReplaceTheDecision() throws {
        try index()
        let all = try search("--min-confidence", "0")
        #expect(all.count == 4 && all.map(\.confidence) == all.map(\.confidence).sorted(by: >))
        #expect(all[0].confidence > 0.5 && all[1].confidence < 0.5)
        let between = (all[0].confidence + all[1].confidence) / 2
        #expect(try search("--min-confidence", "\(between)").map(\.id) == ["i2"])
        #expect(try search("--min-confidence", "0", "--max-distance", "0").isEmpty)
        #expect(try search("--max-distance", "2").count == 4)
        for wrong in ["1.5", "-0.1", "much"] {
            let result = try Command.run(
                "search", "--catalog", catalog, "--min-confidence=\(wrong)", photograph.path)
            #expect(result.status == 64, "\(wrong)")
        }
    }

    @Test func theEffortIsChosen() throws {
        try index()
        let prints = try search("--effort", "prints", "--min-confidence", "0")
        #expect(prints.count == 4 && prints.allSatisfy { $0.outline == nil && $0.inliers == 0 })
        #expect(prints.map(\.distance) == prints.map(\.distance).sorted())
        let results = try search("--effort", "standard")
        #expect(results.map(\.id) == ["i2"] && results.first?.outline != nil)
        #expect(try Command.run("search", "--catalog", catalog, "--effort", "none", photograph.path).status == 64)
    }

    @Test func aSearchIsCutShort() throws {
        try index()
        let whole = try answer(["--within", "1000000s"])
        #expect(whole.incomplete == nil && whole.results.first?.outline != nil)
        let early = try answer(["--within", "0ms", "--min-confidence", "0"])
        #expect(early.incomplete == true && early.results.count == 4 && early.results.allSatisfy { $0.outline == nil })
        let text = try Command.run("search", "--catalog", catalog, "--within", "0.5ms", photograph.path).output
        #expect(text.contains("cut short"))
        for wrong in ["100", "-1s", "soon", "1e3ms", "nans", "99999999s"] {
            #expect(
                try Command.run("search", "--catalog", catalog, "--within=\(wrong)", photograph.path).status == 64,
                "\(wrong)")
        }
    }

    @Test func aCatalogMayDoWithoutFeatures() throws {
        try index("--no-local-features")
        #expect(!FileManager.default.fileExists(atPath: catalog + "/features.lists"))
        #expect(try search("--min-confidence", "0").allSatisfy { $0.outline == nil })
        let result = try Command.run("index", folder.file("images").path, "--catalog", catalog)
        #expect(result.output == "0 added, 4 updated, 0 unchanged\n")
        #expect(try search().first?.outline != nil)
    }

    @Test func anImportedModelIndexesWithoutFeaturesAndSaysSo() throws {
        // The default model, with one more entry of its metadata.
        var model = try Data(contentsOf: DefaultModelFile.prints.find())
        let place = try #require(model.range(of: Data("\"__metadata__\":{".utf8))).upperBound
        let entry = Data("\"lookalike.local_features\":\"none\",".utf8)
        model.insert(contentsOf: entry, at: place)
        let length = model.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) } + entry.count
        model.replaceSubrange(0..<8, with: (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) })
        let file = try folder.write(model, to: "imported.safetensors").path
        func index(_ arguments: String...) throws -> String {
            let result = try Command.run(
                ["index", folder.file("images").path, "--catalog", catalog, "--model", file] + arguments)
            #expect(result.status == 0, "\(result.errors)")
            return result.errors
        }
        let words = "note: no local features"
        #expect(try index().components(separatedBy: words).count == 2)
        #expect(!FileManager.default.fileExists(atPath: catalog + "/features.lists"))
        #expect(try !index("--no-local-features").contains(words))
        #expect(try !index("--local-features").contains(words))
        #expect(FileManager.default.fileExists(atPath: catalog + "/features.lists"))
    }

    /// The header's digest does not cover the contents, which only “verify” reads. A search must still end well.
    @Test(arguments: [UInt8(0xFF), 0x40]) func aSearchSurvivesDamagedLists(value: UInt8) throws {
        try index()
        let lists = folder.file("catalog/features.lists")
        var data = try Data(contentsOf: lists)
        // The last section: the entity of each signature, 4 bytes each.
        for position in (data.count - 1200)..<data.count { data[position] = value }
        try data.write(to: lists)
        let result = try Command.run("search", "--catalog", catalog, "--json", photograph.path)
        #expect(result.status == 0, "ended with \(result.status)")
        #expect(try Command.run("catalog", "verify", catalog).output.contains("features.lists"))
        #expect(try search().map(\.id) == ["i2"])
    }
}
