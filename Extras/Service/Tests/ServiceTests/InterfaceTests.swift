import Foundation
import Lookalike
@_spi(Service) import LookalikeService
import Testing

@Suite struct InterfaceTests {
    @Test func theDocumentHasThePathsOfTheService() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let document = try await server.send("GET", "/openapi.json").json
            let paths = try #require(document["paths"] as? [String: [String: Any]])
            #expect(paths.count == 25)
            for (path, operations) in paths {
                let concrete = path.replacing("{catalog}", with: "none").replacing("{id}", with: "none")
                    .replacing("{name}", with: "none").replacing("{image}", with: "none")
                for method in ["get", "put", "post", "patch", "delete"] {
                    let reply = try await server.send(method.uppercased(), concrete)
                    #expect((reply.status == 405) == (operations[method] == nil), "\(method) \(path)")
                    if reply.status == 405 {
                        let allowed = reply.headers["allow"]?.components(separatedBy: ", ") ?? []
                        #expect(
                            Set(allowed).subtracting(["HEAD"]) == Set(operations.keys.map { $0.uppercased() }),
                            "\(path)")
                    }
                }
            }
        }
    }

    /// Generated clients send the defaults of a description, some of which the service refuses beside other fields.
    @Test func theDocumentHasNoDefaultsThatClientsWouldSend() async throws {
        try await TestServer.run(covers: false) { server in
            func defaults(_ value: Any, at path: String) -> [String] {
                if let values = value as? [Any] { return values.flatMap { defaults($0, at: path) } }
                guard let object = value as? [String: Any] else { return [] }
                let here = object["default"] == nil ? [] : [path]
                return here + object.flatMap { defaults($1, at: "\(path)/\($0)") }
            }
            let document = try await server.send("GET", "/openapi.json").json
            #expect(defaults(document, at: "") == [])
        }
    }

    @Test func errorsHaveACodeAndNoPaths() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            for (method, path) in [
                ("GET", "/nothing"), ("GET", "/v1/catalogs/none"), ("PATCH", "/v1/catalogs"),
                ("GET", "/v1/catalogs/covers/entities/none"), ("POST", "/v1/catalogs/covers/search"),
            ] {
                let reply = try await server.send(method, path)
                #expect(reply.headers["content-type"] == "application/problem+json")
                #expect(reply.headers["cache-control"] == "no-store")
                let problem = try reply.json
                #expect(problem["status"] as? Int == reply.status)
                let code = try #require(problem["code"] as? String)
                #expect(problem["type"] as? String == "urn:lookalike:problem:\(code)")
                #expect(!reply.text.contains(server.folder.path))
            }
        }
    }

    /// People got JSON.
    @Test func aWrongLinkIsAPageForPeople() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let browser = ["Accept": "text/html,application/xhtml+xml,*/*;q=0.8"]
            for (path, root) in [("/nothing", "./"), ("/a/b/", "./../../")] {
                let reply = try await server.send("GET", path, browser)
                #expect(reply.status == 404 && reply.headers["content-type"] == "text/html; charset=utf-8")
                #expect(reply.text.contains("<a href=\"\(root)\">"))
                #expect(try await server.send("GET", path).code == "unknown-path")
            }
            #expect(try await server.send("GET", "/v1/nothing", browser).code == "unknown-path")
        }
    }

    @Test func aCatalogThatIsDamagedSaysNoPath() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let folder = server.folder.appendingPathComponent("broken")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("not a database".utf8).write(to: folder.appendingPathComponent("catalog.sqlite"))
            let reply = try await server.send("GET", "/v1/catalogs/broken")
            #expect(try (reply.status, reply.code) == (507, "storage"))
            #expect(!reply.text.contains(server.folder.path))
            #expect(try await server.send("GET", "/v1/catalogs").status == 200)
        }
    }

    /// It was ready, and said nothing.
    @Test func readinessNamesWhatCannotBeOpened() async throws {
        let (key, entry) = APIKey.make(scope: .read, name: "shop")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let broken = folder.appendingPathComponent("broken")
        try FileManager.default.createDirectory(at: broken, withIntermediateDirectories: true)
        try Data("not a database".utf8).write(to: broken.appendingPathComponent("catalog.sqlite"))
        try await TestServer.run(folder: folder, configure: { $0.keys = KeyRing([entry]) }) {
            (server: TestServer) async throws -> Void in
            var reply: HTTPReply
            repeat {
                reply = try await server.send("GET", "/health/ready", ["X-API-Key": key])
            } while reply.status != 200
            let named = try reply.json
            #expect(named["status"] as? String == "ready" && named["failedCatalogs"] as? Int == 1)
            #expect(named["failed"] as? [String] == ["broken"])
            // Names are for those who may read.
            let counted = try await server.send("GET", "/health/ready").json
            #expect(counted["failedCatalogs"] as? Int == 1 && counted["failed"] == nil)
            try FileManager.default.removeItem(at: folder.appendingPathComponent("covers"))
            let none = try await server.send("GET", "/health/ready")
            #expect(none.status == 503)
            #expect(try none.json["status"] as? String == "failed")
        }
    }

    @Test func metricsOfTheProcessAndOfSearches() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let image = try DemoCovers.image("salt-signal")
            _ = try await server.send("POST", "/v1/catalogs/covers/search", body: image)
            _ = try await server.send("POST", "/v1/catalogs/covers/search?max-distance=0&types=none", body: image)
            for file in ["/", "/page.css", "/icon.svg"] { _ = try await server.send("GET", file) }
            _ = try await server.send("GET", "/metrics")
            let lines = try await server.send("GET", "/metrics").text.split(separator: "\n").map(String.init)
            #expect(lines.contains("lookalike_searches_total{result=\"match\"} 1.0"))
            #expect(lines.contains("lookalike_searches_total{result=\"miss\"} 1.0"))
            #expect(lines.contains("lookalike_catalogs 1.0"))
            #expect(lines.contains("lookalike_build_info{version=\"\(PackageVersion.current)\"} 1.0"))
            #expect(lines.contains("http_requests_total{method=\"GET\",route=\"page\",status=\"200\"} 3.0"))
            #expect(!lines.contains { $0.contains("page.css") })
            #expect(lines.contains { $0.hasPrefix("http_request_duration_seconds_count{method=\"POST\",route=") })
            for name in ["process_cpu_seconds_total", "process_start_time_seconds", "lookalike_disk_available_bytes"] {
                let value = lines.first { $0.hasPrefix(name + " ") }?.split(separator: " ").last.flatMap { Double($0) }
                #expect(value ?? 0 > 0, "\(name)")
            }
        }
    }

    @Test func thePageLoadsItsOwnFilesAlone() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let page = try await server.send("GET", "/")
            #expect(page.headers["content-type"] == "text/html; charset=utf-8")
            let policy = try #require(page.headers["content-security-policy"])
            #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
            #expect(page.headers["x-content-type-options"] == "nosniff")
            #expect(!page.text.contains("http://") && !page.text.contains("https://"))
            #expect(!page.text.contains("<style") && !page.text.contains("style=") && !page.text.contains("onclick"))
            for path in ["/page.css", "/page.js", "/icon.svg"] {
                #expect(page.text.contains(path.dropFirst()))
                let file = try await server.send("GET", path)
                #expect(file.status == 200 && !file.body.isEmpty)
                let tag = try #require(file.headers["etag"])
                for tags in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                    #expect(try await server.send("GET", path, ["If-None-Match": tags]).status == 304)
                }
                #expect(try await server.send("GET", path, ["If-None-Match": "\"x\""]).status == 200)
            }
        }
    }

    /// Formats that browsers cannot show, with transparency and more than eight bits, and one that is turned.
    @Test(arguments: [
        ("Formats/alpha.heic", 200), ("Formats/16-bits.tiff", 200), ("orientation6.jpg", 200), ("expected.json", 415),
    ])
    func previewsAreJPEG(file: String, status: Int) async throws {
        let fixtures = DemoCovers.folder.appendingPathComponent("../../Tests/ImagingTests/Fixtures").standardizedFileURL
        let data = try Data(contentsOf: fixtures.appendingPathComponent(file))
        try await TestServer.run(covers: false) { server in
            let reply = try await server.send(
                "POST", "/v1/previews", ["Content-Type": "application/octet-stream"], body: data)
            #expect(reply.status == status, "\(reply.text)")
            guard status == 200 else { return }
            #expect(reply.headers["content-type"] == "image/jpeg")
            let (preview, image) = (try PixelBuffer(decoding: reply.body), try PixelBuffer(decoding: data))
            #expect((preview.width, preview.height) == (image.width, image.height))
        }
    }

    @Test func headHasNoBody() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let reply = try await server.send("HEAD", "/health/live")
            #expect(reply.status == 200)
            #expect(reply.body.isEmpty)
        }
    }

    @Test func metricsCountRequestsByRoute() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            _ = try await server.send("GET", "/v1/catalogs/covers/entities/salt-signal")
            _ = try await server.send("GET", "/v1/catalogs/covers/entities/none")
            _ = try await server.send("GET", "/none/\(UUID().uuidString)")
            let reply = try await server.send("GET", "/metrics")
            #expect(reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let route = "route=\"/v1/catalogs/{catalog}/entities/{id}\""
            #expect(reply.text.contains("http_requests_total{method=\"GET\",\(route),status=\"200\"} 1.0"))
            #expect(reply.text.contains("http_requests_total{method=\"GET\",\(route),status=\"404\"} 1.0"))
            #expect(reply.text.contains("lookalike_catalog_entities{catalog=\"covers\"} 6.0"))
            #expect(!reply.text.contains("salt-signal"))
            #expect(try await server.send("DELETE", "/v1/catalogs/covers").status == 204)
            #expect(try await !server.send("GET", "/metrics").text.contains("catalog=\"covers\""))
        }
    }

    @Test func aServiceThatEndsDoesNotGetReady() {
        let readiness = Readiness()
        readiness.set(.stopping)
        readiness.set(.ready)
        #expect(readiness.current == .stopping)
    }
}
