import Foundation
import Lookalike
@_spi(Service) import LookalikeService
import Testing

/// Lists without a photo, and attributes of JSON's own types.
@Suite struct BrowsingTests {
    private static let path = "/v1/catalogs/covers/entities"

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private static func ids(_ reply: HTTPReply) throws -> [String] {
        try #require(try reply.json["entities"] as? [[String: Any]]).compactMap { $0["id"] as? String }
    }

    /// Every combination of a filter, a text, an order and facets has the entities that plain lists have.
    @Test func listsInAnyOrderInPages() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let prices: [String: Any] = [
                "slow-meridian": 19.9, "paper-lanterns": 5, "night-bus-to-porto": "free", "copper-horizon": 100,
                "glass-orchard": 12.5,
            ]
            for (id, price) in prices {
                let reply = try await server.json("PATCH", Self.path + "/\(id)", ["attributes": ["price": price]])
                #expect(reply.status == 200, "\(reply.text)")
            }
            // Numbers, texts, and no value.
            let ascending = [
                "paper-lanterns", "glass-orchard", "slow-meridian", "copper-horizon", "night-bus-to-porto",
                "salt-signal",
            ]
            let descending = Array(ascending[..<4].reversed() + ascending[4...])
            let filters: [(String, Set<String>)] = [
                ("everything", Set(DemoCovers.ids)), ("price in 5..20", Set(ascending[..<3])),
                ("type = album", ["slow-meridian", "night-bus-to-porto", "glass-orchard"]), ("type = none", []),
            ]
            let texts: [(String, Set<String>)] = [
                ("", Set(DemoCovers.ids)), ("demo", Set(DemoCovers.ids)), ("or", ["glass-orchard"]),
                ("night po", ["night-bus-to-porto"]),
            ]
            let orders: [(String, [String]?)] = [
                ("", nil), ("price", ascending), ("-price", descending), ("id", DemoCovers.ids.sorted()),
                ("-title", DemoCovers.ids.sorted().reversed()),
            ]
            for ((filter, filtered), (text, found), (sort, order)) in filters.flatMap({ filter in
                texts.flatMap { text in orders.map { (filter, text, $0) } }
            }) {
                let expected = filtered.intersection(found)
                var query = "?limit=2&facets=type,attribute.price&filter=\(Self.escaped(filter))"
                if !text.isEmpty { query += "&text=\(Self.escaped(text))" }
                if !sort.isEmpty { query += "&sort=\(sort)" }
                var ids: [String] = []
                var cursor = ""
                repeat {
                    let page = try await server.send("GET", Self.path + query + cursor)
                    #expect(page.status == 200, "\(query): \(page.text)")
                    ids += try Self.ids(page)
                    cursor = (try page.json["next"] as? String).map { "&cursor=\($0)" } ?? ""
                    let facets = try #require(try page.json["facets"] as? [[String: Any]])
                    #expect(facets.compactMap { $0["key"] as? String } == ["type", "attribute.price"])
                    let counts = try facets.map { facet in
                        try #require(facet["values"] as? [[String: Any]]).compactMap { $0["count"] as? Int }
                            .reduce(0, +)
                    }
                    #expect(counts == [expected.count, expected.subtracting(["salt-signal"]).count], "\(query)")
                } while !cursor.isEmpty && ids.count < 10
                #expect(ids.count == expected.count && Set(ids) == expected, "\(query)")
                if let order { #expect(ids == order.filter(expected.contains), "\(query)") }
                let lines = try await server.send(
                    "GET", Self.path + query.replacing("limit=2&facets=type,attribute.price&", with: "") + "&fields=id",
                    ["Accept": "application/x-ndjson"])
                #expect(lines.text.split(separator: "\n").count == ids.count, "\(query)")
            }
        }
    }

    @Test func countsOfRanges() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            for (query, counts) in [
                ("counts=year+%3C+2000&counts=year+in+2000..2002", [2, 3]),
                ("filter=type+%3D+album&limit=1&counts=year+%3C+2000&counts=title+contains+ER", [1, 1]),
                ("text=salt&counts=everything", [1]),
            ] {
                let reply = try await server.send("GET", Self.path + "?" + query)
                let found = try #require(try reply.json["counts"] as? [[String: Any]], "\(reply.text)")
                #expect(found.compactMap { $0["count"] as? Int } == counts, "\(query): \(reply.text)")
                #expect(
                    query.contains(
                        (found[0]["filter"] as? String ?? "").replacing(" ", with: "+").replacing("<", with: "%3C")))
            }
        }
    }

    @Test func whatAListRefuses() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let cursor = try #require(
                try await server.send("GET", Self.path + "?limit=2&sort=title").json["next"] as? String)
            for (query, status, words) in [
                ("sort=yaer", 422, "“year”"), ("facets=attribute.yeer", 422, "“year”"), ("sort=label", 400, "sort"),
                ("sort=", 400, "sort"), ("sort=-", 400, "sort"), ("sort-as=date", 400, "sort"),
                ("sort=year&sort-as=text", 400, "date"), ("facets=year", 400, "facet"), ("srot=year", 400, "“sort”"),
                ("facets=type,type", 400, "twice"), ("cursor=\(cursor)", 400, "cursor"),
                ("sort=-title&cursor=\(cursor)", 400, "cursor"), ("sort=year&cursor=\(cursor)", 400, "cursor"),
                ("cursor=x", 400, "cursor"),
                ("text=\(String(repeating: "a", count: 1001))", 400, "text"), ("typed=1", 400, "typed"),
                ("counts=yaer+%3C+1", 422, "“year”"), ("counts=year+%3C", 400, "condition"),
                (Array(repeating: "counts=everything", count: 51).joined(separator: "&"), 400, "counts"),
            ] {
                let reply = try await server.send("GET", Self.path + "?" + query)
                #expect(reply.status == status && reply.text.contains(words), "\(query): \(reply.text)")
            }
            let lines = ["Accept": "application/x-ndjson"]
            for query in ["facets=type", "counts=everything"] {
                #expect(try await server.send("GET", Self.path + "?" + query, lines).status == 400)
            }
        }
    }

    /// The next part was looked up by the rank of the last entity, which changes: some came twice, and others not.
    @Test func linesAreOfTheMomentWhenTheyBegin() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try #require(Bundle.module.url(forResource: "Fixtures/towers", withExtension: "safetensors"))
        let pixels = try PixelBuffer((0..<192).map { UInt8($0) }, width: 8, height: 8, format: .rgb8)
        let ids = (0..<400).map { "\($0)" }
        // More than the system keeps of an answer that nobody reads.
        let note = String(repeating: "x", count: 60_000)
        let items = ids.map {
            IndexItem(
                CatalogEntity(id: $0, title: "a common \($0)", attributes: ["note": note]), image: .pixels(pixels))
        }
        // The catalog is the service's when the indexer is gone.
        let report = try await CatalogIndexer(
            at: folder.appendingPathComponent("many"), model: FeaturePrintModel(contentsOf: file)
        ).run(over: items).report()
        #expect(report.problems.isEmpty)
        try await TestServer.run(folder: folder) { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/many/entities"
            for query in ["?text=common", "?sort=-title", "?filter=exists+note"] {
                let reply = try await HTTPClient(port: server.port).send(
                    "GET", path + query, ["Accept": "application/x-ndjson"], lateBody: Data()
                ) {
                    let titles = ["399": "common", "0": "a common and a very long title of it", "200": "b"]
                    for (id, title) in titles {
                        let changed = try await server.json("PATCH", path + "/\(id)", ["title": title])
                        #expect(changed.status == 200)
                    }
                }
                let found = try reply.text.split(separator: "\n").map { line in
                    let entity = try JSONSerialization.jsonObject(with: Data(line.utf8))
                    return try #require(entity as? [String: Any])["id"] as? String
                }
                #expect(found.count == 400 && Set(found) == Set(ids), "\(query)")
                for id in ["0", "200", "399"] {
                    _ = try await server.json("PATCH", path + "/\(id)", ["title": "a common \(id)"])
                }
            }
        }
    }

    /// They are kept as texts, and compared as what they are.
    @Test func attributesOfTypesOfJSON() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let image = try DemoCovers.image("salt-signal").base64EncodedString()
            let attributes =
                #"{"price":9.90,"year":1998,"sold":false,"code":"007","ean":"4006381333931","#
                + #""digits":"9.90","long":12345678901234567890123,"note":"1 e","sizes":[38, 39.50, "XL", true],"none":[]}"#
            let line = #"{"id":"a","image":"\#(image)","attributes":\#(attributes)}"#
            let batch = try await server.send(
                "POST", Self.path + ":batch", ["Content-Type": "application/x-ndjson"], body: Data(line.utf8))
            #expect(batch.text.contains("\"status\":201"), "\(batch.text)")
            let texts = try #require(
                try await server.send("GET", Self.path + "/a").json["attributes"] as? [String: String])
            #expect(
                texts == [
                    "price": "9.9", "year": "1998", "sold": "false", "code": "007", "ean": "4006381333931",
                    "digits": "9.90", "long": "12345678901234567890123", "note": "1 e",
                    "sizes": #"[38,39.5,"XL",true]"#, "none": "[]",
                ])
            let typed =
                #""attributes":{"code":"007","digits":9.9,"ean":4006381333931,"long":"12345678901234567890123","#
                + #""none":[],"note":"1 e","price":9.9,"sizes":[38,39.5,"XL",true],"sold":false,"year":1998}"#
            let search = #"{"filter":"year = 1998 and code = 007","typed":true}"#
            let replies = [
                try await server.send("GET", Self.path + "/a?typed=true"),
                try await server.send("GET", Self.path + "?typed=true&filter=code+%3D+007"),
                try await server.send(
                    "POST", "/v1/catalogs/covers/search", ["Content-Type": "application/json"],
                    body: Data(search.utf8)),
            ]
            for reply in replies { #expect(reply.text.contains(typed), "\(reply.text)") }
            for (attributes, count) in [
                (#"{"price":[9.90]}"#, 1), (#"{"digits":[9.9, 7]}"#, 1), (#"{"digits":["9.9"]}"#, 0),
                (#"{"sold":[false]}"#, 1), (#"{"sold":[true]}"#, 0), (#"{"year":[1998, 1999]}"#, 3),
                (#"{"code":[7]}"#, 1), (#"{"code":["7"]}"#, 0), (#"{"long":[12345678901234567890123]}"#, 1),
                (#"{"sizes":[39.50]}"#, 1), (#"{"sizes":[40, "xl"]}"#, 1), (#"{"sizes":[40]}"#, 0),
            ] {
                let reply = try await server.send(
                    "POST", "/v1/catalogs/covers/search", ["Content-Type": "application/json"],
                    body: Data(#"{"attributes":\#(attributes)}"#.utf8))
                #expect(try reply.ids.count == count, "\(attributes): \(reply.text)")
            }
            let patch = try await server.send(
                "PATCH", Self.path + "/a", ["Content-Type": "application/json"],
                body: Data(#"{"attributes":{"price":-1e2,"sold":true,"code":null}}"#.utf8))
            let changed = try #require(try patch.json["attributes"] as? [String: String])
            #expect(changed["price"] == "-100" && changed["sold"] == "true" && changed["code"] == nil)
            #expect(try Self.ids(try await server.send("GET", Self.path + "?filter=price+%3C+0")) == ["a"])
            for value in ["[[1]]", "{}", "[null]"] {
                let reply = try await server.send(
                    "PATCH", Self.path + "/a", ["Content-Type": "application/json"],
                    body: Data(#"{"attributes":{"price":\#(value)}}"#.utf8))
                #expect(try (reply.status, reply.code) == (400, "invalid-json"), "\(value): \(reply.text)")
            }
        }
    }
}
