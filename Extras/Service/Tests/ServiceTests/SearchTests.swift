import Foundation
import Lookalike
import Testing

@Suite struct SearchTests {
    /// Each entity may have labels of its own, and all of them were in every answer.
    @Test func answersHaveTheMostFrequentValues() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            for (id, labels) in [("salt-signal", 0..<900), ("glass-orchard", 900..<1100)] {
                let changed = try await server.json(
                    "PATCH", "/v1/catalogs/covers/entities/\(id)", ["labels": labels.map { "label \($0)" }])
                #expect(changed.status == 200)
            }
            let details = try await server.send("GET", "/v1/catalogs/covers").json
            let known = try #require(details["labels"] as? [String: Int])
            #expect(known.count == 1000 && known["demo"] == 4)
            let answer = try await server.json(
                "POST", "/v1/catalogs/covers/search", ["entity": "copper-horizon", "facets": ["label"]])
            let facets = try #require(try answer.json["facets"] as? [[String: Any]])
            let values = try #require(facets[0]["values"] as? [[String: Any]])
            #expect(values.count == 1000 && values[0]["value"] as? String == "demo")
        }
    }

    @Test func anImageAsTheBodyAsAFormAndInJSON() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let image = try DemoCovers.screenshot()
            let path = "/v1/catalogs/covers/search"
            let raw = try await server.send(
                "POST", path + "?facets=type,attribute.year", ["Content-Type": "image/png"], body: image)
            #expect(raw.status == 200)
            #expect(try raw.ids == ["copper-horizon"])
            let first = try #require((try raw.json["results"] as? [[String: Any]])?.first)
            let confidence = try #require(first["confidence"] as? Double)
            #expect(confidence > 0.5 && confidence <= 1)
            let outline = try #require(first["outline"] as? [[Double]])
            #expect(outline.count == 4 && outline.joined().allSatisfy { $0 > -0.1 && $0 < 1.1 })
            let facets = try #require(try raw.json["facets"] as? [[String: Any]])
            #expect(facets.map { $0["key"] as? String } == ["type", "attribute.year"])
            let timings = try #require(try raw.json["timings"] as? [String: Double])
            #expect(["decode", "network", "features", "verify", "total"].allSatisfy { timings[$0] != nil })

            let untold = try await server.send(
                "POST", path, ["Content-Type": "application/x-www-form-urlencoded"], body: image)
            #expect(try untold.ids == ["copper-horizon"])

            let form = Data.form(image: image, fields: ["limit": "1"], boundary: "b")
            let posted = try await server.send(
                "POST", path, ["Content-Type": "multipart/form-data; boundary=b"], body: form)
            #expect(try posted.ids == ["copper-horizon"])
            let json = try await server.json("POST", path, ["image": image.base64EncodedString(), "limit": 1])
            #expect(try json.ids == ["copper-horizon"])
        }
    }

    @Test func pagesAndFiltersOfAKeptQuery() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            let first = try await server.send(
                "POST", path + "?limit=2&min-confidence=0", body: try DemoCovers.image("glass-orchard"))
            var ids = try first.ids
            let query = try #require(try first.json["query"] as? String)
            var next = try first.json["next"] as? String
            while let cursor = next {
                let page = try await server.json(
                    "POST", path, ["query": query, "cursor": cursor, "limit": 2, "minConfidence": 0])
                ids += try page.ids
                next = try page.json["next"] as? String
            }
            #expect(ids.first == "glass-orchard")
            #expect(ids.sorted() == DemoCovers.ids.sorted())
            let singles = try await server.json(
                "POST", path, ["query": query, "minConfidence": 0, "types": ["single"]])
            #expect(Set(try singles.ids) == ["paper-lanterns", "copper-horizon", "salt-signal"])
            let one = try await server.json(
                "POST", path, ["query": query, "minConfidence": 0, "attributes": ["year": ["1999", "2003"]]])
            #expect(Set(try one.ids) == ["paper-lanterns", "salt-signal"])
            let other = try await server.json("POST", path, ["query": "unknown"])
            #expect(try (other.status, other.code) == (410, "query-expired"))
        }
    }

    /// Its candidates and its match threshold are those of the entities of its own filter alone.
    @Test func aKeptQueryOfAFilterHasNoOtherFilters() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            let first = try await server.send("POST", path + "?types=none", body: try DemoCovers.screenshot())
            #expect(try first.ids == [])
            let query = try #require(try first.json["query"] as? String)
            let other = try await server.json("POST", path, ["query": query])
            #expect(try (other.status, other.code) == (410, "query-expired"))
            #expect(try await server.json("POST", path, ["query": query, "types": ["none"]]).status == 200)
            let prints = try await server.send(
                "POST", path + "?types=none&effort=prints", body: try DemoCovers.image("salt-signal"))
            let kept = try #require(try prints.json["query"] as? String)
            #expect(try await server.json("POST", path, ["query": kept]).status == 410)
        }
    }

    @Test func aRegionMovesTheOutline() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search?limit=1"
            let image = try DemoCovers.screenshot()
            func outline(_ reply: HTTPReply) throws -> [Double] {
                let results = try reply.json["results"] as? [[String: Any]]
                return Array((try #require(results?.first?["outline"] as? [[Double]])).joined())
            }
            let whole = try outline(try await server.send("POST", path, body: image))
            let xs = stride(from: 0, to: 8, by: 2).map { whole[$0] }
            let ys = stride(from: 1, to: 8, by: 2).map { whole[$0] }
            let (left, top) = (max(0, xs.min()! - 0.03), max(0, ys.min()! - 0.03))
            let (right, bottom) = (min(1, xs.max()! + 0.03), min(1, ys.max()! + 0.03))
            let region = [left, top, right - left, bottom - top].map { String(format: "%.4f", $0) }
            let part = try await server.send("POST", path + "&region=" + region.joined(separator: ","), body: image)
            #expect(try part.ids == ["copper-horizon"])
            for (a, b) in zip(whole, try outline(part)) { #expect(abs(a - b) < 0.03) }
            let none = try await server.send("POST", path + "&region=0,0.9,0.1,0.1", body: image)
            #expect(try none.ids == [])
        }
    }

    @Test func asManyObjectsAsAreAskedFor() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let covers = try ["glass-orchard", "salt-signal"].map {
                try PixelBuffer(decoding: DemoCovers.image($0), named: $0)
            }
            let image = try Self.besideEachOther(covers).pngData()
            let path = "/v1/catalogs/covers/search"
            #expect(Set(try await server.send("POST", path, body: image).ids) == ["glass-orchard", "salt-signal"])
            let one = try await server.send("POST", path + "?max-objects=1", body: image).ids
            #expect(one.count == 1)
            let form = Data.form(image: image, fields: ["max-objects": "1"], boundary: "b")
            let posted = try await server.send(
                "POST", path, ["Content-Type": "multipart/form-data; boundary=b"], body: form)
            #expect(try posted.ids == one)
            let encoded = image.base64EncodedString()
            #expect(try await server.json("POST", path, ["image": encoded, "maxObjects": 1]).ids == one)
            for body: [String: Any] in [
                ["image": encoded, "maxObjects": 0], ["image": encoded, "maxObjects": 1001],
                ["entity": "salt-signal", "maxObjects": 1],
            ] {
                #expect(try await server.json("POST", path, body).code == "invalid-request")
            }
        }
    }

    @Test func keptQueriesSayThatImagesCameSince() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let covers = "/v1/catalogs/covers"
            let found = try await server.send("POST", covers + "/search", body: try DemoCovers.image("salt-signal"))
            let query = try #require(try found.json["query"] as? String)
            func isIncomplete() async throws -> Bool {
                try await server.json("POST", covers + "/search", ["query": query]).json["incomplete"] as? Bool ?? false
            }
            let renamed = try await server.json("PATCH", covers + "/entities/salt-signal", ["title": "Salt"])
            #expect(renamed.status == 200)
            #expect(try await !isIncomplete())
            let added = try await server.send(
                "PUT", covers + "/entities/again", body: try DemoCovers.image("left-of-centre"))
            #expect(added.status == 201)
            #expect(try await isIncomplete())
        }
    }

    @Test func whatTheTimeAllows() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            let image = try DemoCovers.image("salt-signal")
            let whole = try await server.send("POST", path + "?within=1000000s", body: image)
            #expect(try whole.ids == ["salt-signal"] && whole.json["incomplete"] == nil)
            // The prints are compared in any case.
            let early = try await server.send("POST", path + "?within=0ms", body: image)
            #expect(try early.ids == ["salt-signal"] && early.json["incomplete"] as? Bool == true)
            let results = try #require(try early.json["results"] as? [[String: Any]])
            #expect(results.allSatisfy { $0["outline"] == nil })
            let query = try #require(try early.json["query"] as? String)
            #expect(try await server.json("POST", path, ["query": query]).json["incomplete"] as? Bool == true)
            let encoded = image.base64EncodedString()
            let posted = try await server.json("POST", path, ["image": encoded, "within": "0.5ms"])
            #expect(try posted.json["incomplete"] as? Bool == true)
            for body: [String: Any] in [
                ["image": encoded, "within": "100"], ["image": encoded, "within": "-1s"],
                ["entity": "salt-signal", "within": "1s"],
            ] {
                let refused = try await server.json("POST", path, body)
                #expect(try (refused.status, refused.code) == (400, "invalid-request"))
            }
        }
    }

    /// RGB images of one height.
    private static func besideEachOther(_ images: [PixelBuffer]) throws -> PixelBuffer {
        let bytes = (0..<images[0].height).flatMap { y in
            images.flatMap { image in
                image.withUnsafeBytes { Array($0[(y * image.bytesPerRow)..<(y * image.bytesPerRow + image.width * 3)]) }
            }
        }
        return try PixelBuffer(
            bytes, width: images.reduce(0) { $0 + $1.width }, height: images[0].height, format: .rgb8)
    }

    @Test func aMirroredMatchIsMarked() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let upright = try DemoCovers.image("night-bus-to-porto")
            let mirrored = try Self.mirrored(PixelBuffer(decoding: upright, named: "cover")).pngData()
            for (image, isMirrored) in [(mirrored, true as Bool?), (upright, nil)] {
                let reply = try await server.send("POST", "/v1/catalogs/covers/search?limit=1", body: image)
                let first = try #require((try reply.json["results"] as? [[String: Any]])?.first)
                #expect((first["entity"] as? [String: Any])?["id"] as? String == "night-bus-to-porto")
                #expect(first["mirrored"] as? Bool == isMirrored && first["outline"] != nil)
            }
        }
    }

    private static func mirrored(_ image: PixelBuffer) throws -> PixelBuffer {
        let bytes = image.withUnsafeBytes { bytes in
            (0..<image.height).flatMap { y in
                (0..<image.width).reversed().flatMap { x in
                    let pixel = y * image.bytesPerRow + x * 3
                    return bytes[pixel..<(pixel + 3)]
                }
            }
        }
        return try PixelBuffer(bytes, width: image.width, height: image.height, format: .rgb8)
    }

    @Test func byPrintEntityTextAndLabels() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            let made = try await server.send("POST", "/v1/prints", body: try DemoCovers.image("salt-signal"))
            let print = try #require((try made.json["prints"] as? [[String: Any]])?.first)
            #expect(try await server.json("POST", path, ["print": print, "limit": 1]).ids == ["salt-signal"])
            let alike = try await server.json("POST", path, ["entity": "salt-signal", "limit": 5])
            #expect(Set(try alike.ids) == Set(DemoCovers.ids).subtracting(["salt-signal"]))
            let unknown = try await server.json("POST", path, ["entity": "nobody"])
            #expect(try (unknown.status, unknown.code) == (404, "unknown-entity"))
            #expect(try await server.json("POST", path, ["text": "night"]).ids == ["night-bus-to-porto"])
            // They have no distances.
            for field in [
                ["facets": ["type"]], ["maxDistance": 1.0], ["minConfidence": 0.5],
                ["region": ["x": 0, "y": 0, "width": 0.5, "height": 0.5]],
            ] as [[String: Any]] {
                for subject in [["text": "night"], ["labels": ["demo"]]] as [[String: Any]] {
                    let search = subject.merging(field) { first, _ in first }
                    #expect(try await server.json("POST", path, search).code == "invalid-request", "\(search)")
                }
            }
            let text = try await server.json("POST", path, ["text": "night", "cursor": "3fe0000000000000-1"])
            #expect(try text.code == "invalid-request")
            #expect(try await server.json("POST", path, ["labels": ["demo"]]).ids.count == 6)
            var other = print
            other["model"] = ["name": "x", "digest": "00"]
            let refused = try await server.json("POST", path, ["print": other])
            #expect(try (refused.status, refused.code) == (422, "other-model"))
        }
    }

    @Test func theFacetsOfMoreLikeThisDoNotCountTheEntity() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            let singles = ["types": ["single"], "facets": ["type"], "entity": "salt-signal"] as [String: Any]
            for limit in [1, 2, 10] {
                let answer = try await server.json("POST", path, singles.merging(["limit": limit]) { $1 })
                #expect(try answer.ids.count == min(limit, 2) && !answer.ids.contains("salt-signal"))
                let facets = try #require(try answer.json["facets"] as? [[String: Any]])
                let values = try #require(facets[0]["values"] as? [[String: Any]])
                #expect(values.count == 1 && values[0]["count"] as? Int == 2)
            }
        }
    }

    @Test func pagesOfAListing() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            var (ids, next): ([String], String?) = ([], nil)
            repeat {
                var search = ["types": ["single"], "limit": 2] as [String: Any]
                search["cursor"] = next
                let page = try await server.json("POST", path, search)
                #expect(try page.ids.count <= 2)
                ids += try page.ids
                next = try page.json["next"] as? String
            } while next != nil
            #expect(ids.count == 3 && Set(ids) == ["paper-lanterns", "copper-horizon", "salt-signal"])
            let unknown = try await server.json("POST", path, ["attributes": ["colour": ["red"]]])
            #expect(try (unknown.status, unknown.code) == (422, "unknown-attribute"))
        }
    }

    /// It ended the service.
    @Test func aPrintThatTheModelCannotHaveMade() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let made = try await server.send("POST", "/v1/prints", body: try DemoCovers.image("salt-signal"))
            var print = try #require((try made.json["prints"] as? [[String: Any]])?.first)
            // One and the largest number of half precision.
            for (half, count) in [(0x3C00, 1), (0x7BFF, 256), (0x3C00, 256)] as [(UInt16, Int)] {
                let halves = [UInt16](repeating: half, count: count)
                print["vector"] = halves.withUnsafeBytes { Data($0) }.base64EncodedString()
                for (method, path) in [("POST", "search"), ("PUT", "entities/a")] {
                    let refused = try await server.json(method, "/v1/catalogs/covers/\(path)", ["print": print])
                    #expect(try (refused.status, refused.code) == (400, "invalid-request"), "\(half), \(path)")
                }
            }
        }
    }

    private static let manyFacets = "facets=" + (0..<21).map { "attribute.a\($0)" }.joined(separator: ",")

    @Test(arguments: [
        ("limit=0", "invalid-request"), ("limit=x", "invalid-request"), ("limit=1&limit=2", "invalid-request"),
        ("max-distance=3", "invalid-request"), ("min-confidence=nan", "invalid-request"),
        ("effort=best", "invalid-request"), ("max-objects=0", "invalid-request"), ("max-objects=x", "invalid-request"),
        ("within=1", "invalid-request"), ("within=nans", "invalid-request"), ("within=1e3ms", "invalid-request"),
        ("region=0,0,2,1", "invalid-request"), ("region=0,0", "invalid-request"),
        ("region=0,0,nan,1", "invalid-request"), ("region=0,0,1e-300,1", "invalid-request"),
        ("region=1,0,1e-7,1", "invalid-request"), ("region=1.0000005,0,1e-7,1", "invalid-request"),
        ("facets=type,type", "invalid-request"), ("cursor=x", "invalid-request"), ("limti=3", "invalid-request"),
        ("facets=colour", "invalid-request"), (SearchTests.manyFacets, "invalid-request"),
        ("types=%FF", "invalid-request"),
        ("facets=attribute.colour", "unknown-attribute"),
    ])
    func whatIsWrongWithAQueryString(query: String, code: String) async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let reply = try await server.send(
                "POST", "/v1/catalogs/covers/search?" + query, body: try DemoCovers.image("salt-signal"))
            #expect(try reply.code == code)
            #expect(reply.headers["content-type"] == "application/problem+json")
            #expect(try reply.json["status"] as? Int == reply.status)
        }
    }

    /// They were repeated in whole.
    @Test(arguments: [
        "{\"entity\": \"LONG\"}", "{\"text\": \"a\", \"attributes\": {\"LONG\": 5}}", "{\"LONG\": 1}",
        "{\"entity\": \"salt-signal\", \"facets\": [\"attribute.LONG\"]}",
    ])
    func problemsQuoteLittleOfARequest(body: String) async throws {
        // Half of it is one character.
        let long = String(repeating: "x", count: 100_000) + String(repeating: "\u{301}", count: 100_000)
        for text in [long, String(long.reversed())] {
            try await TestServer.run { (server: TestServer) async throws -> Void in
                let reply = try await server.send(
                    "POST", "/v1/catalogs/covers/search", ["Content-Type": "application/json"],
                    body: Data(body.replacing("LONG", with: text).utf8))
                #expect((400...499).contains(reply.status) && reply.body.count < 3_000, "\(reply.body.count) bytes")
            }
        }
    }

    @Test func bodiesThatAreNoSearch() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            func outcome(_ type: String, _ body: String) async throws -> String {
                let reply = try await server.send("POST", path, ["Content-Type": type], body: Data(body.utf8))
                return "\(reply.status) \(try reply.code ?? "")"
            }
            #expect(try await outcome("image/jpeg", "") == "422 unusable-image")
            #expect(try await outcome("image/jpeg", "%PDF-1") == "415 unsupported-image")
            #expect(try await outcome("text/plain", "x") == "415 unsupported-media-type")
            #expect(try await outcome("application/json", "{") == "400 invalid-json")
            #expect(try await outcome("application/json", "{}") == "400 invalid-request")
            #expect(try await outcome("application/json", "{\"txet\":\"a\"}") == "400 invalid-json")
            #expect(try await outcome("application/json", "{\"text\":\"a\",\"entity\":\"b\"}") == "400 invalid-request")
            #expect(try await outcome("multipart/form-data; boundary=b", "--b--") == "400 invalid-form")
            #expect(try await outcome("multipart/form-data", "--b--") == "400 invalid-form")
        }
    }
}
