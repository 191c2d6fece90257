import Foundation
import Lookalike
import MilvusCatalog
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Nodes of the service that search collections: the program itself.
@Suite(.enabled(if: MilvusServer.program != nil), .serialized) struct NodeTests {
    private let server: MilvusServer
    private let folder: TemporaryFolder

    init() async throws { (server, folder) = (try await MilvusServer(), try TemporaryFolder()) }

    @Test func clientsGoOnWithAnotherNodeWhenOneIsKilled() async throws {
        let local = try Demo.index(into: folder("catalog"))
        _ = try await MilvusCatalog.push(local, to: server.address("covers"))
        let nodes = [try Node([server.address("covers")]), try Node([server.address("covers")])]
        let image = try Data(contentsOf: Demo.folder.appendingPathComponent("queries/screenshot-1.png"))
        let expected = try await local.search(
            matching: PixelBuffer(decoding: image, named: "image", options: local.decodingOptions)
        ).map { "\($0.id) \($0.inlierCount)" }
        #expect(!expected.isEmpty)
        for node in nodes { #expect(try await node.matches(of: image, in: "covers") == expected) }
        let (answers, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { clients in
            for client in 0..<3 {
                clients.addTask {
                    for number in 0..<6 {
                        var found: [String]?
                        for attempt in 0..<2 where found == nil {
                            found = try? await nodes[(client + number + attempt) % 2].matches(of: image, in: "covers")
                        }
                        #expect(found == expected)
                        continuation.yield()
                    }
                }
            }
            for await _ in answers.prefix(4) {}
            nodes[0].process.kill()
            try await clients.waitForAll()
        }
        await #expect(throws: (any Error).self) { try await nodes[0].matches(of: image, in: "covers") }
        nodes[1].process.terminate()
        nodes[1].process.waitUntilExit()
        #expect(nodes[1].process.terminationReason == .exit && nodes[1].process.terminationStatus == 0)
    }

    @Test func aNodeChangesNothing() async throws {
        _ = try await MilvusCatalog.push(Drawn.index(3, into: folder("catalog")), to: server.address("drawn"))
        let node = try Node([server.address("drawn")])
        for (method, path) in [
            ("PUT", "drawn"), ("DELETE", "drawn"), ("PUT", "new"), ("PUT", "drawn/entities/a"),
            ("DELETE", "drawn/entities/entity-1"), ("POST", "drawn/entities:batch"), ("POST", "drawn/snapshot"),
            ("GET", "drawn/entities/entity-1"), ("GET", "drawn/entities"),
        ] {
            let reply = try await node.send(method, "/v1/catalogs/\(path)", type: "application/json")
            #expect(reply.status == 409 && reply.code == "remote-catalog", "\(method) \(path)")
        }
        let text = try await node.send(
            "POST", "/v1/catalogs/drawn/search", Data(#"{"text": "entity"}"#.utf8), type: "application/json")
        #expect(text.status == 409 && text.code == "remote-catalog")
        #expect(try await node.send("GET", "/v1/catalogs/other").code == "unknown-catalog")
        let listing = try await node.send("GET", "/v1/catalogs").json
        #expect((listing["catalogs"] as? [[String: Any]])?.first?["entities"] as? Int == 3)
        #expect(try await node.send("GET", "/v1/catalogs/drawn").json["entities"] as? Int == 3)
        #expect(try await node.send("GET", "/v1/access").json["scope"] as? String == "read")
    }

    @Test func aNodeAnswersAgainWhenTheServerDoes() async throws {
        let local = try Drawn.index(20, into: folder("catalog"))
        _ = try await MilvusCatalog.push(local, to: server.address("again"))
        server.stop()
        // It starts without the server, and is not ready.
        let node = try Node([server.address("again")], ["--timeout", "0.5"])
        let print = try JSONEncoder().encode(Drawn.print(7, of: local.model))
        let body = Data(#"{"minConfidence": 0, "limit": 1, "print": "#.utf8) + print + Data("}".utf8)
        func search() async throws -> Node.Reply {
            try await node.send("POST", "/v1/catalogs/again/search", body, type: "application/json")
        }
        let down = try await search()
        #expect(down.status == 503 && down.code == "unavailable")
        #expect(!String(decoding: down.body, as: UTF8.self).contains("milvus://"))
        try await server.start()
        while try await node.send("GET", "/health/ready").status != 200 { await Task.yield() }
        while true {
            let reply = try await search()
            if reply.status == 200 {
                #expect(try reply.ids == ["entity-7"])
                break
            }
            try #require(reply.status == 503)
        }
        // A connection that was there is made anew.
        server.stop()
        #expect(try await search().code == "unavailable")
        try await server.start()
        while case let reply = try await search(), reply.status != 200 { try #require(reply.status == 503) }
    }
}

/// A process of `lookalike-milvus serve`.
private final class Node: Sendable {
    private static let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("lookalike-milvus")

    struct Reply: Sendable {
        let status: Int
        let body: Data

        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body) as? [String: Any]) ?? [:] }
        var code: String? { json["code"] as? String }

        var ids: [String] {
            get throws {
                try #require(json["results"] as? [[String: Any]]).compactMap {
                    ($0["entity"] as? [String: Any])?["id"] as? String
                }
            }
        }
    }

    let process: NodeProcess
    private let port: Int

    init(_ addresses: [MilvusAddress], _ options: [String] = []) throws {
        process = NodeProcess()
        port = try process.start(
            Self.executable, ["serve"] + addresses.map(\.description) + ["--port", "0"] + options)
    }

    deinit { process.kill() }

    func send(_ method: String, _ path: String, _ body: Data? = nil, type: String? = nil) async throws -> Reply {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
        request.httpMethod = method
        request.httpBody = body
        if let type { request.setValue(type, forHTTPHeaderField: "Content-Type") }
        let (data, response) = try await URLSession.shared.data(for: request)
        return Reply(status: try #require(response as? HTTPURLResponse).statusCode, body: data)
    }

    /// The matches of an image, with their inliers.
    func matches(of image: Data, in catalog: String) async throws -> [String] {
        let reply = try await send("POST", "/v1/catalogs/\(catalog)/search", image, type: "image/png")
        try #require(reply.status == 200)
        let results = try #require(reply.json["results"] as? [[String: Any]])
        return zip(try reply.ids, results).map { "\($0) \($1["inliers"] as? Int ?? 0)" }
    }
}

private final class NodeProcess: Sendable {
    private let process = Mutex(Process())

    /// Returns the port, which the program prints when it listens.
    func start(_ executable: URL, _ arguments: [String]) throws -> Int {
        let output = Pipe()
        try process.withLock {
            $0.executableURL = executable
            $0.arguments = arguments
            $0.standardOutput = output
            $0.standardError = FileHandle.nullDevice
            try $0.run()
        }
        var line = Data()
        while line.last != 0x0A, let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
            line += byte
        }
        return try #require(
            Int(String(decoding: line, as: UTF8.self).split(separator: ":").last?.filter(\.isNumber) ?? ""))
    }

    func kill() {
        process.withLock {
            if $0.isRunning { Foundation.kill($0.processIdentifier, SIGKILL) }
            $0.waitUntilExit()
        }
    }

    func terminate() { process.withLock { $0.terminate() } }
    func waitUntilExit() { process.withLock { $0.waitUntilExit() } }
    var terminationReason: Process.TerminationReason { process.withLock { $0.terminationReason } }
    var terminationStatus: Int32 { process.withLock { $0.terminationStatus } }
}
