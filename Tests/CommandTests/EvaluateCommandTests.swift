import DefaultModel
import Foundation
import Imaging
import TestSupport
import Testing

@Suite(.serialized) struct EvaluateCommandTests {
    private let folder: TemporaryFolder
    private var catalog: String { folder.file("catalog").path }

    private static func cover(_ index: Int) -> PixelBuffer {
        SampleImage.shapes(seed: UInt64(80 + index), width: 280, height: 280)
    }

    /// Three queries of two groups and one of another kind; the last shows nothing of the catalog.
    private static let lines = [
        #"{"query": "queries/a.png", "target": "i0", "group": "alone"}"#,
        #"{"query": "queries/b.png", "target": "i1", "group": "alone"}"#,
        #"{"query": "queries/two.png", "targets": ["i2", "i3"], "group": "together"}"#, "",
        #"{"query": "queries/none.png", "target": null, "kind": "absent"}"#,
    ]

    init() throws {
        folder = try TemporaryFolder()
        for index in 0..<5 { try folder.write(Self.cover(index).pngData(), to: "images/i\(index).png") }
        func clutter(_ seed: UInt64) -> PixelBuffer {
            SampleImage.shapes(seed: seed, width: 640, height: 480, count: 60)
        }
        func draw(_ covers: [(Int, Double, Double, SIMD2<Double>)], to name: String) throws {
            var image = clutter(903)
            for (index, scale, degrees, center) in covers {
                let cover = Self.cover(index)
                image = image.drawing(
                    cover, at: Placement(of: cover, scale: scale, degrees: degrees, center: center))
            }
            try folder.write(image.pngData(), to: "questions/queries/\(name).png")
        }
        try draw([(0, 1, 20, SIMD2(320, 240))], to: "a")
        try draw([(1, 0.9, 200, SIMD2(300, 250))], to: "b")
        try draw([(2, 0.8, 10, SIMD2(170, 240)), (3, 0.8, 350, SIMD2(470, 240))], to: "two")
        try folder.write(SampleImage.shapes(seed: 990).pngData(), to: "questions/queries/none.png")
        try folder.write(Self.lines.joined(separator: "\n") + "\n", to: "questions/queries.jsonl")
        let result = try Command.run("index", folder.file("images").path, "--catalog", catalog)
        #expect(result.status == 0, "\(result.errors)")
    }

