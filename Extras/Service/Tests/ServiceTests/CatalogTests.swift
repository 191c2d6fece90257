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
