import Foundation
import Imaging
import TestSupport
import Testing

/// `--where`, `--type` and `--label` of the commands that have them.
@Suite(.serialized) struct ConditionOptionTests {
    private let folder: TemporaryFolder
    private var catalog: String { folder.file("catalog").path }

    init() throws {
        folder = try TemporaryFolder()
        for index in 0..<4 {
            try folder.write(SampleImage.blocks(seed: UInt64(index)).pngData(), to: "i\(index).png")
        }
        let manifest = try folder.write(
            """
            id,image,type,title,subtitle,labels,price,sold
            a,i0.png,album,Slow Meridian,Delta Wren,jazz;live,9.90,
            b,i1.png,album,Low Tide,Delta Wren,jazz,25,
            c,i2.png,single,Night Bus,Juno Vale,live;jazz,12,yes
            d,i3.png,poster,Night Bus,,,120,
            """, to: "m.csv")
        let result = try Command.run("index", manifest.path, "--catalog", catalog)
        #expect(result.status == 0, "\(result.errors)")
    }

    private func ids(_ options: String...) throws -> [String] {
        let result = try Command.run(["catalog", "list", catalog] + options)
        #expect(result.status == 0, "\(result.errors)")
        return result.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    }

    @Test func listsWhatSatisfiesAllOptions() throws {
        #expect(try ids("--where", #"price < 20 and subtitle = "Delta Wren""#) == ["a"])
        #expect(try ids("--where", "price < 20", "--where", "price > 10") == ["c"])
        #expect(try ids("--type", "single", "--type", "poster") == ["c", "d"])
        #expect(try ids("--label", "jazz") == ["a", "b", "c"])
        #expect(try ids("--label", "jazz", "--label", "live") == ["a", "c"])
        #expect(try ids("--label", "live", "--type", "album", "--where", "price in 9..10") == ["a"])
        #expect(try ids("--where", "") == ["a", "b", "c", "d"])
        #expect(try ids("--limit", "2") == ["a", "b"])
        #expect(try ids("--limit", "1", "--type", "poster") == ["d"])
        #expect(try ids("--limit", "0").isEmpty)
        #expect(try Command.run("catalog", "list", catalog, "--limit=-1").status == 64)
    }

    @Test func searchesAmongTheEntitiesOfACondition() throws {
        func found(_ options: String...) throws -> [String] {
            struct Answer: Decodable {
                struct Result: Decodable { let id: String }
                let results: [Result]
            }
            let result = try Command.run(
                ["search", "--catalog", catalog, "--json", "--max-distance", "2", folder.file("i0.png").path] + options)
            #expect(result.status == 0, "\(result.errors)")
            return try JSONDecoder().decode(Answer.self, from: Data(result.output.utf8)).results.map(\.id)
        }
        #expect(try found().count == 4)
        #expect(try found("--type", "single") == ["c"])
        #expect(try Set(found("--where", "price > 20")) == ["b", "d"])
        #expect(try found("--where", "price > 20", "--label", "jazz", "--limit", "1") == ["b"])
    }

