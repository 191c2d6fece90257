import Foundation
import Imaging
import TestSupport
import Testing

struct DuplicatesCommandTests {
    private struct Answer: Decodable {
        struct Entity: Decodable {
            let id: String
            let image: String
            let difference: String?
            let distance: Double?
        }
        let reference: Entity
        let duplicates: [Entity]
    }

    @Test func groupsAreListed() throws {
        let folder = try TemporaryFolder()
        func write(_ seed: UInt64, _ name: String, quality: Int? = nil) throws {
            let image = SampleImage.shapes(seed: seed)
            try folder.write(quality.map { try image.jpegData(quality: $0) } ?? image.pngData(), to: "images/\(name)")
        }
        try write(1, "a.png")
        try write(1, "b.jpg", quality: 40)
        try write(1, "c.png")
        for seed in 2..<5 { try write(UInt64(seed), "other\(seed).png") }
        let catalog = folder.file("catalog").path
        #expect(try Command.run("index", folder.file("images").path, "--catalog", catalog).status == 0)
        let text = try Command.run("catalog", "duplicates", catalog)
        #expect(text.status == 0, "\(text.errors)")
        #expect(text.output == "a\n  quality   b\n  none      c\n\n2 duplicates in 1 group\n", "\(text.output)")
        let lines = try Command.run("catalog", "duplicates", catalog, "--json").output.split(separator: "\n")
        #expect(lines.count == 1)
        let answer = try JSONDecoder().decode(Answer.self, from: Data(try #require(lines.first).utf8))
        #expect(answer.reference.id == "a" && answer.reference.difference == nil)
        #expect(answer.reference.image.hasSuffix("/images/a.png"))
        #expect(answer.duplicates.map(\.id) == ["b", "c"])
        #expect(answer.duplicates.map(\.difference) == ["quality", "none"])
        #expect(answer.duplicates.last?.distance == 0)
    }

    @Test func theSheetShowsGroupsAndConditionsChooseWhatIsCompared() throws {
        let folder = try TemporaryFolder()
        let entities = [(1, "a", "x"), (1, "b", "x"), (1, "<c>", "y"), (2, "d", "y"), (2, "e", "y")]
        let lines = entities.map { seed, id, type in
            #"{"id":"\#(id)","image":"\#(seed).png","type":"\#(type)","title":"<\#(id)>"}"#
        }
        try folder.write(lines.joined(separator: "\n"), to: "m.jsonl")
        for seed in 1...2 { try folder.write(SampleImage.shapes(seed: UInt64(seed)).pngData(), to: "\(seed).png") }
        let catalog = folder.file("catalog").path
        #expect(try Command.run("index", folder.file("m.jsonl").path, "--catalog", catalog).status == 0)
        let file = folder.file("sheet.html")
        func sheet(_ more: String...) throws -> Page {
            let result = try Command.run(["catalog", "duplicates", catalog, "--sheet", file.path] + more)
            // A small catalog shows no progress.
            #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
            return try Page(file)
        }
        let all = try sheet()
        #expect(all.all("h1").map(\.text) == ["3 duplicates in 2 groups"])
        #expect(all.all("code").map(\.text) == ["a", "b", "<c>", "d", "e"])
        #expect(all.all("b").map(\.text) == ["<a>", "<b>", "<<c>>", "<d>", "<e>"])
        #expect(all.all("li").map { $0.attributes["class"] } == ["none", "none", "none"])
        #expect(all.all("data").map(\.text) == ["same pixels", "same pixels", "same pixels"])
        #expect(all.all("img").count == 5 && all.all("article").count == 2)
        let ofOneType = try sheet("--type", "y")
        #expect(ofOneType.all("p").map(\.text) == ["Compared: "])
        #expect(ofOneType.all("code").map(\.text) == ["type = y", "d", "e"])
        #expect(
            try Command.run("catalog", "duplicates", catalog, "--where", "type = x").output.hasSuffix("1 group\n"))
        let refused = try Command.run("catalog", "duplicates", catalog, "--sheet", folder.file("sheet.png").path)
        #expect(refused.status == 64 && refused.errors.contains("sheet.html"))
    }

    @Test func aCatalogWithoutDuplicatesHasNoGroups() throws {
        let folder = try TemporaryFolder()
        for seed in 1..<4 {
            try folder.write(SampleImage.shapes(seed: UInt64(seed)).pngData(), to: "images/\(seed).png")
        }
        let catalog = folder.file("catalog").path
        #expect(try Command.run("index", folder.file("images").path, "--catalog", catalog).status == 0)
        #expect(try Command.run("catalog", "duplicates", catalog).output == "0 duplicates in 0 groups\n")
        #expect(try Command.run("catalog", "duplicates", catalog, "--json").output.isEmpty)
    }

    @Test func matchesOfASearchAreFolded() throws {
        let folder = try TemporaryFolder()
        for (seed, name) in [(1, "a"), (1, "b"), (1, "c"), (2, "other")] {
            try folder.write(SampleImage.shapes(seed: UInt64(seed)).pngData(), to: "images/\(name).png")
        }
        let catalog = folder.file("catalog").path
        let query = folder.file("images/a.png").path
        #expect(try Command.run("index", folder.file("images").path, "--catalog", catalog).status == 0)
        func search(_ more: String...) throws -> String {
            try Command.run(["search", "--catalog", catalog, query] + more).output
        }
        let text = try search("--group-duplicates")
        #expect(text.hasSuffix("  a\n      and 2 more with the same picture: b, c\n"), "\(text)")
        #expect(try search("--group-duplicates", "--json").contains(#""duplicates":["b","c"]"#))
        #expect(try search("--group-duplicates", "--json", "--limit", "1").contains(#""duplicates":["b","c"]"#))
        #expect(try search("--group-duplicates", "--json", "--limit", "0").contains(#""results":[]"#))
        #expect(try !search("--json").contains("duplicates"))
    }

    /// Two ids that Swift takes for the same, in other forms of Unicode, have copies of their own.
    @Test func matchesOfEquivalentIDsAreFoldedApart() throws {
        let folder = try TemporaryFolder()
        var lines = ""
        for (seed, id, copy) in [(1, "\u{E9}", "one"), (2, "e\u{301}", "two")] {
            try folder.write(SampleImage.shapes(seed: UInt64(seed)).pngData(), to: "\(copy).png")
            for id in [id, copy] { lines += #"{"id":"\#(id)","image":"\#(copy).png"}"# + "\n" }
        }
        try folder.write(Data(lines.utf8), to: "images.jsonl")
        let catalog = folder.file("catalog").path
        #expect(try Command.run("index", folder.file("images.jsonl").path, "--catalog", catalog).status == 0)
        let output = try Command.run(
            "search", "--catalog", catalog, folder.file("one.png").path, "--group-duplicates", "--min-confidence", "0",
            "--json"
        ).output
        #expect(output.contains(#""duplicates":["one"]"#) && output.contains(#""duplicates":["two"]"#), "\(output)")
    }
}
