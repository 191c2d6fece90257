import Catalogs
import Foundation
import Imaging
import TestSupport
import Testing

/// Folders and manifests that break naive readers.
struct HostileInputTests {
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"

    @Test func windowsLineEnds() throws {
        let folder = try TemporaryFolder()
        let lines = "\u{FEFF}{\"id\": \"a\", \"image\": \"a.png\"}\r\n\r\n{\"id\": \"b\", \"image\": \"b.png\"}\r\n"
        let (items, problems) = try ImageSource.items(at: folder.write(lines, to: "m.jsonl"))
        #expect(items.map(\.entity.id) == ["a", "b"] && problems.isEmpty)
        #expect(items.last?.origin.hasSuffix("m.jsonl:3") == true)
    }

    /// Foundation takes “link/..” for the folder of the link, and “~” for the user's own.
    @Test func pathsAreReadAsTheSystemDoes() throws {
        let folder = try TemporaryFolder()
        for name in ["real/sub/x.png", "real/covers/real.png", "here/covers/wrong.png", "here/~/home.png"] {
            try folder.write(SampleImage.blocks(seed: 1).pngData(), to: name)
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("here/link").path, withDestinationPath: "../real/sub")
        let manifest = try folder.write(
            "id,image\na,link/../covers/real.png\nb,~/home.png\nc,./covers/../covers/wrong.png\nd,link/x.png\n"
                + "e,missing/../covers/wrong.png\n",
            to: "here/m.csv")
        let images = try ImageSource.items(at: manifest).items.map(\.entity.image)
        let here = folder.file("here").path
        let real = try #require(realpath(folder.file("real").path, nil).map { String(cString: $0) })
        #expect(images[0] == real + "/covers/real.png")
        #expect(images[1] == here + "/~/home.png" && images[3] == here + "/link/x.png")
        #expect(images.dropLast().allSatisfy { access($0, R_OK) == 0 }, "\(images)")
        #expect(access(try #require(images.last), F_OK) != 0)
        let behind = URL(fileURLWithPath: here + "/link/../covers")
        #expect(try ImageSource.items(at: behind).items.map(\.entity.id) == ["real"])
    }

    /// One of the values was lost.
    @Test func keysThatAreTheSame() throws {
        let folder = try TemporaryFolder()
        let keys = [("k", "k"), (Self.composed, Self.decomposed), ("a:b", "a{b")]
        let lines = keys.map { "{\"id\": \"x\", \"image\": \"x.png\", \"\($0.0)\": {\"n\": 1}, \"\($0.1)\": 2}" }
        let (items, problems) = try ImageSource.items(
            at: folder.write(lines.joined(separator: "\n"), to: "m.jsonl"))
        #expect(items.map(\.entity.attributes.count) == [2])
        #expect(problems.map(\.reason) == ["has the key “k” twice", "has the key “\(Self.decomposed)” twice"])
    }

