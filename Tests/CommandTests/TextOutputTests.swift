import Foundation
import Imaging
import TestSupport
import Testing

struct TextOutputTests {
    @Test func controlCharactersAreEscapedInTextAndExactInJSON() throws {
        let folder = try TemporaryFolder()
        try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "a.png")
        try folder.write("no image", to: "b\u{1B}[2J.png")
        let id = "x\u{1B}]0;owned\u{7}\n1  100 %  0.000  fake\u{202E}\u{9B}2J"
        struct Line: Encodable {
            let id: String
            let image: String
            let title: String
            let type = "t\u{1B}[2J"
        }
        let encoder = JSONEncoder()
        let lines = try [
            Line(id: id, image: "a.png", title: "tab\tand é"), Line(id: "b", image: "b\u{1B}[2J.png", title: ""),
        ].map { String(decoding: try encoder.encode($0), as: UTF8.self) }
        let manifest = try folder.write(lines.joined(separator: "\n") + "\n", to: "m.jsonl").path
        let catalog = folder.file("catalog").path
        let indexed = try Command.run("index", manifest, "--catalog", catalog)
        #expect(indexed.status == 3 && indexed.errors.contains(#"b\u{1B}[2J.png: is of no known"#), "\(indexed.errors)")
        let visible = #"x\u{1B}]0;owned\u{7}\n1  100 %  0.000  fake\u{202E}\u{9B}2J"#
        let listed = try Command.run("catalog", "list", catalog)
        #expect(listed.output == visible + "\ttab\\tand é\n", "\(listed.output)")
        let found = try Command.run(
            "search", "--catalog", catalog, "--max-distance", "2", folder.file("a.png").path)
        #expect(found.output.contains(visible) && !found.output.contains("\u{1B}"), "\(found.output)")
        let info = try Command.run("catalog", "info", catalog)
        #expect(info.output.contains(#"of type “t\u{1B}[2J”"#), "\(info.output)")
        let exact = try Command.run("catalog", "list", catalog, "--json").output
        struct Entity: Decodable { let id: String }
        #expect(try JSONDecoder().decode(Entity.self, from: Data(exact.utf8)).id == id)
        let missing = try Command.run("catalog", "remove", catalog, "none\u{1B}")
        #expect(missing.status == 1 && missing.errors.contains(#"“none\u{1B}”"#), "\(missing.errors)")
    }
}
