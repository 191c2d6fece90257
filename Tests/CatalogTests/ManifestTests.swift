import Catalogs
import Foundation
import Imaging
import TestSupport
import Testing

struct ManifestTests {
    @Test func readsCSV() throws {
        let folder = try TemporaryFolder()
        let url = try folder.write(
            "\u{FEFF}id,image,title,labels,artist,type\r\n"
                + "a,covers/a.png,\"One, two \"\"three\"\"\",jazz; blues,Anna,album\r\n"
                + "b,/absolute/b.png,\"two\nlines\",,,\r\n"
                + "\r\n"
                + "c,c.png,x,,\n"
                + ",d.png,x,,,\n"
                + "e,,x,,,\n"
                + "a,f.png,x,,,\n"
                + "g,g.png,\"quoted\"text,,,\n"
                + "h,h.png,\"never closed,,,",
            to: "list.csv")
        let (items, problems) = try ImageSource.items(at: url)
        #expect(items.map(\.entity.id) == ["a", "b"])
        let a = items[0].entity
        #expect(
            a.title == "One, two \"three\"" && a.labels == ["jazz", "blues"] && a.attributes == ["artist": "Anna"]
                && a.type == "album")
        #expect(a.image == folder.file("covers/a.png").path)
        #expect(
            items[1].entity.image == "/absolute/b.png" && items[1].entity.title == "two\nlines"
                && items[1].entity.type == nil)
        let words = problems.map { $0.description.replacingOccurrences(of: url.path, with: "list.csv") }
        #expect(words.contains("list.csv:6: has 5 fields, but the first line has 6"))
        #expect(words.contains("list.csv:7: has no id"))
        #expect(words.contains("list.csv:8: has no image"))
        #expect(words.contains("list.csv:9: has the same id “a” as list.csv:2"))
        #expect(words.contains("list.csv:10: has text after a closing quote"))
        #expect(words.contains("list.csv:11: opens a quote that is never closed"))
        #expect(words.count == 6)
    }

    @Test func readsJSONLines() throws {
        let folder = try TemporaryFolder()
        let url = try folder.write(
            """
            {"id":"a","image":"a.png","labels":["x","y"],"year":1999,"live":true,"price":9.5,"none":null}

            {"id":"b","image":"b.png"
            [1]
            {"id":9007199254740993,"image":"c.png","labels":null}
            {"id":12345678901234567890123,"image":"d.png","far":-98765432109876543210,"huge":1e300}
            """, to: "list.jsonl")
        let (items, problems) = try ImageSource.items(at: url)
        #expect(items.map(\.entity.id) == ["a", "9007199254740993", "12345678901234567890123"])
        #expect(items[0].entity.labels == ["x", "y"])
        #expect(items[0].entity.attributes == ["year": "1999", "live": "true", "price": "9.5"])
        #expect(items[2].entity.attributes == ["far": "-98765432109876543210", "huge": "1e+300"])
        #expect(problems.map(\.subject) == ["\(url.path):3", "\(url.path):4"])
    }

    @Test func manifestsThatCannotBeUsed() throws {
        let folder = try TemporaryFolder()
        for (name, text, says) in [
            ("a.csv", "", "is empty"), ("b.csv", "id,title\n", "no column “image”"),
            ("c.csv", "id,image,id\n", "“id” twice"),
            ("d.txt", "id,image\n", "neither a folder nor"),
        ] {
            let error = #expect(throws: IndexProblem.self) {
                try ImageSource.items(at: folder.write(text, to: name))
            }
            #expect(error?.description.contains(says) == true && error?.description.contains(name) == true)
        }
        #expect(throws: IndexProblem.self) {
            try ImageSource.items(at: folder.write(Data([0xFF, 0xFE, 0x80]), to: "e.jsonl"))
        }
        #expect(throws: IndexProblem.self) { try ImageSource.items(at: folder.file("missing")) }
    }

    @Test func whatAManifestSaysOfAnEntityCanChangeWithoutItsImage() async throws {
        let folder = try TemporaryFolder()
        try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "a.png")
        func run(_ title: String) throws -> IndexReport {
            let manifest = try folder.write("id,image,title\na,a.png,\(title)\n", to: "list.csv")
            return try CatalogIndexer(at: folder.file("catalog")).index(ImageSource.items(at: manifest).items)
        }
        #expect(try run("One").added == 1)
        #expect(try run("One").unchanged == 1)
        #expect(try run("Two").updated == 1)
        #expect(try await Catalog(at: folder.file("catalog")).entities(for: ["a"]).first?.title == "Two")
    }

    @Test func foldersAreWalkedOnceAndLinksFollowed() throws {
        let folder = try TemporaryFolder()
        let image = try SampleImage.blocks(seed: 1).pngData()
        for name in ["b.PNG", "a/c.jpeg", "a/deep/d.jpg", ".hidden.png", "notes.txt", "x.tar.png"] {
            try folder.write(image, to: name)
        }
        try FileManager.default.createSymbolicLink(at: folder.file("a/up"), withDestinationURL: folder.url)
        try FileManager.default.createSymbolicLink(
            at: folder.file("link.png"), withDestinationURL: folder.file("b.PNG"))
        try FileManager.default.createSymbolicLink(
            at: folder.file("dead.png"), withDestinationURL: folder.file("gone.png"))
        let (items, problems) = try ImageSource.items(at: folder.url)
        #expect(items.map(\.entity.id).sorted() == ["a/c", "a/deep/d", "b", "dead", "link", "x.tar"])
        #expect(problems.isEmpty)
    }

    /// The images had other ids as soon as a link came before their folder, and were indexed again.
    @Test func linksChangeNoIDs() throws {
        let folder = try TemporaryFolder()
        let image = try SampleImage.blocks(seed: 1).pngData()
        for name in ["images/z/one.png", "images/.hidden/two.png", "elsewhere/three.png"] {
            try folder.write(image, to: name)
        }
        for (link, target) in [
            ("images/a", "images/z"), ("images/b", "images/.hidden"), ("images/z/a", "elsewhere"), ("images/c", "gone"),
        ] {
            try FileManager.default.createSymbolicLink(
                at: folder.file(link), withDestinationURL: folder.file(target))
        }
        let (items, problems) = try ImageSource.items(at: folder.file("images"))
        #expect(items.map(\.entity.id) == ["z/one", "b/two", "z/a/three"])
        #expect(problems.isEmpty)
    }
}
