import Foundation
import Imaging
import TestSupport
import Testing

/// What `index` takes: a folder without what is left out, a list of paths, and a folder that changes.
@Suite(.serialized) struct IndexInputTests {
    private let folder: TemporaryFolder
    private var catalog: String { folder.file("catalog").path }
    private var images: String { folder.file("images").path }

    init() throws {
        folder = try TemporaryFolder()
        for (seed, name) in ["a.png", "x/b.png", "x/@eaDir/b.png", "drafts/c.png"].enumerated() {
            try write(name, seed: seed)
        }
    }

    private func write(_ name: String, seed: Int) throws {
        try folder.write(SampleImage.blocks(seed: UInt64(seed)).pngData(), to: "images/\(name)")
    }

    private func ids() throws -> [String] {
        let lines = try Command.run("catalog", "list", catalog).output.split(separator: "\n")
        return lines.map { String($0.prefix { $0 != "\t" }) }.sorted()
    }

    @Test func patternsLeaveFilesOut() throws {
        let result = try Command.run(
            "index", images, "--catalog", catalog, "--exclude", "drafts/", "--exclude", "*.gif", "--no-local-features")
        #expect(result.status == 0 && result.output == "2 added, 0 updated, 0 unchanged\n", "\(result)")
        #expect(result.errors.contains("note: left out: 1 of “@eaDir/”, 1 of “drafts/”"), "\(result)")
        #expect(try ids() == ["a", "x/b"])
        let empty = try Command.run("index", images, "--catalog", catalog, "--exclude", "/")
        #expect(empty.status == 64 && empty.errors.contains("--exclude needs a pattern"), "\(empty)")
        let manifest = try folder.write("id,image\na,images/a.png\n", to: "m.csv").path
        let useless = try Command.run("index", manifest, "--catalog", catalog, "--exclude", "x")
        #expect(useless.status == 64 && useless.errors.contains("--exclude is for a folder"), "\(useless)")
    }

    @Test func whatIsKnownToBeBadFailsNoRun() throws {
        try folder.write(Data("no image".utf8), to: "images/bad.png")
        try folder.write(Data("none either".utf8), to: "images/x/new.png")
        let list = try folder.write("\(images)/bad.png\r\n\n\(images)/gone.png\n", to: "known.txt").path
        let run = { try Command.run("index", images, "--catalog", catalog, "--known-bad", list) }
        let first = try run()
        #expect(first.status == 3 && first.errors.contains("x/new.png: is of no known image format"), "\(first)")
        #expect(!first.errors.contains("bad.png: "), "\(first)")
        #expect(first.errors.contains("note: known to be bad, and not indexed: 1"), "\(first)")
        #expect(first.output == "3 added, 0 updated, 0 unchanged, 2 not indexed\n", "\(first)")
        try folder.write("\(images)/bad.png\n\(images)/x/new.png", to: "known.txt")
        let second = try run()
        #expect(second.status == 0 && second.output == "0 added, 0 updated, 3 unchanged, 2 not indexed\n", "\(second)")
        let missing = try Command.run("index", images, "--catalog", catalog, "--known-bad", "\(images)/none")
        #expect(missing.status == 1 && missing.errors.contains("none: cannot be read"), "\(missing)")
        // The images of a manifest, wherever their rows are.
        try folder.write("\(images)/bad.png\n", to: "known.txt")
        let rows = ["p,images/a.png|images/bad.png", "q,images/bad.png"]
        for lines in [rows, ["r,images/x/b.png"] + rows] {
            let manifest = try folder.write("id,images\n" + lines.joined(separator: "\n"), to: "m.csv").path
            let found = try Command.run("index", manifest, "--catalog", catalog, "--known-bad", list)
            #expect(found.status == 0 && found.errors.contains("not indexed: 2"), "\(found)")
        }
        let other = try folder.write("id,images\nr,images/x/b.png\ns,images/x/new.png\n", to: "m.csv").path
        let new = try Command.run("index", other, "--catalog", catalog, "--known-bad", list)
        #expect(new.status == 3 && new.errors.contains("new.png: is of no known image format"), "\(new)")
    }

    @Test(arguments: ["\n", "\0"])
    func aListOfPathsIsReadFromStandardInput(end: String) throws {
        let list = ["a.png", "x/b.png", "missing.png"].map { "\(images)/\($0)" }.joined(separator: end)
        let result = try Command.run("index", "-", "--catalog", catalog, input: Data(list.utf8))
        #expect(result.status == 3 && result.output == "2 added, 0 updated, 0 unchanged, 1 not indexed\n", "\(result)")
        #expect(result.errors.contains("missing.png: "), "\(result)")
        let stem = String(images.dropFirst())
        #expect(try ids() == ["\(stem)/a", "\(stem)/x/b"])
        #expect(try Command.run("index", "-", "--catalog", catalog, "--watch").status == 64)
    }

    @Test func aFolderIsWatched() throws {
        let (process, output, errors) = try Command.start(
            ["index", images, "--catalog", catalog, "--watch", "--prune", "--no-local-features"])
        defer { process.terminate() }
        var text = ""
        func expectOutput(_ line: String) {
            while !text.contains(line) {
                let data = output.fileHandleForReading.availableData
                guard !data.isEmpty else { break }
                text += String(decoding: data, as: UTF8.self)
            }
            #expect(text == line, "\(String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self))")
            text = ""
        }
        expectOutput("3 added, 0 updated, 0 unchanged, 0 removed\n")
        try write("new.png", seed: 7)
        expectOutput("1 added, 0 updated, 3 unchanged, 0 removed\n")
        try FileManager.default.removeItem(at: folder.file("images/a.png"))
        expectOutput("0 added, 0 updated, 3 unchanged, 1 removed\n")
        #expect(try ids() == ["drafts/c", "new", "x/b"])
    }
}