    /// Without a threshold nothing is accepted, and a search says why; labeled queries give the model one.
    @Test func aModelWithoutAThresholdIsCalibrated() throws {
        // The other key has the same length, so that the header stays valid.
        var model = try Data(contentsOf: DefaultModelFile.prints.find())
        let key = try #require(model.range(of: Data("\"lookalike.recommended_max_distance\"".utf8)))
        model.replaceSubrange(key, with: Data("\"lookalike.recommended_mux_distance\"".utf8))
        let file = try folder.write(model, to: "imported.safetensors").path
        let prints = folder.file("prints").path
        let images = folder.file("images").path
        let indexed = try Command.run(
            ["index", images, "--catalog", prints, "--model", file, "--no-local-features"])
        #expect(indexed.status == 0, "\(indexed.errors)")
        let search = ["search", "--catalog", prints, images + "/i0.png"]
        let before = try Command.run(search)
        #expect(before.output.contains("no match") && before.errors.contains("no match threshold"), "\(before)")
        let kept = prints + "/model.safetensors"
        let queries = ["--queries", folder.file("questions").path]
        let result = try Command.run(["evaluate", "--catalog", prints, "--calibrate", kept] + queries)
        #expect(result.status == 0 && result.output.contains("\nmatch threshold 0."), "\(result)")
        #expect(try !Command.run("model", "info", kept).output.contains("match threshold       none"))
        let json = try Command.run(["evaluate", "--catalog", prints, "--calibrate", kept, "--json"] + queries)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(json.output.utf8)) }
        #expect(json.errors.contains("match threshold 0."), "\(json)")
        let after = try Command.run(search)
        #expect(after.output.contains("i0") && after.errors.isEmpty, "\(after)")
        // A catalog keeps its threshold and confidence. A note says so where an index run or a merge names others.
        for (given, isNoted) in [(file, true), (kept, false)] {
            let again = try Command.run("index", images, "--catalog", prints, "--model", given)
            #expect(again.errors.contains("keeps the match threshold") == isNoted, "\(again.errors)")
        }
        for (first, second) in [(catalog, prints), (prints, catalog)] {
            let into = first + "-merged"
            let merged = try Command.run("catalog", "merge", first, second, "--into", into)
            #expect(merged.errors.contains("\(second): note: its model has another match threshold"), "\(merged)")
            let ownFile = FileManager.default.contents(atPath: into + "/model.safetensors")
            #expect(ownFile == FileManager.default.contents(atPath: first + "/model.safetensors"))
        }
    }

    private static func rows(_ output: String) -> [String: [String]] {
        let rows = output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        return Dictionary(
            rows.filter { $0.count > 1 }.map { ($0[0], Array($0[1...])) }, uniquingKeysWith: { a, _ in a })
    }

    /// A manifest takes numbers for ids, so labels of queries may have them.
    @Test func idsMayBeNumbers() throws {
        let manifest = try folder.write(
            (0..<3).map { "{\"id\": \($0 == 2 ? "2.5" : "\($0)"), \"image\": \"images/i\($0).png\"}\n" }.joined(),
            to: "numbers.jsonl")
        let numbers = folder.file("numbers").path
        #expect(try Command.run("index", manifest.path, "--catalog", numbers).status == 0)
        let queries = try folder.write(
            """
            {"query": "images/i0.png", "target": 0, "group": 1}
            {"query": "images/i1.png", "targets": [1, "0"]}
            {"query": "images/i2.png", "target": 2.5, "kind": "x"}
            {"query": "images/i4.png", "target": null}
            """, to: "numbers-queries.jsonl")
        let result = try Command.run("evaluate", "--catalog", numbers, "--queries", queries.path)
        #expect(result.status == 0, "\(result.errors)")
        #expect(Self.rows(result.output)["all"]?.prefix(2) == ["3", "1.000"], "\(result.output)")
        let wrong = try folder.write("{\"query\": \"images/i0.png\", \"target\": true}\n", to: "wrong.jsonl")
        let refused = try Command.run("evaluate", "--catalog", numbers, "--queries", wrong.path)
        #expect(refused.status == 64 && refused.errors.contains("wrong.jsonl:1: not a query"))
    }

    @Test func printsATableWithARowPerGroup() throws {
        let answers = folder.file("answers.jsonl")
        let result = try Command.run(
            "evaluate", "--catalog", catalog, "--queries", folder.file("questions").path, "--leave-out", "--answers",
            answers.path)
        #expect(result.status == 0, "\(result.errors)")
        let rows = Self.rows(result.output)
        #expect(
            rows["queries"] == ["recall@1", "recall@10", "share", "candidates@20", "accepted", "wrong"],
            "\(result.output)")
        #expect(rows["alone"] == ["2", "1.000", "1.000", "1.000", "1.000", "1.000", "0.000"], "\(result.output)")
        #expect(rows["together"] == ["1", "1.000", "1.000", "1.000", "1.000", "1.000", "0.000"])
        #expect(rows["absent"] == ["0", "–", "–", "–", "–", "–", "–"])
        #expect(rows["all"] == ["3", "1.000", "1.000", "1.000", "1.000", "1.000", "0.000"])
        #expect(rows["micro-average"] == ["precision", "1.000"])
        #expect(rows["recall"]?.prefix(6) == ["at", "95", "%", "precision", "1.000", "at"])
        #expect(result.output.contains("false accept rate"))
        #expect(result.output.contains("0.000  (0 of 4 queries without a target in the catalog)"))
        let lines = try String(contentsOf: answers, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 4 && lines[2].contains("queries/two.png") && lines[2].contains("outline"))
    }

    @Test func figuresAsJSON() throws {
        let result = try Command.run(
            "evaluate", "--catalog", catalog, "--queries", folder.file("questions").path, "--leave-out", "--json",
            "--false-accepts", "0")
        #expect(result.status == 0, "\(result.errors)")
        let answer = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any], "\(result.output)")
        let all = ["accepted": 1.0, "wrong": 0, "queries": 3, "recallAt1": 1, "recallAt10": 1, "targetShare": 1]
        #expect((answer["all"] as? [String: Double])?.filter { $0.key != "candidateRecallAt20" } == all)
        #expect((answer["groups"] as? [String: [String: Double]])?["together"]?["queries"] == 1)
        #expect(answer["absentQueries"] as? Int == 4 && answer["falseAccepts"] as? Double == 0)
        #expect((answer["decisions"] as? [[String: Double]])?.compactMap { $0["confidence"] }.count == 9)
        let recommended = try #require(answer["recommended"] as? [String: Double])
        #expect(recommended["falseAccepts"] == 0 && recommended["confidence"].map { (0...1).contains($0) } ?? false)
        #expect(answer["problems"] == nil)
    }

    @Test func absentQueriesAloneAreCountedWithoutLeavingOut() throws {
        let file = folder.file("questions/queries.jsonl").path
        let result = try Command.run("evaluate", "--catalog", catalog, "--queries", file, "--effort", "prints")
        #expect(result.status == 0 && result.output.contains("of 1 queries without a target in the catalog"))
        #expect(Self.rows(result.output)["all"]?.first == "3")
    }

    @Test func linesThatAreNoQueryAndImagesThatAreMissingAreTold() throws {
        let wrong = try folder.write(
            Self.lines[0] + "\n{\"target\": \"i0\"}\n", to: "questions/wrong.jsonl")
        let first = try Command.run("evaluate", "--catalog", catalog, "--queries", wrong.path)
        #expect(first.status == 64 && first.errors.contains("wrong.jsonl:2: not a query"), "\(first.errors)")
        let missing = try folder.write(
            "\n" + #"{"query": "nowhere.png", "target": "i0"}"# + "\n" + Self.lines[0], to: "questions/missing.jsonl")
        let second = try Command.run("evaluate", "--catalog", catalog, "--queries", missing.path)
        #expect(second.status == 3 && second.errors.contains("missing.jsonl:2: "), "\(second.errors)")
        #expect(Self.rows(second.output)["all"]?.first == "1")
    }

    @Test func mistakesInLabelsAreReported() throws {
        let mistyped = try folder.write(#"{"query": "queries/a.png", "taget": "i0"}"#, to: "questions/mistyped.jsonl")
        let first = try Command.run("evaluate", "--catalog", catalog, "--queries", mistyped.path)
        #expect(first.status == 64 && first.errors.contains("mistyped.jsonl:1: not a query"), "\(first.errors)")
        let unknown = try folder.write(
            Self.lines[0] + "\n" + #"{"query": "queries/b.png", "targets": ["i1", "nobody"]}"#,
            to: "questions/unknown.jsonl")
        let second = try Command.run("evaluate", "--catalog", catalog, "--queries", unknown.path)
        #expect(second.status == 3)
        #expect(second.errors.contains("unknown.jsonl:2: the catalog has no entity “nobody”"), "\(second.errors)")
        #expect(Self.rows(second.output)["all"]?.first == "2")
        // U+2028 ends a line for Swift, and not for JSON.
        let separated = try folder.write(
            "{\"query\": \"queries/a.png\", \"target\": \"i0\", \"group\": \"a\u{2028}b\"}\r\n",
            to: "questions/separated.jsonl")
        #expect(try Command.run("evaluate", "--catalog", catalog, "--queries", separated.path).status == 0)
        let missing = try Command.run("evaluate", "--catalog", catalog, "--queries", folder.file("none.jsonl").path)
        #expect(missing.status == 64 && missing.errors.contains("none.jsonl cannot be read: "), "\(missing.errors)")
    }

    @Test func aSearchByPrintsHasNoCandidates() throws {
        let file = folder.file("questions/queries.jsonl").path
        let result = try Command.run("evaluate", "--catalog", catalog, "--queries", file, "--effort", "prints")
        // Queries, recall@1, recall@10, share, candidates@20.
        let all = try #require(Self.rows(result.output)["all"])
        #expect(all[1] != "–" && all[4] == "–", "\(result.output)")
    }
}