    @Test func exportsTheEntitiesOfACondition() throws {
        let output = folder.file("out")
        let result = try Command.run(
            "catalog", "export", catalog, "--output", output.path, "--where", "price < 20", "--label", "live")
        #expect(result.status == 0 && result.output.hasPrefix("2 entities written to "), "\(result)")
        func ids(_ file: String) throws -> [String] {
            struct Line: Decodable { let id: String }
            return try String(contentsOf: output.appendingPathComponent(file), encoding: .utf8).split(separator: "\n")
                .map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)).id }
        }
        #expect(try ids("entities.jsonl") == ["a", "c"])
        #expect(try ids("features.jsonl").allSatisfy { ["a", "c"].contains($0) })
        let prints = try Data(contentsOf: output.appendingPathComponent("prints.npy"))
        #expect(String(decoding: prints.prefix(128), as: UTF8.self).contains("'shape': (2, "))
    }

    @Test func removesTheEntitiesOfACondition() throws {
        let none = try Command.run("catalog", "remove", catalog, "--where", "price > 1000")
        #expect(none.status == 0 && none.output == "0 removed\n", "\(none)")
        let result = try Command.run("catalog", "remove", catalog, "--where", "price < 20", "--type", "album")
        #expect(result.status == 0 && result.output == "1 removed\n", "\(result)")
        #expect(result.errors.contains("1 of 4 entities will be removed"), "\(result)")
        #expect(try ids() == ["b", "c", "d"])
        for condition in ["", "exists price", "price > 0 or price < 1"] {
            let all = try Command.run("catalog", "remove", catalog, "--where", condition)
            #expect(all.status == 1 && all.errors.contains("selects all 3 entities; nothing was removed"), "\(all)")
        }
        #expect(try ids() == ["b", "c", "d"])
        let forced = try Command.run("catalog", "remove", catalog, "--where", "exists price", "--force")
        #expect(forced.output == "3 removed\n" && forced.status == 0, "\(forced)")
        #expect(try ids().isEmpty)
    }

    /// A type that no entity has at present is an error only where it could remove all others.
    @Test func unknownNamesAreErrors() throws {
        let output = folder.file("out").path
        for (options, status) in [(["--where", "prise != 12"], 1), (["--type", "albun"], 0)] {
            for command in [["list"], ["remove"], ["export", "--output", output], ["duplicates"], ["search"]] {
                let arguments =
                    command == ["search"]
                    ? ["search", folder.file("i0.png").path, "--catalog", catalog]
                    : ["catalog", command[0], catalog] + command.dropFirst()
                let result = try Command.run(arguments + options)
                #expect(result.status == (command == ["remove"] ? 1 : status), "\(command): \(result)")
                #expect(result.errors.contains("; did you mean “"), "\(command): \(result)")
            }
        }
        #expect(try ids("--type", "ALBUM") == ["a", "b"])
        #expect(try ids("--where", "PRICE < 10") == ["a"])
        #expect(try ids("--where", "not exists prise").count == 4)
    }

    @Test func removesNoMoreThanExpected() throws {
        let few = try Command.run("catalog", "remove", catalog, "--where", "price < 20", "--at-most", "1")
        #expect(few.status == 1 && few.errors.contains("selects 2, more than --at-most 1"), "\(few)")
        #expect(try ids().count == 4)
        let enough = try Command.run("catalog", "remove", catalog, "--where", "price < 20", "--at-most", "2")
        #expect(enough.status == 0 && enough.output == "2 removed\n", "\(enough)")
        #expect(try Command.run("catalog", "remove", catalog, "b", "--at-most", "1").status == 64)
    }

    @Test func removingNeedsIdsOrACondition() throws {
        let neither = try Command.run("catalog", "remove", catalog)
        #expect(neither.status == 64 && neither.errors.contains("ids, or --where, --type or --label"), "\(neither)")
        let both = try Command.run("catalog", "remove", catalog, "a", "--type", "album")
        #expect(both.status == 64 && both.errors.contains("not by both"), "\(both)")
        #expect(try ids().count == 4)
    }

    @Test func aConditionThatIsNoneIsRefusedWithWhatWasExpected() throws {
        for (text, words) in [
            ("price <", "expected a value, found the end"), ("price ~ 3", "has to stand in quotes"),
            ("price < cheap", "expected numbers, or dates such as 1969-07-20, found “cheap”"),
            ("price < 3 type = album", "expected “and”, “or” or the end, found “type”"),
        ] {
            for arguments in [
                ["search", "--catalog", catalog, "x.png"], ["catalog", "list", catalog],
                ["catalog", "remove", catalog],
                ["catalog", "export", catalog, "--output", folder.file("out").path],
            ] {
                let result = try Command.run(arguments + ["--where", text])
                #expect(result.status == 64 && result.errors.contains(words), "\(result)")
            }
        }
        #expect(try ids().count == 4)
    }

    @Test func helpShowsACondition() throws {
        let help = try Command.run("search", "--help").output
        #expect(help.contains("lookalike search --catalog catalog/ --where 'price < 20' photo.jpg"), "\(help)")
    }
}
