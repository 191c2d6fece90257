import Catalogs
import DefaultModel
import FeaturePrints
import Foundation
import Imaging
import LocalFeatures
import TestSupport
import Testing

/// `lookalike worker`, as a program that uses it sees it.
struct WorkerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private struct Message {
        let header: [String: Any]
        let payload: Data

        var id: Int? { header["id"] as? Int }
        var error: [String: String]? { header["error"] as? [String: String] }
    }

    private static func frame(_ header: String, _ payload: Data = Data()) -> Data {
        var data = Data()
        for length in [header.utf8.count, payload.count] {
            withUnsafeBytes(of: UInt32(length).littleEndian) { data.append(contentsOf: $0) }
        }
        return data + Data(header.utf8) + payload
    }

    private static func messages(_ data: Data) throws -> [Message] {
        var (messages, rest) = ([Message](), data)
        func number(_ offset: Int) -> Int {
            rest.dropFirst(offset).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        while !rest.isEmpty {
            try #require(rest.count >= 8)
            let (length, payload) = (number(0), number(4))
            try #require(rest.count >= 8 + length + payload)
            let header = try JSONSerialization.jsonObject(with: rest.dropFirst(8).prefix(length))
            messages.append(
                Message(
                    header: try #require(header as? [String: Any]),
                    payload: Data(rest.dropFirst(8 + length).prefix(payload))))
            rest = rest.dropFirst(8 + length + payload)
        }
        return messages
    }

    /// Runs a worker over all of the input.
    private func work(_ arguments: [String] = [], _ input: Data) throws -> (
        messages: [Message], status: Int32, errors: String
    ) {
        let requests = try folder.write(input, to: "requests")
        let result = try Command.run(
            executable: "/bin/sh",
            ["-c", "exec \"$@\" <\"$0\" >\"$0.out\"", requests.path, Command.executable.path, "worker"] + arguments)
        let answers = try Data(contentsOf: URL(fileURLWithPath: requests.path + ".out"))
        return (try Self.messages(answers), result.status, result.errors)
    }

    private static func print(_ message: Message) -> [Float] {
        let count = message.header["print"] as? Int ?? 0
        return message.payload.prefix(count).withUnsafeBytes { bytes in
            (0..<(count / 4)).map {
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)))
            }
        }
    }

    private static let images = (0..<5).map { SampleImage.shapes(seed: UInt64($0), width: 300, height: 260) }

    @Test func printsAreThoseOfTheLibraryAndInOrder() throws {
        let model = try FeaturePrintModel.default()
        var input = Data()
        for number in 0..<100 {
            let png = try Self.images[number % 5].pngData()
            if number % 2 == 0 {
                input += Self.frame(#"{"id": \#(number), "request": "embed"}"#, png)
            } else {
                let path = try folder.write(png, to: "\(number % 5).png").path
                input += Self.frame(#"{"id": \#(number), "request": "embed", "path": "\#(path)"}"#)
            }
        }
        let expected = try model.featurePrints(for: Self.images).map(\.vector)
        for jobs in ["1", "3"] {
            let (messages, status, errors) = try work(["--jobs", jobs], input)
            #expect(status == 0 && errors.isEmpty, "\(errors)")
            let greeting = try #require(messages.first?.header)
            #expect(greeting["protocol"] as? Int == 1)
            #expect(greeting["dimension"] as? Int == model.dimension)
            #expect((greeting["model"] as? [String: String])?["digest"] == model.identity.digest)
            #expect(messages.dropFirst().map(\.id) == (0..<100).map { $0 })
            for (number, message) in messages.dropFirst().enumerated() {
                #expect(message.payload.count == 4 * model.dimension)
                #expect(Self.print(message) == expected[number % 5])
            }
        }
    }

    /// What a catalog stores of the same image.
    @Test func localFeaturesAndThumbnailsOnRequest() async throws {
        let png = try Self.images[0].pngData()
        let input =
            Self.frame(#"{"id": "a", "request": "embed", "localFeatures": true, "thumbnail": 256}"#, png)
            + Self.frame(#"{"request": "embed", "thumbnail": 40}"#, png)
        let (messages, status, _) = try work([], input)
        #expect(status == 0)
        try #require(messages.count == 3)
        #expect(messages[1].header["id"] as? String == "a")
        #expect(messages[2].header["id"] == nil)
        let catalog = folder.file("catalog")
        _ = try CatalogIndexer(at: catalog).index([IndexItem(CatalogEntity(id: "x"), image: .data(png))])
        let sizes = try ["print", "localFeatures", "thumbnail"].map {
            try #require(messages[1].header[$0] as? Int)
        }
        #expect(sizes.reduce(0, +) == messages[1].payload.count)
        #expect(LocalFeatures(encoded: messages[1].payload.dropFirst(sizes[0]).prefix(sizes[1])) != nil)
        let stored = try await Catalog(at: catalog).storedThumbnail(for: "x")
        #expect(stored == messages[1].payload.suffix(sizes[2]))
        let thumbnail = try PixelBuffer(decoding: messages[2].payload.dropFirst(sizes[0]), named: "thumbnail")
        #expect(max(thumbnail.width, thumbnail.height) == 40)
        #expect(messages[2].header["localFeatures"] == nil)
    }

    @Test func errorsAreAnswers() throws {
        let png = try Self.images[1].pngData()
        let requests: [(String, Data, String)] = [
            (#"{"id": 0, "request": "embed"}"#, Data("no image".utf8), "image: "),
            (#"{"id": 1, "request": "embed", "path": "/none/such.png"}"#, Data(), "/none/such.png: "),
            (#"{"id": 2, "request": "embed"}"#, png.prefix(200), "image: "),
            (#"{"id": 3, "request": "embed"}"#, Data(), "request: has neither a path nor an image"),
            (#"{"id": 4, "request": "embed", "path": "a"}"#, png, "request: has a path and an image"),
            (#"{"id": 5, "request": "emded"}"#, png, "request: its “request” is unknown"),
            (#"{"id": 6}"#, png, "request: has no “request”"),
            (#"{"id": 7, "request": "embed", "thumbnail": -1}"#, png, "request: its thumbnail is not 0…4096 pixels"),
            (#"{"id": 8, "request": "embed", "thumbnail": "big"}"#, png, "request: its “thumbnail” has another type"),
            (#"{"id": 9, "request": "search"}"#, png, "request: the worker has no catalog; start it with --catalog"),
            (#"{"id": 10, "request": "embed", "path": ""}"#, Data(), "request: its path is empty or contains NUL"),
            (#"[]"#, png, "request: its “header” has another type"), ("{", png, "request: is not JSON"),
        ]
        var input = requests.reduce(Data()) { $0 + Self.frame($1.0, $1.1) }
        input += Self.frame(#"{"id": 99, "request": "embed"}"#, png)
        let (messages, status, errors) = try work([], input)
        #expect(status == 0, "\(errors)")
        try #require(messages.count == requests.count + 2)
        for (number, (request, message)) in zip(requests, messages.dropFirst()).enumerated() {
            let words = "\(message.error?["subject"] ?? ""): \(message.error?["reason"] ?? "")"
            #expect(words.hasPrefix(request.2), "\(words)")
            #expect(message.payload.isEmpty)
            #expect(message.id == (number < 11 ? number : nil))
        }
        #expect(messages.last?.id == 99 && messages.last?.error == nil)
    }

    @Test func aLargeImageIsRefusedAndSkipped() throws {
        let png = try Self.images[0].pngData()
        let large = Data(count: 600_000)
        let (messages, status, _) = try work(
            ["--max-megapixels", "0.05"],
            Self.frame(#"{"id": 1, "request": "embed"}"#, png) + Self.frame(#"{"id": 2, "request": "embed"}"#, large))
        #expect(status == 0)
        #expect(messages.dropFirst().map(\.id) == [1, 2])
        #expect(messages[1].error?["reason"]?.contains("300×260") ?? false, "\(messages[1].header)")
        #expect(messages[2].error != nil)
    }

    @Test(arguments: [
        (Data([1, 2, 3]), "ends within a request"), (Data([4, 0, 0, 0, 0, 0, 0, 0, 1]), "ends within a request"),
        (Data([9, 0, 0, 0, 5, 0, 0, 0]) + Data("{\"id\": 5}12".utf8), "ends within a request"),
        (Data("GET / HTTP/1.1\r\n\r\n".utf8), "is out of step: a request announces 542393671 bytes of JSON"),
    ])
    func aBrokenStreamIsAnErrorAfterTheAnswers(_ rest: Data, words: String) throws {
        let png = try Self.images[0].pngData()
        let (messages, status, errors) = try work([], Self.frame(#"{"id": 1, "request": "embed"}"#, png) + rest)
        #expect(status == 1)
        #expect(errors == "Error: standard input: \(words)\n")
        #expect(messages.count == 2 && messages.last?.error == nil)
    }

    @Test func nothingIsAskedFor() throws {
        let (messages, status, errors) = try work([], Data())
        #expect(messages.count == 1 && status == 0 && errors.isEmpty)
    }

    @Test func aProgramThatReadsNoMoreEndsTheWorker() throws {
        let png = try Self.images[0].pngData()
        let requests = (0..<500).reduce(into: Data()) { data, _ in data += Self.frame(#"{"request": "embed"}"#, png) }
        let file = try folder.write(requests, to: "requests")
        // The reader takes a part of the greeting. Standard input stays open: the shell has the pipe for writing, too.
        let script = """
            mkfifo "$1.pipe"; exec 3<>"$1.pipe"; cat "$1" >"$1.pipe" 2>/dev/null & writer=$!; disown
            "$0" worker <"$1.pipe" | head -c 8 >/dev/null
            echo ${PIPESTATUS[0]}; kill -KILL $writer
            """
        let result = try Command.run(executable: "/bin/bash", ["-c", script, Command.executable.path, file.path])
        #expect(result.output == "1\n")
        #expect(result.errors.isEmpty, "\(result.errors)")
    }

    @Test func searchesAnswerAsTheCommand() throws {
        for number in 0..<5 { try folder.write(Self.images[number].pngData(), to: "images/i\(number).png") }
        let (images, catalog) = (folder.file("images").path, folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        let path = images + "/i3.png"
        let input =
            Self.frame(#"{"id": 1, "request": "search", "path": "\#(path)"}"#)
            + Self.frame(
                #"{"id": 2, "request": "search", "limit": 3, "effort": "prints", "minConfidence": 0}"#,
                try Self.images[2].pngData())
            // Drawings of one style resemble each other.
            + Self.frame(
                #"{"id": 3, "request": "search", "path": "\#(path)", "where": "id != \"i3\"", "minConfidence": 0.9}"#)
            + Self.frame(#"{"id": 4, "request": "search", "path": "\#(path)", "where": "id ="}"#)
            + Self.frame(#"{"id": 5, "request": "search", "path": "\#(path)", "effort": "much"}"#)
            + Self.frame(#"{"id": 6, "request": "embed", "path": "\#(path)"}"#)
        let (messages, status, errors) = try work(["--catalog", catalog], input)
        #expect(status == 0, "\(errors)")
        try #require(messages.count == 7)
        func results(_ message: Message) -> [[String: Any]] { message.header["results"] as? [[String: Any]] ?? [] }
        #expect(results(messages[1]).map { $0["id"] as? String } == ["i3"])
        #expect(results(messages[2]).map { $0["id"] as? String }.first == "i2")
        #expect(results(messages[2]).count == 3)
        #expect(messages[3].header["results"] != nil && results(messages[3]).isEmpty)
        #expect(messages[4].error?["reason"]?.hasPrefix("its condition: ") ?? false)
        #expect(messages[5].error?["reason"] == "its effort is neither prints nor standard")
        #expect(messages[6].error == nil)
        let line = try Command.run("search", path, "--catalog", catalog, "--json").output
        let answer = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect((answer["results"] as? NSArray) == (messages[1].header["results"] as? NSArray))
    }

    @Test func searchesByWordsAndByEntities() throws {
        let model = try folder.write(TwoTowers.file(), to: "towers.safetensors").path
        let green = try PixelBuffer((0..<64).flatMap { _ in [0, 250, 0] }, width: 8, height: 8, format: .rgb8)
        let red = try PixelBuffer((0..<64).flatMap { _ in [250, 0, 0] }, width: 8, height: 8, format: .rgb8)
        try folder.write(green.pngData(), to: "images/green.png")
        try folder.write(red.pngData(), to: "images/red.png")
        let (images, catalog) = (folder.file("images").path, folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog, "--model", model).status == 0)
        let input =
            Self.frame(#"{"request": "search", "words": "red", "limit": 1}"#)
            + Self.frame(#"{"request": "search", "words": "red", "wordsWeight": 0.1, "limit": 1}"#, try green.pngData())
            + Self.frame(#"{"request": "search", "similarTo": "red", "limit": 5}"#)
            + Self.frame(#"{"request": "search", "path": "\#(images)/red.png", "maxDistance": 0.5, "similar": 2}"#)
            + Self.frame(#"{"request": "search", "words": " "}"#)
            + Self.frame(#"{"request": "search", "words": "red", "similarTo": "red"}"#)
            + Self.frame(#"{"request": "search", "words": 3}"#) + Self.frame(#"{"request": "embed", "words": "red"}"#)
        let (messages, status, errors) = try work(["--catalog", catalog], input)
        #expect(status == 0, "\(errors)")
        try #require(messages.count == 9)
        func ids(_ message: Message, _ member: String = "results") -> [String?] {
            (message.header[member] as? [[String: Any]] ?? []).map { $0["id"] as? String }
        }
        #expect(messages[1...4].map { ids($0) } == [["red"], ["green"], ["green"], ["red"]])
        #expect(ids(messages[4], "similar") == ["green"] && messages[1].header["similar"] == nil)
        #expect(messages[5].error?["reason"]?.contains("empty") ?? false, "\(messages[5].header)")
        #expect(messages[6].error?["reason"]?.contains("give one") ?? false, "\(messages[6].header)")
        #expect(messages[7].error?["reason"] == "its “words” has another type")
        #expect(messages[8].error?["reason"] == "has neither a path nor an image")
    }
}