    /// The last value of a key within an object was taken silently.
    @Test func keysThatAreTheSameWithinAnObject() throws {
        for (text, key) in [
            (#"{"a": {"b": 1, "c": [{"b": 1}], "b": 2}}"#, "b"), (#"[{"a": 1}, {"x": 1, "\u0078": 2}]"#, "x"),
            (#"{"a\"b": "}", "a\"b": 1}"#, "a\"b"), (#"{"a": 1, "b": {"a": 1}, "c": ["a", "a"]}"#, nil),
            (#"{"a": "a", "b": "\\", "c": ":,{"}"#, nil), (#"{"a": 1, "a"#, nil), (#"{"\u12": 1, "\u12": 1}"#, nil),
            ("}]{,\"", nil), (#"{}"x""#, nil), (#"{"a": {}"a": 1}"#, nil),
        ] {
            #expect(JSONShape(Data(text.utf8)).repeatedKey == key, "\(text)")
        }
        let folder = try TemporaryFolder()
        let line = #"{"id": "x", "image": "x.png", "attributes": {"size": 1, "size": 2}}"#
        let (items, problems) = try ImageSource.items(at: folder.write(line, to: "m.jsonl"))
        #expect(items.isEmpty && problems.map(\.reason) == ["has the key “size” twice"])
        #expect(throws: IndexProblem.self) { try EntityChanges(json: #"[{"id": "x", "a": 1, "a": 2}]"#) }
    }

    @Test func labelsOfSeveralLines() throws {
        let folder = try TemporaryFolder()
        let table = "id,image,labels\na,a.png,\"rock;\nmodern; ;\n\"\n"
        let (items, _) = try ImageSource.items(at: folder.write(table, to: "m.csv"))
        #expect(items.map(\.entity.labels) == [["rock", "modern"]])
    }

    @Test func textWithNUL() throws {
        let folder = try TemporaryFolder()
        try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "a.png")
        let lines = #"""
            {"id": "a\u0000b", "image": "a.png"}
            {"id": "t", "image": "a.png", "title": "x\u0000y"}
            {"id": "k", "image": "a.png", "x\u0000y": 1}
            {"id": "good", "image": "a.png"}
            """#
        let (items, problems) = try ImageSource.items(at: folder.write(lines, to: "m.jsonl"))
        #expect(items.map(\.entity.id) == ["good"])
        #expect(problems.map(\.reason) == Array(repeating: "contains a NUL character", count: 3))
        #expect(problems.first?.subject.hasSuffix("m.jsonl:1") == true)
        let table = "id,image,title\na\0b,a.png,\nt,a.png,x\0y\ngood,a.png,\n"
        let (rows, rowProblems) = try ImageSource.items(at: folder.write(table, to: "m.csv"))
        #expect(rows.map(\.entity.id) == ["good"])
        #expect(rowProblems.map(\.reason) == Array(repeating: "contains a NUL character", count: 2))
        // An app's own items too.
        let item = IndexItem(
            entity: CatalogEntity(id: "a\0b", image: folder.file("a.png").path), origin: "the app")
        let report = try CatalogIndexer(at: folder.file("catalog")).index([item] + items)
        #expect(report.added == 1 && report.problems.map(\.description) == ["the app: contains a NUL character"])
    }

    @Test func idsWithTheSameCharactersAndOtherBytes() async throws {
        let folder = try TemporaryFolder()
        for (name, seed) in [(Self.composed, 1), (Self.decomposed, 2)] {
            try folder.write(SampleImage.blocks(seed: UInt64(seed)).pngData(), to: "images/\(name).png")
        }
        let (items, problems) = try ImageSource.items(at: folder.file("images"))
        #expect(items.count == 2 && problems.isEmpty)
        let url = folder.file("catalog")
        #expect(try CatalogIndexer(at: url).index(items).added == 2)
        #expect(try CatalogIndexer(at: url).index(items).unchanged == 2)
        let ids = try await Catalog(at: url).entities(for: [Self.decomposed, Self.composed]).map { Array($0.id.utf8) }
        #expect(ids == [Array(Self.decomposed.utf8), Array(Self.composed.utf8)])
        try CatalogIndexer(at: url).removeAll([Self.decomposed])
        #expect(try await Catalog(at: url).entities(for: [Self.decomposed, Self.composed]).count == 1)
        #expect(throws: CatalogError.self) { try CatalogIndexer(at: url).removeAll([Self.decomposed]) }
    }

    @Test func itemsWithOneIdInOneRun() throws {
        let fixture = try CatalogFixture(count: 2)
        let (items, _) = try ImageSource.items(at: fixture.images)
        let report = try CatalogIndexer(at: fixture.catalog).index(items + items)
        #expect(report.added == 2)
        #expect(try Catalog(at: fixture.catalog).count == 2)
    }

    @Test func deepNestingIsRefusedAndBracketsInTextAreNot() throws {
        let folder = try TemporaryFolder()
        let deep = String(repeating: "[", count: 400) + String(repeating: "]", count: 400)
        let text = String(repeating: "[{", count: 400)
        let lines = """
            {"id": "deep", "image": "a.png", "x": \(deep)}
            {"id": "flat", "image": "a.png", "x": "\\"\(text)", "y": [[[1]]]}
            """
        let (items, problems) = try ImageSource.items(at: folder.write(lines, to: "m.jsonl"))
        #expect(items.map(\.entity.id) == ["flat"])
        #expect(problems.map(\.reason) == ["is nested deeper than 32 levels"])
    }

    @Test func pathsThatAreTooLong() throws {
        let folder = try TemporaryFolder()
        try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "images/a.png")
        // Made from inside: no path to the innermost folder is short enough for the system.
        let name = String(repeating: "d", count: 200)
        var current = open(folder.file("images").path, O_RDONLY | O_DIRECTORY)
        for _ in 0..<25 {
            #expect(mkdirat(current, name, 0o755) == 0)
            let next = openat(current, name, O_RDONLY | O_DIRECTORY)
            close(current)
            current = next
        }
        close(current)
        defer {
            // FileManager cannot remove it.
            _ = system("rm -rf '\(folder.file("images").path)'")
        }
        let (items, problems) = try ImageSource.items(at: folder.file("images"))
        #expect(items.map(\.entity.id) == ["a"])
        #expect(problems.count == 1 && problems[0].reason.contains("File name too long"), "\(problems)")
    }

    /// The images of a folder are counted and indexed without being listed in memory.
    @Test func aFolderIsReadAsItIsNeeded() throws {
        let fixture = try CatalogFixture(count: 5)
        let entries = try ImageSource.entries(at: fixture.images)
        #expect(entries.itemCount == 5)
        try fixture.write(5, seed: 5)
        #expect(entries.itemCount == 6)
        #expect(try CatalogIndexer(at: fixture.catalog).index(entries).added == 6)
    }

    /// A file of an image's name is to be an image.
    @Test func aFolderMayHaveImagesOfAllFormats() throws {
        let folder = try TemporaryFolder()
        let names = [
            "avif", "gif", "HEIC", "heif", "hif", "jpe", "jpeg", "JPG", "jfif", "JIF", "pjpeg", "mpo", "png", "tif",
            "tiff", "webp",
        ]
        for name in names + ["bmp", "txt"] { try folder.write("no image", to: "images/\(name)-image.\(name)") }
        let (items, problems) = try ImageSource.items(at: folder.file("images"))
        #expect(Set(items.map(\.entity.id)) == Set(names.map { "\($0)-image" }))
        #expect(problems.isEmpty)
    }

    /// A file of another name is an image if it begins like one.
    @Test func aFolderMayHaveImagesOfAnyName() throws {
        let folder = try TemporaryFolder()
        let jpeg = try SampleImage.blocks(seed: 1).jpegData(), png = try SampleImage.blocks(seed: 2).pngData()
        for name in ["scan", "page.1", "cover.image", "IMG.DAT"] { try folder.write(jpeg, to: "images/\(name)") }
        for name in ["notes.txt", "BMW", "empty.dat", "list.csv"] {
            try folder.write("BM is no image", to: "images/\(name)")
        }
        try folder.write(png, to: "images/sub/logo.orig")
        try folder.write(png, to: "images/.hidden")
        // A header of 40 bytes follows that of a BMP file.
        let bitmap = Data("BM".utf8) + Data(count: 12) + Data([40, 0, 0, 0]) + Data(count: 40)
        try folder.write(bitmap, to: "images/old.bmp")
        let entries = try ImageSource.entries(at: folder.file("images"))
        let (items, problems) = try ImageSource.items(at: folder.file("images"))
        #expect(items.map(\.entity.id) == ["IMG", "cover", "page", "scan", "sub/logo"])
        #expect(problems.count == 1 && problems[0].description.contains("old.bmp: is a BMP; PNG"), "\(problems)")
        #expect(entries.count() == (5, 1, ["4 files that are no images were skipped"]))
    }

    @Test func imagesWhoseNamesDifferInTheExtensionHaveTheSameID() throws {
        let folder = try TemporaryFolder()
        for name in ["a.png", "a.jpg", "a.jpg.png", "a.webp", "b/a.gif", "A.jpg", "a.b.jpg", "a.b"] {
            try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "images/\(name)")
        }
        let (items, problems) = try ImageSource.items(at: folder.file("images"))
        let ids = items.map { ($0.entity.id, $0.entity.image.split(separator: "/").last.map(String.init) ?? "") }
        #expect(
            Dictionary(uniqueKeysWithValues: ids) == [
                "a": "a.b", "a.jpg": "a.jpg.png", "a.b": "a.b.jpg", "A": "A.jpg", "b/a": "a.gif",
            ])
        #expect(problems.map { $0.subject.split(separator: "/").last } == ["a.jpg", "a.png", "a.webp"])
        #expect(problems.allSatisfy { $0.reason.contains("the same id “a” as \(folder.file("images/a.b").path)") })
    }

    @Test func nothingIsCalledIndexedBesideAnUnreadableImageOfItsID() throws {
        let folder = try TemporaryFolder()
        try folder.write(Data([0xFF, 0xD8, 0xFF]), to: "images/a.jpg")
        try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "images/a.png")
        let report = try CatalogIndexer(at: folder.file("catalog")).index(
            ImageSource.entries(at: folder.file("images")))
        #expect((report.added, report.failed) == (0, 2))
        let reason = "has the same id “a” as \(folder.file("images/a.jpg").path), and one of them alone can have it. "
        #expect(report.problems.map(\.reason).contains(reason + "Rename one of them."))
    }

    @Test func anIDStaysWithItsImageWhenANeighborComesOrGoes() throws {
        let folder = try TemporaryFolder()
        let (images, url) = (folder.file("images"), folder.file("catalog"))
        try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "images/a.png")
        func index() throws -> IndexReport {
            let report = try CatalogIndexer(at: url).index(ImageSource.entries(at: images))
            let catalog = try Catalog(at: url)
            #expect(catalog.count == 1)
            return report
        }
        #expect(try index().added == 1)
        try folder.write(SampleImage.blocks(seed: 2).pngData(), to: "images/a.jpg")
        for _ in 0..<2 {
            let report = try index()
            #expect((report.unchanged, report.failed, report.updated) == (1, 1, 0))
            #expect(report.problems.first?.description.contains("a.png: has the same id “a” as") == true)
            #expect(report.problems.first?.description.contains("/a.jpg, ") == true && report.notes.isEmpty)
        }
        try FileManager.default.removeItem(at: images.appendingPathComponent("a.png"))
        let report = try index()
        #expect((report.updated, report.failed) == (1, 0))
        #expect(report.notes.map(\.description).first?.contains("a.jpg: note: has the id “a”, which was") == true)
        #expect(try index().notes.isEmpty)
    }

    @Test func pruningDoesNotEmptyACatalogWhoseDiskIsGone() throws {
        let fixture = try CatalogFixture(count: 3)
        try fixture.index()
        try FileManager.default.removeItem(at: fixture.images)
        let indexer = try CatalogIndexer(at: fixture.catalog)
        let error = #expect(throws: CatalogError.self) { try indexer.prune() }
        #expect(error?.reason == .allImagesMissing(count: 3))
        #expect(try Catalog(at: fixture.catalog).count == 3)
        #expect(try indexer.prune(evenIfAll: true).count == 3)
        #expect(try indexer.prune().isEmpty && Catalog(at: fixture.catalog).count == 0)
    }
}
