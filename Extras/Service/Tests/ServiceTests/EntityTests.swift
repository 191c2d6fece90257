import Foundation
import Lookalike
@_spi(Service) import LookalikeService
import Testing

@Suite struct EntityTests {
    @Test func anEntityFromPutToDelete() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            #expect(try await server.send("PUT", "/v1/catalogs/shop").status == 201)
            #expect(try await server.send("PUT", "/v1/catalogs/shop").status == 200)
            let path = "/v1/catalogs/shop/entities/records%2Fslow-meridian"
            let image = try DemoCovers.image("slow-meridian")
            let put = try await server.send(
                "PUT", path + "?title=Slow+Meridian&type=album&labels=a,b&attribute.year=1998",
                ["Content-Type": "image/jpeg"], body: image)
            #expect(put.status == 201)
            #expect(put.headers["location"] == path)
            #expect(
                try await server.send("POST", "/v1/catalogs/shop/search", body: image).ids == ["records/slow-meridian"])

            let patched = try await server.send(
                "PATCH", path, ["Content-Type": "application/merge-patch+json"],
                body: Data("{\"title\":\"Slower\",\"type\":null,\"attributes\":{\"side\":\"A\",\"year\":null}}".utf8))
            #expect(patched.status == 200)
            let entity = try await server.send("GET", path).json
            #expect(entity["title"] as? String == "Slower")
            #expect(entity["type"] == nil)
            #expect(entity["labels"] as? [String] == ["a", "b"])
            #expect(entity["attributes"] as? [String: String] == ["side": "A"])
            #expect(try await server.json("POST", "/v1/catalogs/shop/search", ["text": "slower"]).ids.count == 1)

            let thumbnail = try await server.send("GET", path + "/thumbnail")
            #expect(thumbnail.headers["content-type"] == "image/jpeg")
            #expect(thumbnail.body.starts(with: [0xFF, 0xD8]))
            let tag = try #require(thumbnail.headers["etag"])
            #expect(try await server.send("GET", path + "/thumbnail", ["If-None-Match": tag]).status == 304)

            #expect(try await server.send("PUT", path, body: try DemoCovers.image("salt-signal")).status == 200)
            #expect(try await server.send("POST", "/v1/catalogs/shop/search", body: image).ids == [])
            #expect(try await server.send("DELETE", path).status == 204)
            #expect(try await server.send("GET", path).code == "unknown-entity")
            #expect(try await server.send("DELETE", path).code == "unknown-entity")
        }
    }

    /// An index run takes a path of any length for an id, with line ends in it.
    @Test func idsOfAnIndexRunAreServed() async throws {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: home) }
        let ids = [String(repeating: "写", count: 400), "a\nb"]
        let image = IndexImage.data(try DemoCovers.image("salt-signal"))
        _ = try CatalogIndexer(at: home.appendingPathComponent("shop"))
            .index(ids.map { IndexItem(CatalogEntity(id: $0), image: image) })
        try await TestServer.run(covers: false, folder: home) { (server: TestServer) async throws -> Void in
            let list = try await server.send("GET", "/v1/catalogs/shop/entities").json
            let entities = try #require(list["entities"] as? [[String: Any]])
            #expect(entities.compactMap { $0["id"] as? String } == ids)
            for entity in entities {
                let thumbnail = try #require(entity["thumbnail"] as? String)
                #expect(try await server.send("GET", thumbnail).status == 200)
                let path = String(thumbnail.dropLast("/thumbnail".count))
                #expect(try await server.send("GET", path).status == 200)
                let changed = try await server.send(
                    "PATCH", path, ["Content-Type": "application/json"], body: Data("{\"title\":\"x\"}".utf8))
                #expect(changed.status == 200)
                #expect(try await server.send("PUT", path, body: try DemoCovers.image("salt-signal")).status == 400)
                #expect(try await server.send("DELETE", path).status == 204)
            }
        }
    }

    /// Each read the entity before the others had written it.
    @Test func changesAtTheSameTimeAreAllKept() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/entities/salt-signal"
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        try await server.send(
                            "PATCH", path, ["Content-Type": "application/json"],
                            body: Data("{\"attributes\":{\"a\(number)\":\"x\"}}".utf8)
                        ).status
                    }
                }
                for try await status in group { #expect(status == 200) }
            }
            let attributes = try await server.send("GET", path).json["attributes"] as? [String: String]
            #expect(attributes?.keys.filter { $0.hasPrefix("a") }.count == 40)
        }
    }

    @Test func anEntityAsAFormAndAsAPrint() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            let image = try DemoCovers.image("glass-orchard")
            let form = Data.form(image: image, fields: ["title": "Glass", "attribute.year": "2002"], boundary: "b")
            let put = try await server.send(
                "PUT", "/v1/catalogs/shop/entities/a", ["Content-Type": "multipart/form-data; boundary=b"], body: form)
            #expect(try put.json["attributes"] as? [String: String] == ["year": "2002"])
            let made = try await server.send("POST", "/v1/prints?catalog=shop", body: image)
            let print = try #require((try made.json["prints"] as? [[String: Any]])?.first)
            #expect(try await server.json("PUT", "/v1/catalogs/shop/entities/b", ["print": print]).status == 201)
            let search = try await server.json("POST", "/v1/catalogs/shop/search", ["print": print])
            #expect(Set(try search.ids) == ["a", "b"])
            #expect(try await server.send("GET", "/v1/catalogs/shop/entities/b/thumbnail").code == "no-thumbnail")
        }
    }

    /// A restored catalog could name any image of the server.
    @Test func imageFilesOfACatalogAreNotRead() async throws {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: home) }
        let image = DemoCovers.folder.appendingPathComponent("covers/salt-signal.jpg")
        let item = IndexItem(CatalogEntity(id: "a"), image: .file(image))
        let report = try CatalogIndexer(at: home.appendingPathComponent("shop"), thumbnailSide: nil).index([item])
        #expect(report.added == 1)
        try await TestServer.run(covers: false, folder: home) { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/shop/entities/a/thumbnail"
            #expect(try await server.send("GET", path).code == "no-thumbnail")
            #expect(try await server.send("GET", path + "?side=900").code == "invalid-request")
        }
    }

    @Test func matchesSayWhichImageOfAnEntityMatches() async throws {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: home) }
        let images = ["salt-signal", "glass-orchard"].map {
            IndexImage.file(DemoCovers.folder.appendingPathComponent("covers/\($0).jpg"))
        }
        let items = [
            IndexItem(CatalogEntity(id: "a"), images: images), IndexItem(CatalogEntity(id: "b"), image: images[0]),
        ]
        _ = try CatalogIndexer(at: home.appendingPathComponent("shop")).index(items)
        try await TestServer.run(covers: false, folder: home) { (server: TestServer) async throws -> Void in
            let image = try DemoCovers.image("glass-orchard")
            let found = try await server.send("POST", "/v1/catalogs/shop/search", body: image)
            #expect(try found.ids == ["a"])
            let match = try #require((try found.json["results"] as? [[String: Any]])?.first)
            #expect(match["image"] as? Int == 1)
            #expect((match["entity"] as? [String: Any])?["imageCount"] as? Int == 2)
            let path = "/v1/catalogs/shop/entities/"
            let first = try await server.send("GET", path + "a/thumbnail")
            let second = try await server.send("GET", path + "a/thumbnail?image=1")
            #expect(first.status == 200 && second.status == 200 && first.body != second.body)
            for place in ["2", "-1", "99999999"] {
                #expect(try await server.send("GET", path + "a/thumbnail?image=" + place).code == "no-thumbnail")
            }
            #expect(try await server.send("GET", path + "a/thumbnail?image=x").code == "invalid-request")
            #expect(try await server.send("GET", path + "b").json["imageCount"] == nil)
            // An image that is put replaces all.
            #expect(try await server.send("PUT", path + "a", body: image).status == 200)
            #expect(try await server.send("GET", path + "a").json["imageCount"] == nil)
        }
    }

    @Test func anEntityIsPutWithSeveralImages() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            let images = try ["salt-signal", "glass-orchard"].map(DemoCovers.image)
            let encoded = images.map { $0.base64EncodedString() }
            let path = "/v1/catalogs/shop/entities/"
            #expect(try await server.json("PUT", path + "json", ["images": encoded]).status == 201)
            let form = Data.form(images: images.reversed(), fields: ["title": "Both"], boundary: "b")
            let put = try await server.send(
                "PUT", path + "form", ["Content-Type": "multipart/form-data; boundary=b"], body: form)
            #expect(put.status == 201)
            let line = #"{"id": "batch", "images": ["\#(encoded[0])", "\#(encoded[1])"]}"#
            #expect(try await Self.batch([line], server).map { $0["status"] as? Int } == [201])
            for (place, image) in images.enumerated() {
                let found = try await server.send("POST", "/v1/catalogs/shop/search", body: image).json["results"]
                let results = try #require(found as? [[String: Any]])
                var places: [String: Int] = [:]
                for result in results {
                    let id = try #require((result["entity"] as? [String: Any])?["id"] as? String)
                    places[id] = result["image"] as? Int
                }
                #expect(places == ["json": place, "form": 1 - place, "batch": place])
            }
            let refused: [[String: Any]] = [
                ["images": [String]()], ["images": encoded, "image": encoded[0]],
                ["images": [String](repeating: encoded[0], count: 257)],
            ]
            for body in refused {
                #expect(try await server.json("PUT", path + "json", body).code == "invalid-request")
            }
            // One that cannot be used refuses the entity as a whole.
            let damaged = [encoded[0], images[1].prefix(2000).base64EncodedString()]
            #expect(try await server.json("PUT", path + "new", ["images": damaged]).code == "unusable-image")
            #expect(try await server.send("GET", path + "new").code == "unknown-entity")
        }
    }

    @Test func metadataHasLimits() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            let image = try DemoCovers.image("glass-orchard").base64EncodedString()
            func put(labels: Int) async throws -> HTTPReply {
                let body: [String: Any] = ["image": image, "labels": [String](repeating: "", count: labels)]
                return try await server.json("PUT", "/v1/catalogs/shop/entities/a", body)
            }
            #expect(try await put(labels: 1000).status == 201)
            let refused = try await put(labels: 1001)
            #expect(try (refused.status, refused.code) == (400, "invalid-request"))
            // Each is a condition.
            let names = (0..<1000).map { ("\($0)", [String]()) }
            let search: [String: Any] = [
                "text": "t", "attributes": Dictionary(uniqueKeysWithValues: names.prefix(999)),
            ]
            // They are read, and then looked for among the attributes that entities have.
            #expect(try await server.json("POST", "/v1/catalogs/shop/search", search).code == "unknown-attribute")
            let tooMany: [String: Any] = [
                "text": "t", "attributes": Dictionary(uniqueKeysWithValues: names), "types": ["a"],
            ]
            #expect(try await server.json("POST", "/v1/catalogs/shop/search", tooMany).code == "invalid-request")
        }
    }

    @Test func aBatchAnswersALinePerEntity() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            var lines = try DemoCovers.ids.map { id in
                "{\"id\":\"\(id)\",\"image\":\"\(try DemoCovers.image(id).base64EncodedString())\"}"
            }
            lines.insert("{\"id\":\"broken\",\"image\":\"JVBERi0x\"}", at: 1)
            lines.insert("not JSON", at: 2)
            lines.insert("", at: 3)
            func revision() async throws -> Int {
                try #require(try await server.send("GET", "/v1/catalogs/shop").json["revision"] as? Int)
            }
            let before = try await revision()
            let results = try await Self.batch(lines, server)
            #expect(try await revision() == before + 1, "one commit for all")
            #expect(results.map { $0["status"] as? Int } == [201, 415, 400, 201, 201, 201, 201, 201])
            #expect(results.map { $0["line"] as? Int } == [1, 2, 3, 5, 6, 7, 8, 9])
            #expect((results[1]["problem"] as? [String: Any])?["code"] as? String == "unsupported-image")
            let entities = try await server.send("GET", "/v1/catalogs/shop").json["entities"] as? Int
            #expect(entities == DemoCovers.ids.count)
            let twice =
                "{\"id\":\"twice\",\"image\":\"\(try DemoCovers.image(DemoCovers.ids[0]).base64EncodedString())\"}"
            #expect(try await Self.batch([twice, twice], server).map { $0["status"] as? Int } == [201, 200])
            let plain = try await server.send(
                "POST", "/v1/catalogs/shop/entities:batch", ["Content-Type": "text/plain"], body: Data("{}".utf8))
            #expect(plain.status == 415)
        }
    }

    /// A client that follows the path of an entity “..” deletes the catalog.
    @Test func idsThatAreStepsOfAPath() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            #expect(try await server.send("PUT", "/v1/catalogs/shop").status == 201)
            let image = try DemoCovers.image("salt-signal").base64EncodedString()
            let lines = [".", "..", "..."].map { #"{"id": "\#($0)", "image": "\#(image)"}"# }
            #expect(try await Self.batch(lines, server).map { $0["status"] as? Int } == [400, 400, 201])
            #expect(try await server.send("DELETE", "/v1/catalogs/shop/").status == 404)
            #expect(try await server.send("DELETE", "/v1/catalogs/shop/entities/%2E%2E").status == 400)
            #expect(try await server.send("GET", "/v1/catalogs/shop/entities/...").status == 200)
        }
    }

    @Test func wrongValuesAreNamed() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let range = "a number out of the range of doubles"
            for id in ["true", "1e400", "[]"] {
                let reply = try await server.send(
                    "POST", "/v1/catalogs/covers/entities:batch", ["Content-Type": "application/x-ndjson"],
                    body: Data(#"{"id": \#(id), "image": "aaaa"}"#.utf8))
                let line = try reply.json
                let problem = try #require(line["problem"] as? [String: Any])
                #expect(problem["detail"] as? String == "“id”: neither a text nor an integer")
            }
            let entity = "/entities/salt-signal"
            let whole = "A number is not a whole number"
            for (method, path, body, detail) in [
                ("PATCH", entity, #"{"attributes": {"price": 1e400}}"#, "“attributes.price”: \(range)"),
                ("PATCH", entity, #"{"attributes": {"price": [1, 1e400]}}"#, range),
                ("POST", "/search", #"{"text": "a", "maxDistance": 1e400}"#, "“maxDistance”: \(range)"),
                ("POST", "/search", #"{"text": "a", "limit": 12345678901234567890123}"#, whole),
                ("POST", "/search", #"{"text": "a", "limit": 1.5}"#, whole),
                ("POST", "/search?max-distance=1e400", "", "“max-distance” is out of the range of doubles."),
            ] {
                let type = body.isEmpty ? "image/png" : "application/json"
                let data = body.isEmpty ? try DemoCovers.screenshot() : Data(body.utf8)
                let reply = try await server.send(
                    method, "/v1/catalogs/covers" + path, ["Content-Type": type], body: data)
                #expect(reply.status == 400 && reply.text.contains(detail), "\(body): \(reply.text)")
            }
        }
    }

    /// All threads are busy for longer than an image may take.
    @Test func waitingForAThreadIsNotDecoding() async throws {
        let limit = Duration.milliseconds(400)
        try await TestServer.run(
            covers: false, configure: { $0.limits.decodeTime = limit }
        ) { (server: TestServer) async throws -> Void in
            #expect(try await server.send("PUT", "/v1/catalogs/shop").status == 201)
            let busy = (0..<ComputeExecutor.shared.threadCount).map { _ in
                Task(executorPreference: ComputeExecutor.shared) { _ = usleep(1_000_000) }
            }
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("PUT", "/v1/catalogs/shop/entities/a", body: image).status == 201)
            for task in busy { await task.value }
        }
    }

    private static func batch(_ lines: [String], _ server: TestServer) async throws -> [[String: Any]] {
        let reply = try await server.send(
            "POST", "/v1/catalogs/shop/entities:batch", ["Content-Type": "application/x-ndjson"],
            body: Data(lines.joined(separator: "\n").utf8))
        return try reply.text.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    @Test func manyPutsAtOnceAreAllThereAfterARestart() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await TestServer.run(covers: false, folder: folder) { (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            try await withThrowingTaskGroup(of: Int.self) { group in
                for (index, id) in DemoCovers.ids.enumerated() {
                    group.addTask {
                        let image = try DemoCovers.image(id)
                        return try await server.send("PUT", "/v1/catalogs/shop/entities/\(index)", body: image).status
                    }
                }
                for try await status in group { #expect(status == 201) }
            }
        }
        try await TestServer.run(covers: false, folder: folder) { (server: TestServer) async throws -> Void in
            for (index, id) in DemoCovers.ids.enumerated() {
                let found = try await server.send(
                    "POST", "/v1/catalogs/shop/search?limit=1", body: try DemoCovers.image(id))
                #expect(try found.ids == ["\(index)"])
            }
        }
    }

    @Test func entitiesThatCannotBePut() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let image = try DemoCovers.image("salt-signal")
            func code(_ path: String, _ body: Data, _ type: String = "image/jpeg") async throws -> String? {
                try await server.send("PUT", path, ["Content-Type": type], body: body).code
            }
            let entities = "/v1/catalogs/covers/entities/"
            #expect(try await code(entities + "a", image.prefix(2000)) == "unusable-image")
            #expect(try await code(entities + "a", Data("%PDF-1".utf8)) == "unsupported-image")
            #expect(try await code(entities + "%00", image) == "invalid-request")
            #expect(try await code(entities + "a%0Ab", image) == "invalid-request")
            #expect(try await code(entities + "%FF", image) == "invalid-request")
            #expect(try await code(entities + String(repeating: "a", count: 513), image) == "invalid-request")
            #expect(try await code(entities + "a?titel=x", image) == "invalid-request")
            #expect(
                try await code(entities + "a", Data("{\"title\":\"x\"}".utf8), "application/json") == "invalid-request")
            #expect(try await code("/v1/catalogs/none/entities/a", image) == "unknown-catalog")
            #expect(try await server.send("GET", "/v1/catalogs/covers").json["entities"] as? Int == 6)
        }
    }
}
