import Foundation
@_spi(Service) import LookalikeService
import Testing

/// What clients send that are older, or made elsewhere.
struct ClientTests {
    /// They read to the end of the connection, whatever they say, and know no chunks.
    @Test(arguments: ["", "Connection: keep-alive\r\n", "Host: 127.0.0.1\r\n", "Expect: 100-continue\r\n"])
    func answersOfHTTP10EndWithTheConnection(field: String) async throws {
        try await TestServer.run(covers: false) { server in
            let client = HTTPClient(port: server.port)
            for path in ["/health/live", "/nowhere", "/"] {
                let (text, isClosed) = try await client.exchange("GET \(path) HTTP/1.0\r\n\(field)\r\n", seconds: 20)
                #expect(isClosed, "\(path)")
                #expect(
                    text.hasPrefix("HTTP/1.0 ") && text.lowercased().contains("connection: close"),
                    "\(text.prefix(200))")
            }
            // An answer whose length is not known before.
            _ = try await server.send("PUT", "/v1/catalogs/c")
            let image = try DemoCovers.image(DemoCovers.ids[0]).base64EncodedString()
            let line = Data("{\"id\": 7, \"image\": \"\(image)\"}\n".utf8)
            let (text, isClosed) = try await client.exchange(
                "POST /v1/catalogs/c/entities:batch HTTP/1.0\r\n\(field)Content-Type: application/x-ndjson\r\n"
                    + "Content-Length: \(line.count)\r\n\r\n", body: line, seconds: 20)
            #expect(
                isClosed && text.hasSuffix("\n") && text.contains("\"id\":\"7\",\"line\":1,\"status\":201"), "\(text)")
            #expect(!text.lowercased().contains("transfer-encoding") && !text.contains("100 Continue"))
        }
    }

    @Test func connectionsOfHTTP11StayOpenUnlessClientsSayOtherwise() async throws {
        try await TestServer.run(covers: false) { server in
            let client = HTTPClient(port: server.port)
            let request = "GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            // A busy machine answers late.
            let open = try await client.exchange(request + "\r\n" + request + "\r\n", seconds: 10)
            #expect(!open.isClosed && open.text.components(separatedBy: "HTTP/1.1 200").count == 3)
            for value in ["close", "Close", "close, TE"] {
                let (text, isClosed) = try await client.exchange(request + "Connection: \(value)\r\n\r\n", seconds: 20)
                #expect(isClosed && text.lowercased().contains("connection: close"), "\(value)")
            }
        }
    }

    /// Taken as they come, they would be images that cannot be read, or no JSON.
    @Test(arguments: ["gzip", "GZIP", "br", "deflate, gzip", "x-own"]) func compressedBodiesAreRefused(encoding: String)
        async throws
    {
        try await TestServer.run { server in
            for (method, path, type) in [
                ("POST", "search", "application/json"), ("POST", "search", "image/jpeg"),
                ("PUT", "entities/a", "image/jpeg"), ("POST", "entities:batch", "application/x-ndjson"),
            ] {
                let reply = try await server.send(
                    method, "/v1/catalogs/covers/\(path)", ["Content-Type": type, "Content-Encoding": encoding],
                    body: Data([0x1F, 0x8B, 8, 0]))
                #expect(reply.status == 415 && reply.text.contains("Content-Encoding “\(encoding)”"), "\(reply.text)")
                #expect(reply.headers["accept-encoding"] == "identity")
            }
        }
    }

    @Test func bodiesThatAreSaidToBePlainAreRead() async throws {
        try await TestServer.run { server in
            let reply = try await server.send(
                "POST", "/v1/catalogs/covers/search", ["Content-Type": "image/png", "Content-Encoding": "identity"],
                body: DemoCovers.screenshot())
            #expect(reply.status == 200)
        }
    }

    /// Two programs in a row could take different ones (RFC 9112, section 3.2).
    @Test(arguments: [
        ("HTTP/1.1", [], 400), ("HTTP/1.1", ["Host: 127.0.0.1", "host: localhost"], 400),
        ("HTTP/1.1", ["Host: 127.0.0.1", "Host: 127.0.0.1"], 400), ("HTTP/1.0", ["Host: a", "Host: b"], 400),
        ("HTTP/1.1", ["Host: 127.0.0.1"], 200), ("HTTP/1.1", ["Host:"], 200), ("HTTP/1.0", [], 200),
    ])
    func aRequestHasOneHost(version: String, hosts: [String], status: Int) async throws {
        try await TestServer.run(covers: false) { server in
            for path in ["/health/live", "/v1/catalogs", "/page.js"] {
                let lines = ["GET \(path) \(version)", "Connection: close"] + hosts
                let text = try await HTTPClient(port: server.port).exchange(
                    lines.joined(separator: "\r\n") + "\r\n\r\n", seconds: 20
                ).text
                #expect(text.hasPrefix("\(version) \(status) "), "\(path): \(text.prefix(300))")
            }
        }
    }

    @Test func answersOfTextAreCompressed() async throws {
        try await TestServer.run { server in
            let gzip = ["Accept-Encoding": "br, gzip;q=0.8"]
            for path in ["/", "/page.js", "/page.css", "/openapi.json", "/metrics"] {
                let plain = try await server.send("GET", path)
                let reply = try await server.send("GET", path, gzip)
                #expect(reply.headers["content-encoding"] == "gzip" && plain.headers["content-encoding"] == nil)
                for reply in [plain, reply] { #expect(reply.headers["vary"] == "Accept-Encoding", "\(path)") }
                #expect(reply.headers["etag"] == plain.headers["etag"])
                if path != "/metrics" { #expect(try await Self.decompressed(reply.body) == plain.body, "\(path)") }
                let head = try await server.send("HEAD", path, gzip)
                #expect(head.status == 200 && head.headers["content-encoding"] == nil && head.body.isEmpty)
            }
            // What is small, what is compressed already, and clients that do not want it.
            for (path, accepted) in [
                ("/v1/catalogs", "gzip"), ("/v1/catalogs/covers/entities/salt-signal/thumbnail", "gzip"),
                ("/page.js", "gzip;q=0"), ("/page.js", "gzip;q=0, *"), ("/page.js", "br"), ("/page.js", ""),
            ] {
                let reply = try await server.send("GET", path, ["Accept-Encoding": accepted])
                #expect(reply.status == 200 && reply.headers["content-encoding"] == nil, "\(path) \(accepted)")
            }
            let tag = try #require(try await server.send("GET", "/page.js", gzip).headers["etag"])
            let known = try await server.send("GET", "/page.js", gzip.merging(["If-None-Match": tag]) { $1 })
            #expect(known.status == 304 && known.body.isEmpty)
            // Chunks came with HTTP/1.1.
            let old = try await HTTPClient(port: server.port).exchange(
                "GET /page.js HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n", seconds: 20)
            #expect(old.text.contains("import") && !old.text.lowercased().contains("content-encoding"))
        }
    }

    /// The results of a batch come as they are written, compressed or not.
    @Test func linesAreCompressedOneByOne() async throws {
        try await TestServer.run { server in
            let lines = ["Accept": "application/x-ndjson", "Accept-Encoding": "gzip"]
            let list = try await server.send("GET", "/v1/catalogs/covers/entities?fields=id", lines)
            #expect(list.headers["content-encoding"] == "gzip")
            let text = String(decoding: try await Self.decompressed(list.body), as: UTF8.self)
            #expect(text.split(separator: "\n").count == DemoCovers.ids.count)
            let body = Data((0..<600).map { "{\"id\":\"\($0)\",\"delete\":true}\n" }.joined().utf8)
            let reply = try await server.send(
                "POST", "/v1/catalogs/covers/entities:batch",
                ["Content-Type": "application/x-ndjson", "Accept-Encoding": "gzip"], body: body)
            let results = String(decoding: try await Self.decompressed(reply.body), as: UTF8.self)
                .split(separator: "\n")
            #expect(results.count == 600 && results.allSatisfy { $0.contains("\"status\":404") })
        }
    }

    private static func decompressed(_ data: Data) async throws -> Data {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try data.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let gzip = try Subprocess(Subprocess.shell, ["-c", "gzip -dc < \"$0\"", file.path], hasErrorPipe: false)
        let plain = try await gzip.output.everything()
        try #require(try await gzip.exit().status == 0)
        return plain
    }

    /// As `canvas.toDataURL` makes them, and others.
    @Test func imagesMayBeDataURLs() async throws {
        try await TestServer.run { server in
            let id = DemoCovers.ids[0], image = try DemoCovers.image(id)
            let text = image.base64EncodedString()
            let encoded = text.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D")
            let bare = text.replacing("=", with: "")
            for url in [
                "data:image/jpeg;base64,\(text)", "data:;base64,\(text)", "DATA:image/jpeg;charset=x;BASE64,\(text)",
                "data:image/jpeg;base64,\(encoded)", "data:image/jpeg;base64,\(bare)", text,
            ] {
                let reply = try await server.json("POST", "/v1/catalogs/covers/search", ["image": url, "limit": 1])
                let ids = try reply.ids
                #expect(reply.status == 200 && ids == [id], "\(url.prefix(40)): \(reply.text.prefix(200))")
            }
            let url = "data:image/jpeg;base64,\(text)"
            #expect(try await server.json("PUT", "/v1/catalogs/covers/entities/new", ["image": url]).status == 201)
            #expect(try await server.json("POST", "/v1/prints", ["images": [url, text]]).status == 200)
            let form = Data.form(image: Data(url.utf8), fields: ["limit": "1"], boundary: "b")
            let reply = try await server.send(
                "POST", "/v1/catalogs/covers/search", ["Content-Type": "multipart/form-data; boundary=b"], body: form)
            #expect(reply.status == 200, "\(reply.text)")
            for wrong in ["data:image/svg+xml,%3Csvg/%3E", "data:image/png;base64", "data:image/png;base64,!!"] {
                let reply = try await server.json("POST", "/v1/catalogs/covers/search", ["image": wrong])
                #expect(reply.status == 400 && reply.text.contains("data URL"), "\(reply.text)")
            }
        }
    }

    @Test func idsInJSONMayBeNumbers() async throws {
        try await TestServer.run { server in
            let image = try DemoCovers.image(DemoCovers.ids[0]).base64EncodedString()
            let put = try await server.json("PUT", "/v1/catalogs/covers/entities/12", ["id": 12, "image": image])
            let stored = try put.json["id"] as? String
            #expect(put.status == 201 && stored == "12", "\(put.text)")
            let reply = try await server.json("POST", "/v1/catalogs/covers/search", ["entity": 12, "limit": 1])
            let ids = try reply.ids
            #expect(reply.status == 200 && ids == [DemoCovers.ids[0]], "\(reply.text)")
            #expect(try await server.json("POST", "/v1/catalogs/covers/search", ["entity": 1.5]).status == 400)
        }
    }

    /// A proxy may serve the page below a path that it strips.
    @Test func thePageAsksForEverythingBesideItsFiles() async throws {
        try await TestServer.run(covers: false) { server in
            let page = try await server.send("GET", "/").text
            let names = page.matches(of: /(?:src|href)="([^"#]+)"/).map { String($0.1) }
            #expect(names.contains("page.js") && !names.contains { $0.hasPrefix("/") || $0.contains(":") })
            var scripts = ["page.js"]
            var next = 0
            while next < scripts.count {
                let script = try await server.send("GET", "/" + scripts[next])
                #expect(script.status == 200)
                #expect(!script.text.contains(/["'`(]\/v1/), "\(scripts[next])")
                for found in script.text.matches(of: /from "\.\/([^"]+)"/) where !scripts.contains(String(found.1)) {
                    scripts.append(String(found.1))
                }
                next += 1
            }
            #expect(scripts.contains("api.js"))
        }
    }
}
