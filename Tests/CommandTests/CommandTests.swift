import Foundation
import Imaging
import TestSupport
import Testing

@Suite(.serialized) struct CommandTests {
    private static func folder(_ count: Int = 5) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for index in 0..<count {
            try folder.write(SampleImage.blocks(seed: UInt64(index)).pngData(), to: "images/i\(index).png")
        }
        return folder
    }

    private struct Answer: Decodable {
        struct Result: Decodable {
            let id: String
            let distance: Double
            let image: String
            let title: String?
        }
        let query: String
        let results: [Result]
    }

    @Test func indexesSearchesAndEvaluates() throws {
        let folder = try Self.folder()
        let (images, catalog) = (folder.file("images").path, folder.file("catalog").path)
        let first = try Command.run("index", images, "--catalog", catalog, "--timings")
        #expect(first.status == 0 && first.output == "5 added, 0 updated, 0 unchanged\n")
        for stage in ["decode", "resize", "network"] { #expect(first.errors.contains(stage)) }
        #expect(try Command.run("index", images, "--catalog", catalog).output == "0 added, 0 updated, 5 unchanged\n")

        let query = folder.file("images/i2.png")
        let found = try Command.run(
            "search", "--catalog", catalog, "--json", "--limit", "2", "--max-distance", "2", "--timings", query.path,
            query.path)
        #expect(found.status == 0 && found.errors.contains("search"))
        let lines = found.output.split(separator: "\n")
        #expect(lines.count == 2)
        let answer = try JSONDecoder().decode(Answer.self, from: Data(lines[0].utf8))
        #expect(answer.query == query.path && answer.results.map(\.id).first == "i2" && answer.results.count == 2)
        #expect(answer.results[0].distance == 0 && answer.results[0].image == query.path)

        let piped = try Command.run("search", "--catalog", catalog, "--json", "-", input: Data(contentsOf: query))
        #expect(try JSONDecoder().decode(Answer.self, from: Data(piped.output.utf8)).results.first?.id == "i2")

        let unknown = try folder.write(SampleImage.blocks(seed: 77).pngData(), to: "unknown.png")
        let none = try Command.run("search", "--catalog", catalog, "--json", "--max-distance", "0", unknown.path)
        #expect(none.status == 0)
        #expect(try JSONDecoder().decode(Answer.self, from: Data(none.output.utf8)).results.isEmpty)
        #expect(
            try Command.run("search", "--catalog", catalog, "--max-distance", "0", unknown.path).output.contains(
                "no match"))

        let queries = try folder.write(
            (0..<5).map { "{\"query\":\"images/i\($0).png\",\"target\":\"i\($0)\"}" }.joined(separator: "\n")
                + "\n{\"query\":\"unknown.png\",\"target\":null}\n",
            to: "queries.jsonl")
        let figures = try Command.run("evaluate", "--catalog", catalog, "--queries", queries.path)
        #expect(figures.status == 0)
        let rows = figures.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        // Queries, recall@1, recall@10, share, candidates@20, accepted, wrong.
        let expected = ["all", "5", "1.000", "1.000", "1.000", "1.000", "1.000", "0.000"]
        #expect(rows.contains(expected), "\(figures.output)")
        #expect(rows.contains(["micro-average", "precision", "1.000"]), "\(figures.output)")
    }

    @Test func saysWhichImageOfAnEntityMatches() throws {
        let folder = try Self.folder(3)
        let catalog = folder.file("catalog").path
        let manifest = try folder.write(
            "id,images,title\na,images/i0.png|images/i1.png,A\nb,images/i2.png,B\n", to: "list.csv")
        let indexed = try Command.run("index", manifest.path, "--catalog", catalog)
        #expect(indexed.status == 0 && indexed.output == "2 added, 0 updated, 0 unchanged\n")
        let info = try Command.run("catalog", "info", catalog).output
        #expect(info.hasPrefix("entities        2\nimages          3\n"))
        #expect(try Command.run("catalog", "verify", catalog).output == "2 entities, all intact\n")
        let query = folder.file("images/i1.png").path
        let found = try Command.run(
            "search", "--catalog", catalog, "--json", "--max-distance", "2", "--sheet", folder.file("a.html").path,
            query)
        let results = try JSONDecoder().decode(Answer.self, from: Data(found.output.utf8)).results
        #expect(results.map(\.id) == ["a", "b"] && results.first?.image == query)
        #expect(try String(contentsOf: folder.file("a.html"), encoding: .utf8).contains(">i1.png</span>"))
        let text = try Command.run("search", "--catalog", catalog, "--max-distance", "2", query).output
        #expect(text.contains("a  A  [i1.png]\n") && text.contains("b  B\n"), "\(text)")
        try folder.write("broken", to: "images/i0.png")
        let partly = try Command.run("index", manifest.path, "--catalog", catalog)
        #expect(partly.status == 3 && partly.output == "0 added, 0 updated, 2 unchanged, 1 not indexed\n")
        #expect(partly.errors.contains("list.csv:2: \(folder.file("images/i0.png").path): is of no known image format"))
    }

    @Test func saysWhatIsWrongAndHowItEnded() throws {
        let folder = try Self.folder(2)
        let (images, catalog) = (folder.file("images").path, folder.file("catalog").path)
        let missing = try Command.run("search", "--catalog", catalog, "x.png")
        #expect(missing.status == 1 && missing.errors.contains("holds no catalog; index images"))
        try folder.write("broken", to: "images/broken.jpg")
        let partly = try Command.run("index", images, "--catalog", catalog)
        #expect(partly.status == 3 && partly.errors.contains("broken.jpg: is of no known image format"))
        #expect(partly.output.contains("2 added") && partly.output.contains("1 not indexed"))
        let unread = try Command.run(
            "search", "--catalog", catalog, "--json", folder.file("images/i0.png").path, "nowhere.png")
        #expect(unread.status == 3 && unread.errors.contains("nowhere.png: cannot be read"))
        #expect(unread.output.split(separator: "\n").count == 1)
        #expect(try Command.run("search", "--catalog", catalog, "--limit", "-1", "x.png").status == 64)
        #expect(try Command.run("search", "--catalog", catalog, "--max-objects", "0", "x.png").status == 64)
        #expect(try Command.run("index", folder.file("nothing").path, "--catalog", catalog).status == 1)
    }

    /// The network has no output for black images.
    @Test func anImageWithoutAPrintEndsNoCommand() throws {
        let folder = try TemporaryFolder()
        let model = try folder.write(SafeTensorsBuilder.withoutNormalization().data, to: "m.safetensors").path
        let files = try [("red", UInt8(255)), ("black", 0), ("other", 255)].map { name, value in
            let pixels = [[UInt8]](repeating: [value, 0, 0], count: 16).flatMap(\.self)
            let image = try PixelBuffer(pixels, width: 4, height: 4, format: .rgb8)
            return try folder.write(image.pngData(), to: "images/\(name).png").path
        }
        let catalog = folder.file("catalog").path
        let images = folder.file("images").path
        #expect(try Command.run("index", images, "--catalog", catalog, "--model", model).status == 3)
        let queries = try folder.write(
            files.map { "{\"query\": \"\($0)\", \"target\": \"red\"}\n" }.joined(), to: "q.jsonl"
        ).path
        for (arguments, lines) in [
            (["embed", "--model", model] + files, 2),
            (["search", "--catalog", catalog, "--json"] + files, 2),
            (["evaluate", "--catalog", catalog, "--queries", queries, "--answers", folder.file("a").path], nil),
        ] {
            let result = try Command.run(arguments)
            #expect(result.status == 3, "\(result)")
            #expect(result.errors.contains("images/black.png: ") && !result.errors.contains("Error:"), "\(result)")
            if let lines { #expect(result.output.split(separator: "\n").count == lines, "\(result)") }
        }
        #expect(try String(contentsOf: folder.file("a"), encoding: .utf8).split(separator: "\n").count == 2)
    }

    /// Before an hour of work, not after it.
    @Test func aFileThatCannotBeWrittenIsReportedAtOnce() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("nowhere/x").path
        for arguments in [
            ["search", "--catalog", "x", "--sheet", file, "x.png"], ["embed", "--output", file, "x.png"],
            ["evaluate", "--catalog", "x", "--queries", "x", "--answers", file],
        ] {
            let result = try Command.run(arguments)
            let words = "there is no folder \(folder.file("nowhere").path)"
            #expect(result.status == 64 && result.errors.contains(words), "\(result)")
        }
    }

    @Test func anIndexRunEndsWithASummary() throws {
        let folder = try Self.folder(3)
        for (name, bytes) in [("a.jpg", "broken"), ("b.jpg", "broken"), ("c.png", "")] {
            try folder.write(bytes, to: "images/\(name)")
        }
        let result = try Command.run(
            "index", folder.file("images").path, "--catalog", folder.file("catalog").path, "--jobs", "1")
        let lines = result.errors.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("6 images in ") && $0.hasSuffix(" per second") }, "\(result.errors)")
        let reasons = lines.drop { $0 != "not indexed:" }.dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(reasons.count == 2 && reasons[1] == "1  is empty", "\(result.errors)")
        #expect(reasons[0].hasPrefix("2  is of no known image format"))
    }

    @Test func precisionAndThreadsAreChosenByOption() throws {
        let folder = try Self.folder(1)
        let (images, catalog) = (folder.file("images").path, folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog, "--precision", "float32").status == 0)
        let image = folder.file("images/i0.png").path
        func distance(_ precision: String) throws -> Double {
            let found = try Command.run(
                "search", "--catalog", catalog, "--json", "--effort", "prints", "--crops", "whole", "--precision",
                precision, "--jobs", "1", image)
            return try #require(
                try JSONDecoder().decode(Answer.self, from: Data(found.output.utf8)).results.first?.distance)
        }
        #expect(try distance("float32") == 0)
        #expect(try distance("int8") > 0, "other rounding")
        for precision in ["float32", "int8"] {
            let info = try Command.run("model", "info", "--precision", precision).output
            #expect(
                info.split(separator: "\n").contains {
                    $0.split(separator: " ") == ["precision", Substring(precision)]
                })
        }
        // Each thread has memory of its own; larger numbers overflowed.
        for jobs in ["0", "-1", "1025", "100000000000000000", "1000000000000000000", "9223372036854775807"] {
            let result = try Command.run("embed", "--jobs=\(jobs)", image)
            #expect(result.status == 64 && result.errors.contains("--jobs must be between 1 and 1024"), "\(jobs)")
        }
        #expect(try Command.run("embed", "--precision", "int4", image).errors.contains("int4"))
    }

    @Test func dropsWhatIsGone() throws {
        let folder = try Self.folder(3)
        let (images, catalog) = (folder.file("images").path, folder.file("catalog").path)
        _ = try Command.run("index", images, "--catalog", catalog)
        try FileManager.default.removeItem(at: folder.file("images/i1.png"))
        #expect(try Command.run("index", images, "--catalog", catalog).output.hasPrefix("0 added"))
        #expect(try Command.run("catalog", "list", catalog).output == "i0\ni1\ni2\n")
        #expect(try Command.run("index", images, "--catalog", catalog, "--prune").output.contains("1 removed"))
        #expect(try Command.run("catalog", "remove", catalog, "i0", "i0").output == "1 removed\n")
        #expect(try Command.run("catalog", "remove", catalog, "i0").errors.contains("has no entity “i0”"))
        #expect(try Command.run("catalog", "list", catalog).output == "i2\n")
        #expect(try Command.run("catalog", "verify", catalog).output == "1 entities, all intact\n")
        let info = try Command.run("catalog", "info", catalog).output
        #expect(info.split(separator: "\n").contains { $0.split(separator: " ") == ["entities", "1"] }, "\(info)")
    }

    @Test func printsAndDistances() throws {
        let folder = try Self.folder(2)
        let (a, b) = (folder.file("images/i0.png").path, folder.file("images/i1.png").path)
        struct Line: Decodable { let print: [Float] }
        let lines = try Command.run("embed", a, b).output.split(separator: "\n")
        let prints = try lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)).print }
        let expected = zip(prints[0], prints[1]).reduce(0.0) { $0 + Double($1.0 - $1.1) * Double($1.0 - $1.1) }
            .squareRoot()
        let told =
            Double(try Command.run("distance", a, b).output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
        #expect(abs(told - expected) < 1e-4)
        let file = folder.file("prints.npy").path
        #expect(try Command.run("print", a, b, "--output", file).status == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)).count == 128 + 2 * prints[0].count * 4)
    }

    /// A folder, an image of another folder, and one that is not there, by arguments and by a list.
    @Test func rowsOfPrintsAreNamed() throws {
        let folder = try Self.folder(3)
        try folder.write("no image", to: "images/i1.png")
        let (images, output) = (folder.file("images").path, folder.file("prints.npy"))
        let other = try folder.write(SampleImage.blocks(seed: 9).pngData(), to: "other/b.png").path
        let nowhere = folder.file("nowhere.png").path
        let list = try folder.write("\(images)\r\n\n\(nowhere)\n\(other)", to: "list.txt").path
        let (first, last) = (images + "/i0.png", images + "/i2.png")
        let whole = try Command.run("embed", first, last, other)
        struct Line: Decodable { let image: String; let print: [Float]? }
        func lines(_ text: String) throws -> [Line] {
            try text.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        }
        let prints = try lines(whole.output).compactMap(\.print)
        for arguments in [
            [images, nowhere, other], ["--files-from", list], ["--files-from", "/dev/stdin"], ["--files-from", "-"],
        ] {
            let script = "\"$0\" embed --output \"$@\" < \"$LIST\""
            let result = try Command.run(
                executable: URL(fileURLWithPath: "/bin/sh"),
                ["-c", script, Command.executable.path, output.path] + arguments, environment: ["LIST": list])
            #expect(result.status == 3, "\(result.errors)")
            #expect(result.errors.contains("i1.png: ") && result.errors.contains("nowhere.png: cannot be read"))
            let names = try String(contentsOf: folder.file("prints.jsonl"), encoding: .utf8)
            #expect(try lines(names).map(\.image) == [first, last, other])
            let rows = try Data(contentsOf: output).dropFirst(128)
            #expect(rows == prints.joined().map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) })
        }
        // Somebody else's files, the second one in another encoding.
        for contents in [Data(#"{"id": "a", "image": "a.png"}"#.utf8), Data([0x7B, 0xE9, 0xFF, 0x7D])] {
            let foreign = try folder.write(contents, to: "mine.jsonl")
            let refused = try Command.run("embed", first, "--output", folder.file("mine.npy").path)
            #expect(refused.status == 64 && refused.errors.contains("does not name rows"), "\(refused.errors)")
            #expect(try Data(contentsOf: foreign) == contents)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("mine.npy").path))
        let missing = try Command.run("embed", "--files-from", nowhere).errors
        #expect(missing.contains("nowhere.png: cannot be read: No such"), "\(missing)")
    }

    /// Images of a folder are queries like any others.
    @Test func aFolderIsSearchedFor() throws {
        let folder = try Self.folder(3)
        let (images, catalog) = (folder.file("images").path, folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        let files = (0..<3).map { "\(images)/i\($0).png" }
        let one = try Command.run("search", "--json", "--catalog", catalog, files[0], files[1], files[2])
        #expect(one.output.split(separator: "\n").count == 3)
        #expect(try Command.run("search", "--json", "--catalog", catalog, images).output == one.output)
        let list = try folder.write(files.joined(separator: "\0"), to: "list").path
        #expect(try Command.run("search", "--json", "--catalog", catalog, "--files-from", list).output == one.output)
    }

    /// Repaired, the name would be that of the image beside it.
    @Test func aNameThatIsNotUTF8IsNeverAnotherImage() throws {
        let folder = try TemporaryFolder()
        for name in ["images/c\u{FFFD}", "other"] {
            try folder.write(SampleImage.blocks(seed: 1).pngData(), to: name + ".png")
        }
        for arguments in [
            ["embed", "images"], ["embed", "--files-from", "-"], ["index", "-", "--catalog", "catalog"],
            ["search", "images", "--catalog", "catalog"],
        ] {
            let script = #"cd "$1" && cp other.png $'images/c\xff.png' && printf 'images/c\xff.png' | "$2" "${@:3}""#
            let result = try Command.run(
                executable: "/bin/bash", ["-c", script, "-", folder.url.path, Command.executable.path] + arguments)
            let said = "\(arguments): \(result.output)\(result.errors)"
            #expect(result.status == 3 && result.errors.contains("its name is not UTF-8"), "\(said)")
            // The other image of a folder is read.
            #expect(result.output.contains("c\u{FFFD}.png") == arguments.contains("images"), "\(said)")
        }
    }

    @Test func aSIMDTargetCanBeForced() throws {
        let portable = try Command.run("model", "info", environment: ["LOOKALIKE_SIMD": "portable"])
        #expect(portable.output.contains("SIMD target           portable"))
        #expect(
            try Command.run("model", "info", "nowhere.safetensors").errors.contains(
                "nowhere.safetensors: cannot be read"))
    }

    /// Who names a target wants the same numbers on all machines.
    @Test func anUnknownSIMDTargetIsRefused() throws {
        #expect(
            try Command.run("model", "info", environment: ["LOOKALIKE_SIMD": "PORTABLE"]).output.contains("portable"))
        #expect(try Command.run("model", "info", environment: ["LOOKALIKE_SIMD": ""]).status == 0)
        for name in ["AVX-2", "avx1024", "avx2 ", "none"] {
            let result = try Command.run("model", "info", environment: ["LOOKALIKE_SIMD": name])
            #expect(result.status == 64 && result.output.isEmpty)
            #expect(
                result.errors.contains("LOOKALIKE_SIMD is “\(name)”, and this CPU has portable"), "\(result.errors)")
        }
    }

    @Test func urlsAreNotTakenForPaths() throws {
        let result = try Command.run("embed", "https://example.com/a.jpg")
        #expect(result.status == 3)
        #expect(result.errors.contains("https://example.com/a.jpg: cannot be read: it is a URL"), "\(result.errors)")
    }

    @Test func aRunSaysHowManyFilesAreNoImages() throws {
        let folder = try TemporaryFolder()
        let catalog = folder.file("catalog").path
        try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "images/a.png")
        let whole = try Command.run("index", folder.file("images").path, "--catalog", catalog)
        #expect(whole.status == 0 && !whole.errors.contains("skipped"))
        try folder.write("text", to: "images/readme.txt")
        try folder.write("text", to: "images/sub/list.csv")
        let some = try Command.run("index", folder.file("images").path, "--catalog", catalog, "--checksum")
        #expect(some.status == 0 && some.errors.contains("note: 2 files that are no images were skipped"))
        #expect(some.output.contains("0 added, 0 updated, 1 unchanged"))
    }

    /// Kills an index run at many moments; whatever is left opens, verifies and is finished by the next run.
    @Test func survivesBeingKilledAtAnyMoment() throws {
        let folder = try TemporaryFolder()
        let count = 60
        for index in 0..<count {
            try folder.write(
                SampleImage.blocks(seed: UInt64(index), width: 200, height: 160).pngData(), to: "images/i\(index).png")
        }
        let (images, catalog) = (folder.file("images").path, folder.file("catalog").path)
        var random = SeededGenerator(seed: 15)
        var kills = 0
        for _ in 0..<14 {
            let (process, _, _) = try Command.start(["index", images, "--catalog", catalog, "--jobs", "1"])
            usleep(UInt32.random(in: 0...400_000, using: &random))
            if process.isRunning { kills += 1 }
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            let verdict = try Command.run("catalog", "verify", catalog)
            // Killed before there was anything to open is the one exception.
            #expect(
                verdict.status == 0 || verdict.errors.contains("holds no catalog"),
                "seed 15: \(verdict.output)\(verdict.errors)")
        }
        #expect(kills > 0, "no run was still going when it was to be killed")
        let finished = try Command.run("index", images, "--catalog", catalog)
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(try Command.run("catalog", "list", catalog).output.split(separator: "\n").count == count)
        #expect(try Command.run("catalog", "verify", catalog).output == "\(count) entities, all intact\n")
    }

    @Test func aSecondWriterIsTurnedAway() throws {
        let folder = try Self.folder(1)
        let (images, catalog) = (folder.file("images").path, folder.file("catalog").path)
        _ = try Command.run("index", images, "--catalog", catalog)
        let lock = open(catalog + "/writer.lock", O_RDWR)
        #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        let second = try Command.run("index", images, "--catalog", catalog)
        #expect(second.status == 1 && second.errors.contains("another indexer is writing"))
        #expect(
            try Command.run("search", "--catalog", catalog, images + "/i0.png").status == 0,
            "readers are not turned away")
        close(lock)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
    }
}
