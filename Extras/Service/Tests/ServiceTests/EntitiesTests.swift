import Foundation
@_spi(Service) import LookalikeService
import Testing

/// Entities by a filter: lists, changes, removals; and changes that expect something.
@Suite struct EntitiesTests {
    private static let path = "/v1/catalogs/covers/entities"

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    @Test func pagesWithAFilterAndSomeFields() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            // One without type and labels is listed, too.
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("PUT", Self.path + "/bare", body: image).status == 201)
            var ids: [String] = []
            var cursor = ""
            repeat {
                let page = try await server.send("GET", Self.path + "?limit=3&fields=id" + cursor).json
                let entities = try #require(page["entities"] as? [[String: Any]])
                #expect(entities.count <= 3 && entities.allSatisfy { Array($0.keys) == ["id"] })
                ids += entities.compactMap { $0["id"] as? String }
                cursor = (page["next"] as? String).map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            #expect(Set(ids) == Set(DemoCovers.ids + ["bare"]) && ids.count == 7)
            let filter = Self.escaped("type = album and year < 2001")
            let some = try await server.send("GET", Self.path + "?filter=\(filter)").json
            let entities = try #require(some["entities"] as? [[String: Any]])
            #expect(entities.compactMap { $0["id"] as? String }.sorted() == ["night-bus-to-porto", "slow-meridian"])
            #expect(entities.first?["thumbnail"] as? String != nil)
        }
    }

    @Test func allOfThemAsLines() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let reply = try await server.send("GET", Self.path + "?fields=id,title", ["Accept": "application/x-ndjson"])
            #expect(reply.headers["content-type"] == "application/x-ndjson")
            let lines = try reply.text.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: String])
            }
            #expect(Set(lines.compactMap { $0["id"] }) == Set(DemoCovers.ids))
            #expect(lines.allSatisfy { Set($0.keys) == ["id", "title"] })
        }
    }

    /// They were ignored: a removal with `dry-run=true` removed, and a list with a filter was that of all.
    @Test func fieldsAndTagsThatAreNotReadAreRefused() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let (covers, entity) = ("/v1/catalogs/covers", Self.path + "/salt-signal")
            #expect(try await server.send("PUT", "/v1/catalogs/next").status == 201)
            let (json, lines) = ("application/json", "application/x-ndjson")
            for (method, path, type, body) in [
                ("GET", "/v1/catalogs?limit=1", json, ""), ("GET", covers + "?fields=name", json, ""),
                ("PUT", "/v1/catalogs/new?dry-run=true", json, ""), ("DELETE", covers + "?dry-run=true", json, ""),
                ("POST", covers + "/swap?dry-run=true", json, #"{"with": "next"}"#),
                ("POST", covers + "/snapshot?since=1", json, ""),
                ("POST", covers + "/entities:batch?dry-run=true", lines, #"{"id": "salt-signal", "delete": true}"#),
                ("PATCH", entity + "?undo=true", json, #"{"title": null}"#),
                ("DELETE", entity + "?undo=true", json, ""),
                ("POST", entity + "/undo?dry-run=true", json, ""), ("GET", "/v1/tasks?status=running", json, ""),
                ("DELETE", "/v1/tasks/a?force=true", json, ""),
            ] {
                let reply = try await server.send(method, path, ["Content-Type": type], body: Data(body.utf8))
                #expect(try (reply.status, reply.code) == (400, "invalid-request"), "\(method) \(path)")
                #expect(reply.text.contains("unknown field"))
            }
            for (method, path, type, body) in [
                ("DELETE", covers, json, ""), ("POST", covers + "/swap", json, #"{"with": "next"}"#),
                ("PATCH", Self.path + "?filter=everything", json, #"{"title": null}"#),
                ("DELETE", Self.path + "?filter=everything", json, ""),
                ("POST", covers + "/entities:batch", lines, #"{"id": "salt-signal", "delete": true}"#),
                ("POST", covers + "/restore", "application/x-tar", ""),
            ] {
                for field in ["If-Match", "If-None-Match"] {
                    let headers = ["Content-Type": type, field: "\"a\""]
                    let reply = try await server.send(method, path, headers, body: Data(body.utf8))
                    #expect(try (reply.status, reply.code) == (400, "invalid-request"), "\(method) \(path)")
                }
            }
            #expect(try await server.send("PUT", covers, ["If-None-Match": "*"]).code == "precondition-failed")
            #expect(try await server.send("PUT", covers, ["If-Match": "*"]).code == "invalid-request")
            for (hasFeatures, status) in [(true, 200), (false, 409)] {
                #expect(try await server.json("PUT", covers, ["localFeatures": hasFeatures]).status == status)
            }
            #expect(try await server.send("PUT", "/v1/catalogs/new", ["If-None-Match": "*"]).status == 201)
            #expect(try await server.send("GET", covers).json["entities"] as? Int == DemoCovers.ids.count)
            #expect(try await server.send("GET", entity).json["title"] as? String != nil)
        }
    }

    /// Tags were those of thumbnails: prints have none, and images may have the same one.
    @Test func anotherPrintOrImageIsAnotherTag() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let images = try ["salt-signal", "night-bus-to-porto"].map(DemoCovers.image)
            var bodies: [(type: String, data: Data)] = []
            for image in images {
                let made = try await server.send("POST", "/v1/prints", body: image).json
                let print = try #require((made["prints"] as? [Any])?.first)
                bodies.append(("application/json", try JSONSerialization.data(withJSONObject: ["print": print])))
            }
            // What follows the end of a JPEG file is no part of the picture.
            bodies += [("image/jpeg", images[0]), ("image/jpeg", images[0] + Data(count: 4))]
            var tags: [String] = []
            for body in bodies {
                var headers = ["Content-Type": body.type]
                if let last = tags.last { headers["If-Match"] = last }
                let put = try await server.send("PUT", Self.path + "/new", headers, body: body.data)
                #expect(put.status < 300, "\(put.text)")
                tags.append(try #require(put.headers["etag"]))
                #expect(try await server.send("GET", Self.path + "/new").headers["etag"] == tags.last)
            }
            #expect(Set(tags).count == bodies.count)
            for tag in tags.dropLast() {
                let put = try await server.send("PUT", Self.path + "/new", ["If-Match": tag], body: images[1])
                #expect(put.status == 412)
            }
        }
    }

    /// The last of the values was taken.
    @Test func aKeyThatComesTwiceIsRefused() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let entity = Self.path + "/salt-signal"
            let title = try await server.send("GET", entity).json["title"] as? String
            let image = try DemoCovers.image("salt-signal").base64EncodedString()
            let type = "application/json"
            for (method, path, type, body, key) in [
                ("PATCH", entity, type, #"{"title": "a", "title": "b"}"#, "title"),
                ("PATCH", entity, type, #"{"attributes": {"size": 1, "si\u007ae": 2}}"#, "size"),
                ("PATCH", Self.path + "?filter=everything", type, #"{"type": "a", "type": null}"#, "type"),
                ("PUT", entity, type, #"{"image": "\#(image)", "title": "a", "title": "b"}"#, "title"),
                ("POST", "/v1/catalogs/covers/search", type, #"{"filter": "everything", "filter": "x"}"#, "filter"),
                (
                    "POST", Self.path + ":batch", "application/x-ndjson",
                    #"{"id": "salt-signal", "id": "a", "delete": true}"#, "id"
                ),
            ] {
                let reply = try await server.send(method, path, ["Content-Type": type], body: Data(body.utf8))
                #expect(reply.text.contains("has the key “\(key)” twice"), "\(method) \(path): \(reply.text)")
                #expect(reply.text.contains("\"status\":400"))
            }
            #expect(try await server.send("GET", entity).json["title"] as? String == title)
        }
    }

    @Test func changesAndRemovalsByAFilter() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let albums = Self.escaped("type = album")
            let json = ["Content-Type": "application/merge-patch+json"]
            let patch = Data("{\"attributes\":{\"price\":\"9.90\"},\"type\":\"record\"}".utf8)
            let changed = try await server.send("PATCH", Self.path + "?filter=\(albums)", json, body: patch)
            #expect(changed.status == 200)
            #expect(try changed.json["changed"] as? Int == 3)
            let cheap = Self.escaped("price < 10")
            let found = try await server.send("GET", Self.path + "?filter=\(cheap)&fields=type").json["entities"]
            #expect(found as? [[String: String]] == Array(repeating: ["type": "record"], count: 3))
            // Searches take the same filter.
            let search = try await server.json("POST", "/v1/catalogs/covers/search", ["filter": "price < 10"])
            #expect(try search.ids.count == 3)
            let removed = try await server.send("DELETE", Self.path + "?filter=\(cheap)")
            #expect(try removed.json["deleted"] as? Int == 3)
            #expect(try await server.send("GET", "/v1/catalogs/covers").json["entities"] as? Int == 3)
            // Nothing is changed where nobody said what.
            for query in ["", "?filter=", "?filter=%20", "?filter=type+%3D", "?fliter=everything"] {
                for method in ["DELETE", "PATCH"] {
                    let reply = try await server.send(method, Self.path + query, json, body: patch)
                    #expect(try (reply.status, reply.code) == (400, "invalid-request"), "\(method) \(query)")
                }
            }
            #expect(try await server.send("DELETE", Self.path + "?filter=everything").json["deleted"] as? Int == 3)
        }
    }

    /// A misspelled name that is negated selected every entity.
    @Test func changesNothingByAnUnknownNameNorMoreThanExpected() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let json = ["Content-Type": "application/merge-patch+json"]
            let patch = Data("{\"title\":\"x\"}".utf8)
            for (filter, code) in [
                ("prise != 3", "unknown-attribute"), ("titel = x", "unknown-attribute"),
                ("type != albun", "unknown-type"),
            ] {
                let query = "?filter=" + Self.escaped(filter)
                // A type that no entity has at present is no error to who reads.
                let isReadable = code == "unknown-type"
                for method in isReadable ? ["DELETE", "PATCH"] : ["GET", "DELETE", "PATCH"] {
                    let body = method == "PATCH" ? patch : nil
                    let reply = try await server.send(method, Self.path + query, json, body: body)
                    #expect(try (reply.status, reply.code) == (422, code), "\(method) \(filter): \(reply.text)")
                }
                let search = try await server.json("POST", "/v1/catalogs/covers/search", ["filter": filter])
                if isReadable { continue }
                #expect(try (search.status, search.code) == (422, code), "\(filter)")
            }
            let all = Self.path + "?filter=everything&at-most="
            for method in ["DELETE", "PATCH"] {
                let reply = try await server.send(method, all + "5", json, body: patch)
                #expect(try (reply.status, reply.code) == (412, "precondition-failed"), "\(method): \(reply.text)")
                #expect(try await server.send(method, all + "-1", json, body: patch).status == 400)
            }
            #expect(try await server.send("GET", "/v1/catalogs/covers").json["entities"] as? Int == 6)
            #expect(try await server.send("DELETE", all + "6").json["deleted"] as? Int == 6)
        }
    }

    /// Shops along the Danube from Linz on, some kilometers from each other.
    @Test func rangesOfNumbersAndDatesAndNearAPoint() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            for (index, id) in DemoCovers.ids.enumerated() {
                let attributes = [
                    "price": "\(9 + index).50", "since": "2026-11-0\(index + 1)", "latitude": "48.30",
                    "longitude": "\(14.29 + 0.1 * Double(index))",
                ]
                let reply = try await server.json("PATCH", Self.path + "/\(id)", ["attributes": attributes])
                #expect(reply.status == 200)
            }
            for (filter, count) in [
                ("price < 11", 2), ("price >= 14.5", 1), ("price < 11 or price > 13", 4),
                ("since < 2026-11-03", 2), ("since >= 2026-11-02 and since <= 2026-11-04", 3),
                ("within 5 km of (48.3069, 14.2858)", 1), ("within 10 km of (48.3, 14.29) and price > 9.5", 1),
            ] {
                let listed = try await server.send("GET", Self.path + "?fields=id&filter=" + Self.escaped(filter))
                #expect((try listed.json["entities"] as? [Any])?.count == count, "\(filter): \(listed.text)")
                let search = try await server.json("POST", "/v1/catalogs/covers/search", ["filter": filter])
                #expect(try search.ids.count == count, "\(filter)")
            }
        }
    }

    @Test func aBatchRemovesInTheOrderOfItsLines() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let image = try DemoCovers.image("salt-signal").base64EncodedString()
            let lines = [
                "{\"id\":\"new\",\"image\":\"\(image)\"}", "{\"id\":\"new\",\"delete\":true}",
                "{\"id\":\"salt-signal\",\"delete\":true}", "{\"id\":\"none\",\"delete\":true}",
                "{\"id\":\"salt-signal\",\"delete\":true}", "{\"id\":\"last\",\"image\":\"\(image)\"}",
                "{\"id\":\"last\",\"delete\":false}",
            ]
            let reply = try await server.send(
                "POST", Self.path + ":batch", ["Content-Type": "application/x-ndjson"],
                body: Data(lines.joined(separator: "\n").utf8))
            let statuses = try reply.text.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])["status"] as? Int
            }
            #expect(statuses == [201, 204, 204, 404, 404, 201, 400])
            let ids = try await server.send("GET", Self.path + "?fields=id").json["entities"] as? [[String: String]]
            #expect(
                Set((ids ?? []).compactMap { $0["id"] })
                    == Set(DemoCovers.ids).subtracting(["salt-signal"]).union(["last"]))
        }
    }

    /// nginx does so to the tags of what it compresses, and each change was refused then.
    @Test func tagsThatAProxyHasMadeWeak() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = Self.path + "/salt-signal"
            let tag = try #require(try await server.send("GET", path).headers["etag"])
            let weak = ["Content-Type": "application/json", "If-Match": "\"x\", W/\(tag)"]
            let body = Data("{\"title\":\"A\"}".utf8)
            #expect(try await server.send("PATCH", path, weak, body: body).status == 200)
            #expect(try await server.send("PATCH", path, weak, body: body).status == 412)
        }
    }

    /// Two clients that read an entity overwrote each other's changes.
    @Test func conflictsAreSeen() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = Self.path + "/salt-signal"
            let json = ["Content-Type": "application/json"]
            let tag = try #require(try await server.send("GET", path).headers["etag"])
            #expect(try await server.send("GET", path, ["If-None-Match": tag]).status == 304)
            let image = try DemoCovers.image("glass-orchard")
            let exists = try await server.send("PUT", path, ["If-None-Match": "*"], body: image)
            #expect(try (exists.status, exists.code) == (412, "precondition-failed"))
            for tags in [tag, "\"x\", W/\(tag)"] {
                #expect(try await server.send("PUT", path, ["If-None-Match": tags], body: image).status == 412)
            }
            let changed = try await server.send(
                "PATCH", path, json.merging(["If-Match": tag]) { $1 }, body: Data("{\"title\":\"A\"}".utf8))
            #expect(changed.status == 200)
            let second = try #require(changed.headers["etag"])
            #expect(second != tag)
            for method in ["PUT", "PATCH", "DELETE"] {
                let body = method == "PUT" ? image : Data("{\"title\":\"B\"}".utf8)
                let headers = method == "PATCH" ? json : [:]
                let late = try await server.send(method, path, headers.merging(["If-Match": tag]) { $1 }, body: body)
                #expect(try (late.status, late.code) == (412, "precondition-failed"), "\(method)")
            }
            // Another image is another entity, too.
            let put = try await server.send("PUT", path + "?title=A", ["If-Match": second], body: image)
            #expect(put.status == 200 && put.headers["etag"] != second)
            #expect(try await server.send("DELETE", path, ["If-Match": "*"]).status == 204)
            #expect(try await server.send("PUT", path, ["If-Match": "*"], body: image).status == 412)
            // One of many is the first.
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask { try await server.send("PUT", path, ["If-None-Match": "*"], body: image).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201, 412, 412, 412])
        }
    }

    /// All that is stored of what was replaced comes back, unless the entity has been changed since.
    @Test func aReplacementIsUndone() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = Self.path + "/salt-signal"
            let (own, other) = (try DemoCovers.image("salt-signal"), try DemoCovers.image("glass-orchard"))
            let plain = try await server.send("PUT", path + "?undo=false", body: own)
            #expect(plain.headers["x-undo"] == nil)
            #expect(try await server.send("PUT", Self.path + "/new?undo=true", body: other).headers["x-undo"] == nil)
            let put = try await server.send("PUT", path + "?undo=true&title=Other", body: other)
            #expect(put.status == 200 && put.headers["x-undo"] == "600")
            let tag = try #require(put.headers["etag"])
            let found = try await server.send("POST", "/v1/catalogs/covers/search", body: own)
            #expect(try !found.ids.contains("salt-signal"))
            for (headers, code) in [
                ([:], "invalid-request"), (["If-Match": "*"], "invalid-request"),
                (["If-Match": plain.headers["etag"] ?? ""], "undo-expired"),
            ] {
                #expect(try await server.send("POST", path + "/undo", headers).code == code)
            }
            let undone = try await server.send("POST", path + "/undo", ["If-Match": tag])
            #expect(undone.status == 200 && undone.headers["etag"] == plain.headers["etag"])
            let again = try await server.send("POST", "/v1/catalogs/covers/search", body: own)
            let result = try #require((try again.json["results"] as? [[String: Any]])?.first)
            #expect((result["entity"] as? [String: Any])?["id"] as? String == "salt-signal")
            // Local features are there, too.
            #expect(result["inliers"] as? Int ?? 0 > 10)
            #expect(try await server.send("POST", path + "/undo", ["If-Match": tag]).code == "precondition-failed")
        }
    }

    @Test func twoCatalogsAreSwapped() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("PUT", "/v1/catalogs/next").status == 201)
            #expect(try await server.send("PUT", "/v1/catalogs/next/entities/new", body: image).status == 201)
            let search = "/v1/catalogs/covers/search"
            let query = try #require(try await server.send("POST", search, body: image).json["query"] as? String)
            /// What each name stands for, as the list and the catalog itself say.
            func ids() async throws -> [String: String] {
                let listed = try await server.send("GET", "/v1/catalogs").json["catalogs"] as? [[String: Any]] ?? []
                let ids = Dictionary(
                    uniqueKeysWithValues: listed.compactMap { entry in
                        (entry["name"] as? String).map { ($0, entry["id"] as? String ?? "") }
                    })
                for (name, id) in ids {
                    #expect(try await server.send("GET", "/v1/catalogs/\(name)").json["id"] as? String == id)
                }
                return ids
            }
            let before = try await ids()
            #expect(before.count == 2 && Set(before.values).count == 2 && !before.values.contains(""))
            #expect(try await server.json("POST", "/v1/catalogs/covers/swap", ["with": "next"]).status == 204)
            #expect(try await ids() == ["covers": before["next"], "next": before["covers"]])
            #expect(try await server.send("POST", search, body: image).ids == ["new"])
            #expect(try await server.send("POST", "/v1/catalogs/next/search", body: image).ids == ["salt-signal"])
            // What was kept was kept of the other one.
            #expect(try await server.json("POST", search, ["query": query]).code == "query-expired")
            for name in ["covers", "next"] {
                #expect(try await server.send("PUT", "/v1/catalogs/\(name)/entities/later", body: image).status == 201)
            }
            for (other, status) in [("none", 404), ("covers", 400), ("../covers", 400)] {
                #expect(try await server.json("POST", "/v1/catalogs/covers/swap", ["with": other]).status == status)
            }
        }
    }
}
