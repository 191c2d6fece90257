import Foundation
import Testing

@Suite struct CatalogTests {
    @Test func whatACatalogSaysOfItself() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let list = try await server.send("GET", "/v1/catalogs").json["catalogs"] as? [[String: Any]]
            #expect(list?.map { $0["name"] as? String } == ["covers"])
            let catalog = try await server.send("GET", "/v1/catalogs/covers").json
            #expect(catalog["types"] as? [String: Int] == ["album": 3, "single": 3])
            #expect(catalog["labels"] as? [String: Int] == ["demo": 6])
            #expect(catalog["attributes"] as? [String: Int] == ["year": 6])
            let label = Data("{\"labels\":[\"demo\",\"new\"]}".utf8)
            let patch = try await server.send(
                "PATCH", "/v1/catalogs/covers/entities/salt-signal", ["Content-Type": "application/json"], body: label)
            #expect(patch.status == 200)
            let changed = try await server.send("GET", "/v1/catalogs/covers").json
            #expect(changed["labels"] as? [String: Int] == ["demo": 6, "new": 1])
        }
    }

    @Test func aRemovedCatalogIsGone() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            #expect(try await server.send("DELETE", "/v1/catalogs/covers").status == 204)
            #expect(try await server.send("GET", "/v1/catalogs/covers").code == "unknown-catalog")
            #expect(try await server.send("DELETE", "/v1/catalogs/covers").code == "unknown-catalog")
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder.path).isEmpty)
            #expect(try await server.send("PUT", "/v1/catalogs/covers").status == 201)
        }
    }

    @Test(arguments: ["..", "%2E%2E", "..%2Fx", ".hidden", "a%2Fb", "a%00", "%2Ftmp%2Fx", "a b", "é"])
    func namesThatWouldLeaveTheFolder(name: String) async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let escaped = name.replacing(" ", with: "%20").replacing("é", with: "%C3%A9")
            for method in ["PUT", "GET", "DELETE"] {
                let reply = try await server.send(method, "/v1/catalogs/\(escaped)")
                #expect(reply.status == 400 || reply.status == 404)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder.path) == ["covers"])
        }
    }

    @Test func aSnapshotBringsBackWhatWas() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot")
            #expect(snapshot.status == 200)
            #expect(snapshot.headers["repr-digest"]?.hasPrefix("sha-256=:") == true)
            #expect(try await server.send("DELETE", "/v1/catalogs/covers/entities/salt-signal").status == 204)
            let tar = ["Content-Type": "application/x-tar"]
            let restored = try await server.send("POST", "/v1/catalogs/covers/restore", tar, body: snapshot.body)
            #expect(restored.status == 200)
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("POST", "/v1/catalogs/covers/search", body: image).ids == ["salt-signal"])
            let copy = try await server.send("POST", "/v1/catalogs/copy/restore", tar, body: snapshot.body)
            #expect(try copy.json["entities"] as? Int == 6)
            #expect(try await server.send("PUT", "/v1/catalogs/copy/entities/new", body: image).status == 201)
            #expect(
                Set(try FileManager.default.contentsOfDirectory(atPath: server.folder.path)) == ["copy", "covers"])
        }
    }

    /// What a service left that was killed while it replaced catalogs: the old one has no name, or the new one has it.
    @Test func aRestoreThatWasKilledLosesNoCatalog() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        // No process has such a number.
        for name in [".replaced-99999999-other", ".replaced-99999999-covers", ".work-99999999-x"] {
            let url = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: DemoCovers.catalog, to: url)
        }
        try await TestServer.run(folder: folder) { (server: TestServer) async throws -> Void in
            #expect(
                Set(try FileManager.default.contentsOfDirectory(atPath: server.folder.path)) == ["covers", "other"])
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("POST", "/v1/catalogs/other/search", body: image).ids == ["salt-signal"])
        }
    }

    @Test func aDamagedCatalogCanBeReplacedAndRemoved() async throws {
        let snapshot = try await TestServer.run { (server: TestServer) async throws -> Data in
            try await server.send("POST", "/v1/catalogs/covers/snapshot").body
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        @Sendable func damage(_ name: String) throws {
            let url = folder.appendingPathComponent(name)
            try? FileManager.default.removeItem(at: url)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try Data(repeating: 7, count: 10_000).write(to: url.appendingPathComponent("catalog.sqlite"))
        }
        for name in ["a", "b"] { try damage(name) }
        try await TestServer.run(folder: folder) { (server: TestServer) async throws -> Void in
            #expect(try await server.send("GET", "/v1/catalogs/a").status == 507)
            // One that is damaged after it was opened.
            #expect(try await server.send("GET", "/v1/catalogs/covers").status == 200)
            try damage("covers")
            #expect(try await server.send("DELETE", "/v1/catalogs/covers").status == 204)
            let restored = try await server.send(
                "POST", "/v1/catalogs/a/restore", ["Content-Type": "application/x-tar"], body: snapshot)
            #expect(try restored.json["entities"] as? Int == 6)
            #expect(try await server.send("DELETE", "/v1/catalogs/b").status == 204)
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder.path) == ["a"])
        }
    }

    /// Its verified entities are rows, which other entities have now.
    @Test func aQueryOfACatalogThatWasReplaced() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            let path = "/v1/catalogs/covers/search"
            let image = try DemoCovers.image("salt-signal")
            let query = try #require(try await server.send("POST", path, body: image).json["query"] as? String)
            #expect(try await server.json("POST", path, ["query": query]).ids == ["salt-signal"])
            let restored = try await server.send(
                "POST", "/v1/catalogs/covers/restore", ["Content-Type": "application/x-tar"], body: snapshot)
            #expect(restored.status == 200)
            #expect(try await server.json("POST", path, ["query": query]).code == "query-expired")
        }
    }

    @Test func aDamagedSnapshotChangesNothing() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            let tar = ["Content-Type": "application/x-tar"]
            var flipped = snapshot
            flipped[snapshot.count / 2] ^= 1
            for body in [flipped, snapshot.prefix(snapshot.count / 2), Data(), Data(count: 1024), Data("x".utf8)] {
                let reply = try await server.send("POST", "/v1/catalogs/covers/restore", tar, body: body)
                #expect(try (reply.status, reply.code) == (422, "damaged-snapshot"))
            }
            #expect(try await server.send("GET", "/v1/catalogs/covers").json["entities"] as? Int == 6)
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder.path) == ["covers"])
        }
    }
}
