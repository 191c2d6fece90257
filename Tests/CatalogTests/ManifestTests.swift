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

    /// As spreadsheets save it where the comma is the decimal sign, and others.
    @Test(arguments: [
        "id;image;title;price\r\na;a.png;One, two;1,5\r\n", "\u{FEFF}id;image;title;price\na;a.png;One, two;1,5",
        "\"id\";\"image\";\"title\";\"price\"\na;a.png;\"One, two\";\"1,5\"\n",
        "id\timage\ttitle\tprice\na\ta.png\tOne, two\t1,5",
        "id|image|title|price\na|a.png|One, two|1,5", "sep=;\r\nid;image;title;price\r\na;a.png;One, two;1,5\r\n",
        "\u{FEFF}sep=^\nid^image^title^price\na^a.png^One, two^1,5", "image;price;title;id\na.png;1,5;One, two;a",
        "id,image,title,price\na,a.png,\"One, two\",\"1,5\"\n", "id;image;title;price;x,y\na;a.png;One, two;1,5;\n",
    ])
    func separatorsOfCSVAreFound(text: String) throws {
        let folder = try TemporaryFolder()
        for data in [Data(text.utf8), text.data(using: .utf16) ?? Data()] {
            let url = try folder.write(data, to: "list.csv")
            let (items, problems) = try ImageSource.items(at: url)
            #expect(problems.isEmpty, "\(problems)")
            let entity = try #require(items.first?.entity)
            #expect(items.count == 1 && entity.id == "a" && entity.title == "One, two")
            #expect(entity.attributes == ["price": "1.5"] && entity.image == folder.file("a.png").path)
        }
    }

    /// Every line end, and both together, in both encodings.
    @Test(arguments: ["\r", "\n", "\r\n", "mixed"])
    func lineEndsOfCSVAreFound(end: String) throws {
        let folder = try TemporaryFolder()
        let lines = ["sep=,", "id,image,title,", "a,a.png,\"One\r\ntwo\",", "", "b,b.png,\"\",,", " , ,,", ",c.png,x,"]
        let ends = end == "mixed" ? ["\r", "\n", "\r\n", "\r", "\n", "\r\n", ""] : Array(repeating: end, count: 7)
        let text = zip(lines, ends).map { $0 + $1 }.joined()
        for data in [
            Data(text.utf8), Data([0xEF, 0xBB, 0xBF] + text.utf8),
            Data([0xFF, 0xFE]) + text.data(using: .utf16LittleEndian)!,
            Data([0xFE, 0xFF]) + text.data(using: .utf16BigEndian)!,
        ] {
            let url = try folder.write(data, to: "list.csv")
            let (items, problems) = try ImageSource.items(at: url)
            #expect(items.map(\.entity.id) == ["a", "b"] && items.first?.entity.title == "One\r\ntwo")
            #expect(items.allSatisfy { $0.entity.attributes.isEmpty })
            #expect(problems.map(\.description) == ["\(url.path):8: has no id"])
        }
        let objects = try folder.write("{\"id\":\"a\",\"image\":\"a.png\"}\r{\"id\":\"b\"}\r", to: "list.jsonl")
        let (items, problems) = try ImageSource.items(at: objects)
        #expect(items.map(\.entity.id) == ["a"] && problems.map(\.subject) == ["\(objects.path):2"])
    }

    @Test func encodingsWithoutAMarkAreNamed() throws {
        let folder = try TemporaryFolder()
        let text = "id,image,title\na,a.png,é\n"
        for (data, says) in [
            (text.data(using: .utf16LittleEndian)!, "is UTF-16 text without a byte order mark"),
            (text.data(using: .utf16BigEndian)!, "is UTF-16 text without a byte order mark"),
            (Data([0xFF, 0xFE, 0, 0]) + text.data(using: .utf32LittleEndian)!, "is UTF-32 text"),
            (text.data(using: .isoLatin1)!, "is not UTF-8 text in line 2"),
            (Data([0xFF, 0xFE, 0x80]), "is UTF-16 text that ends within a character"),
        ] {
            let error = #expect(throws: IndexProblem.self) {
                try ImageSource.items(at: folder.write(data, to: "list.csv"))
            }
            #expect(error?.reason == says + "; save it again as UTF-8")
        }
    }

    /// The values of a column, the separator of fields, and what is stored; the number of notes.
    @Test(arguments: [
        (["19,90", "5", "1.234,50"], ";", ["19.90", "5", "1234.50"], 1),
        (["1,234.50", "5", "1,000"], ",", ["1234.50", "5", "1000"], 1),
        (["1 234,50", "1\u{202F}000 000", "-3"], "\t", ["1234.50", "1000000", "-3"], 1),
        (["1'234.50", "12’000"], ",", ["1234.50", "12000"], 1),
        (["12,34,567.5", "1.25"], "|", ["1234567.5", "1.25"], 1),
        (["€ 1.234,50", "-5 €", "3,00€"], ";", ["1234.50", "-5", "3.00"], 1),
        (["19.90 EUR", "1,000.00 EUR"], ",", ["19.90", "1000.00"], 1),
        (["\u{2212}1,5", "+2,5"], ";", ["-1.5", "2.5"], 1),
        (["19.90", "1e3", "007", ".5"], ";", ["19.90", "1e3", "007", ".5"], 0), (["1.234"], ",", ["1.234"], 0),
        // What separates fields is no decimal sign of the same people.
        (["1,234", "2,500"], ";", ["1.234", "2.500"], 1), (["1,234", "2,500"], ",", ["1234", "2500"], 1),
        // These cannot be told, and each is reported.
        (["1,234", "2,500"], "\t", ["1,234", "2,500"], 3), (["1.234"], ";", ["1.234"], 1),
        (["19,90", "1,234.50", "3"], ";", ["19,90", "1,234.50", "3"], 3),
        (["1 €", "2 $", "3 €"], ",", ["1 €", "2 $", "3 €"], 4),
        (["19,90", "5,00", "6 pieces"], ";", ["19.90", "5.00", "6 pieces"], 2),
        (["5", "6", "free"], ",", ["5", "6", "free"], 0),
        // Texts with digits are no numbers.
        (["1.2.3", "10.0.1"], ",", ["1.2.3", "10.0.1"], 0),
        (["01.02.2024", "3.4.2025"], ";", ["01.02.2024", "3.4.2025"], 0),
        (["044 123 45 67", "079 123 45 67"], ",", ["044 123 45 67", "079 123 45 67"], 0),
        (["XL", "10,5", "M"], ";", ["XL", "10,5", "M"], 0),
    ])
    func numbersOfAColumnAreRead(
        values: [String], separator: String, expected: [String], noteCount: Int
    ) throws {
        let folder = try TemporaryFolder()
        let rows = values.enumerated().map { ["a\($0)", "a.png", "\"\($1)\""].joined(separator: separator) }
        let text = ([["id", "image", "price"].joined(separator: separator)] + rows).joined(separator: "\r\n")
        let (items, problems) = try ImageSource.items(at: folder.write(text, to: "list.csv"))
        #expect(problems.isEmpty && items.map { $0.entity.attributes["price"] } == expected)
        let notes = items.flatMap(\.notes)
        #expect(notes.count == noteCount, "\(notes)")
        #expect(notes.allSatisfy { $0.subject.contains("list.csv") && $0.text.contains("“price”") })
    }

    @Test func anotherColumnTellsTheDecimalSign() throws {
        let folder = try TemporaryFolder()
        let text = "id;image;price;stock;ean;;\na;a.png;19,90;1.234;4006381333931;x\nb;b.png;5,00;12.000;4,00638E+12\n"
        let (items, problems) = try ImageSource.items(at: folder.write(text, to: "list.csv"))
        #expect(problems.isEmpty, "\(problems)")
        #expect(items.map { $0.entity.attributes["stock"] } == ["1234", "12000"])
        #expect(items.map { $0.entity.attributes.count } == [3, 3])
        let notes = items.flatMap(\.notes).map(\.description)
        #expect(notes.contains { $0.contains("list.csv:3") && $0.contains("“ean” is “4,00638E+12”") }, "\(notes)")
        #expect(notes.contains { $0.contains("column 6 has no name and is left out") }, "\(notes)")
    }

    @Test(arguments: [
        ("48.208", "48.208", 1), ("48,208", "48.208", 2), ("48,2082", "48.2082", 2), ("-33.5", "-33.5", 1),
    ])
    func degreesHaveNoThousands(written: String, stored: String, noteCount: Int) throws {
        let folder = try TemporaryFolder()
        let text = "id;image;latitude;price\na;a.png;\(written);19,90\n"
        let items = try ImageSource.items(at: folder.write(text, to: "list.csv")).items
        #expect(items.map { $0.entity.attributes } == [["latitude": stored, "price": "19.90"]])
        #expect(items.flatMap(\.notes).count == noteCount)
    }

    @Test func whatIsStoredOtherwiseIsNoted() throws {
        let folder = try TemporaryFolder()
        let text = "id;image;weight;price\na;a.png;1;19,90\nb;b.png;1.250;5,00\n"
        let notes = try ImageSource.items(at: folder.write(text, to: "list.csv")).items.flatMap(\.notes)
        #expect(
            notes.contains { $0.subject.hasSuffix(":3") && $0.text.contains("“1.250” is stored as 1250") }, "\(notes)")
    }

    @Test func listsOfAColumnMayBeArrays() throws {
        let folder = try TemporaryFolder()
        let text = #"""
            id,labels,images
            a,"[""p"",""q;r"",5]","[""a|b.png"",""c.png""]"
            b,"[p];q","[d].png|e.png"
            c,[],f.png
            """#
        let (items, problems) = try ImageSource.items(at: folder.write(text, to: "list.csv"))
        #expect(problems.isEmpty, "\(problems)")
        #expect(items.map(\.entity.labels) == [["p", "q;r", "5"], ["[p]", "q"], []])
        #expect(
            items.map { $0.entity.images.map { URL(fileURLWithPath: $0).lastPathComponent } } == [
                ["a|b.png", "c.png"], ["[d].png", "e.png"], ["f.png"],
            ])
    }

    /// Random numbers in each country's form are read as those that they are.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func numbersOfEveryCountryAreRead(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let forms = [(",", "."), (".", ","), (",", " "), (",", "\u{A0}"), (".", "'"), (",", ""), (".", "")]
        let (decimal, group) = forms[Int(seed) % forms.count]
        let numbers = (0..<50).map { _ in Int.random(in: -20_000_000...20_000_000, using: &random) }
        let values = numbers.map { cents in
            var whole = String(abs(cents) / 100)
            if !group.isEmpty {
                for place in stride(from: whole.count - 3, to: 0, by: -3) {
                    whole.insert(contentsOf: group, at: whole.index(whole.startIndex, offsetBy: place))
                }
            }
            let fraction = String(100 + abs(cents) % 100).dropFirst()
            return (cents < 0 ? "-" : "") + whole + decimal + fraction
        }
        let rows = values.enumerated().map { "a\($0)\ta.png\t\($1)" }
        let text = "id\timage\tprice\n" + rows.joined(separator: "\n")
        let items = try ImageSource.items(at: folder.write(text, to: "list.tsv")).items
        let read = items.map { $0.entity.attributes["price"].flatMap(Double.init) }
        #expect(read == numbers.map { Double($0) / 100 }, "seed \(seed)")
    }

    @Test func lineNumbersCountTheLineThatNamesTheSeparator() throws {
        let folder = try TemporaryFolder()
        let url = try folder.write("sep=;\nid;image\na;a.png\n;b.png\n", to: "list.csv")
        #expect(try ImageSource.items(at: url).problems.map(\.description) == ["\(url.path):4: has no id"])
    }

    /// A URL of a file is its path. Others name themselves, whether they are one image of several or all.
    @Test func urlsAreFilesOrRefused() async throws {
        let folder = try TemporaryFolder()
        let image = try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "a b.png")
        let file = image.absoluteString
        #expect(file.hasPrefix("file:///") && file.hasSuffix("a%20b.png"))
        let url = try folder.write(
            """
            {"id": "file", "image": "\(file)"}
            {"id": "web", "image": "https://example.com/x.jpg?a=b"}
            {"id": "both", "images": ["a b.png", "S3://bucket/y.jpg"]}
            {"id": "data", "image": "data:image/png;base64,iVBORw0KGgo="}
            {"id": "share", "image": "file://server/share/z.png"}
            """, to: "list.jsonl")
        let report = try CatalogIndexer(at: folder.file("catalog"), localFeatures: false).index(
            ImageSource.entries(at: url))
        #expect((report.added, report.failed) == (2, 3))
        let words = report.problems.map(\.description)
        for (line, text) in [
            (2, "https://example.com/x.jpg?a=b"), (3, "S3://bucket/y.jpg"), (4, "data:image/png;base64,iVBORw0KGgo="),
            (5, "file://server/share/z.png"),
        ] {
            let start = "\(url.path):\(line): \(text): "
            #expect(words.contains { $0.hasPrefix(start) && $0.contains("URLs are not downloaded") }, "\(words)")
        }
        let catalog = try Catalog(at: folder.file("catalog"))
        #expect(try await catalog.entities(for: ["file", "both"]).map(\.images) == [[image.path], [image.path]])
    }

    /// The scheme stays in what reports say.
    @Test func itemsMayNameURLs() throws {
        let folder = try TemporaryFolder()
        let url = try #require(URL(string: "https://example.com/x.jpg"))
        let report = try CatalogIndexer(at: folder.file("catalog"), localFeatures: false).index(
            [IndexItem(CatalogEntity(id: "a"), image: .file(url))])
        #expect(
            report.problems.first?.description.hasPrefix("https://example.com/x.jpg: cannot be read: it is a URL")
                == true)
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
        for name in ["b.PNG", "a/c.jpeg", "a/deep/d.jpg", ".hidden.png", "x.tar.png"] {
            try folder.write(image, to: name)
        }
        try folder.write("text", to: "notes.txt")
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

    @Test func knownColumnsMayBeInAnyCase() throws {
        let folder = try TemporaryFolder()
        let csv = try folder.write(Data("ID;Image;Title;Type;Label;Year\na;a.png;Slow;LP;x|y;1998\n".utf8), to: "a.csv")
        let lines = Data(
            #"{"Id": "a", "image": "a.png", "TITLE": "Slow", "type": "LP", "labels": ["x", "y"], "Year": 1998}"#.utf8)
        for file in [csv, try folder.write(lines, to: "a.jsonl")] {
            let (items, problems) = try ImageSource.items(at: file)
            let entity = try #require(items.first?.entity)
            #expect(problems.isEmpty && entity.title == "Slow" && entity.type == "LP" && entity.labels == ["x", "y"])
            #expect(entity.attributes == ["Year": "1998"])
        }
        // Two of a kind are no slip.
        let both = try folder.write(Data("id,image,title,Title\na,a.png,one,two\n".utf8), to: "both.csv")
        let entity = try #require(try ImageSource.items(at: both).items.first?.entity)
        #expect(entity.title == "one" && entity.attributes == ["Title": "two"])
    }

    @Test func attributesMayBeAnObject() throws {
        let folder = try TemporaryFolder()
        let line =
            #"{"id": "a", "image": "a.png", "year": 1, "attributes": {"year": 1998, "title": "T", "none": null}}"#
        let file = try folder.write(
            Data("\(line)\n{\"id\": \"b\", \"image\": \"b.png\", \"attributes\": 3}".utf8), to: "a.jsonl")
        let (items, problems) = try ImageSource.items(at: file)
        #expect(items.map(\.entity.attributes) == [["year": "1998", "title": "T"]])
        #expect(items.first?.entity.title == nil)
        #expect(problems.map(\.reason) == ["its “attributes” are not an object"])
    }
}
