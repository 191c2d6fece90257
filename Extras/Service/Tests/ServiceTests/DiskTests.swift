import Foundation
@_spi(Service) import LookalikeService
import Testing

/// A disk that has no more than its reserve left.
@Suite struct DiskTests {
    @Test func removalsAloneAreDoneOnAFullDisk() async throws {
        let (key, entry) = APIKey.make(scope: .write, name: "shop")
        try await TestServer.run(configure: {
            $0.limits.diskReserve = .max
            $0.keys = KeyRing([entry])
        }) { (server: TestServer) async throws -> Void in
            func send(
                _ method: String, _ path: String, _ type: String = "application/json", _ body: Data? = nil
            ) async throws -> HTTPReply {
                var headers = ["X-API-Key": key, "Content-Type": type]
                if path.hasSuffix("/undo") { headers["If-Match"] = "\"x\"" }
                return try await server.send(method, path, headers, body: body)
            }
            let covers = "/v1/catalogs/covers"
            let image = try DemoCovers.image("salt-signal")
            let line = "{\"id\":\"new\",\"image\":\"\(image.base64EncodedString())\"}"
            let removal = "{\"id\":\"glass-orchard\",\"delete\":true}"
            for (method, path, type, body) in [
                ("PUT", covers + "/entities/new", "image/jpeg", image),
                ("PATCH", covers + "/entities/salt-signal", "application/json", Data("{\"title\":\"x\"}".utf8)),
                ("PATCH", covers + "/entities?filter=everything", "application/json", Data("{\"title\":\"x\"}".utf8)),
                ("POST", covers + "/entities/salt-signal/undo", "application/json", nil),
                ("PUT", "/v1/catalogs/other", "application/json", nil), ("POST", covers + "/snapshot", "", nil),
                ("POST", "/v1/catalogs/other/restore", "application/x-tar", Data(count: 1024)),
            ] as [(String, String, String, Data?)] {
                let reply = try await send(method, path, type, body)
                #expect(try (reply.status, reply.code) == (507, "disk-full"), "\(method) \(path): \(reply.text)")
            }
            let task = try await server.send(
                "POST", covers + "/entities:batch",
                ["X-API-Key": key, "Content-Type": "application/x-ndjson", "Prefer": "respond-async"],
                body: Data(line.utf8))
            #expect(try (task.status, task.code) == (507, "disk-full"))
            // Each line of a batch is for itself.
            let batch = try await send(
                "POST", covers + "/entities:batch", "application/x-ndjson", Data("\(line)\n\(removal)\n".utf8))
            let statuses = try batch.text.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])["status"] as? Int
            }
            #expect(statuses == [507, 204])
            #expect(try await server.send("PUT", covers, ["X-API-Key": key]).status == 200)
            #expect(try await server.send("POST", covers + "/search", ["X-API-Key": key], body: image).status == 200)
            let removed = try await server.send(
                "DELETE", covers + "/entities?filter=label+%3D+demo", ["X-API-Key": key])
            #expect(try removed.json["deleted"] as? Int == 5)
            let health = try await server.send("GET", "/health/ready").json
            #expect(health["diskIsFull"] as? Bool == true && health["diskAvailable"] == nil)
            let own = try await server.send("GET", "/health/ready", ["X-API-Key": key]).json
            #expect(own["diskAvailable"] as? Int ?? 0 > 0)
            let metrics = try await server.send("GET", "/metrics", ["X-API-Key": key]).text
            #expect(metrics.contains("\nlookalike_disk_reserve_bytes 9.2"))
            #expect(try await server.send("DELETE", covers, ["X-API-Key": key]).status == 204)
        }
    }

    /// It was said that the storage is insufficient.
    @Test(.enabled("needs root, or no root's rights") { try await canMakeReadOnly() })
    func aFolderThatMayOnlyBeReadIsNotFull() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: DemoCovers.catalog, to: folder.appendingPathComponent("covers"))
        chmod(folder.path, 0o555)
        defer {
            chmod(folder.path, 0o755)
            try? FileManager.default.removeItem(at: folder)
        }
        let arguments = ["--catalogs", folder.path, "--port", "0", "--log-level", "critical"]
        let program =
            getuid() == 0
            ? try await Program(
                Self.readOnly(folder, [Subprocess.service.path] + arguments),
                executable: URL(fileURLWithPath: "/usr/bin/unshare"))
            : try await Program(arguments)
        #expect(try await program.send("GET", "/v1/catalogs/covers/entities").status == 200)
        let image = try DemoCovers.image("salt-signal")
        for (method, path) in [
            ("POST", "/v1/catalogs/covers/snapshot"), ("PUT", "/v1/catalogs/new"),
            ("PUT", "/v1/catalogs/covers/entities/new"),
        ] {
            let reply = try await program.send(method, path, body: path.hasSuffix("entities/new") ? image : nil)
            #expect(try (reply.status, reply.code) == (403, "read-only"), "\(path): \(reply.text)")
        }
        try await program.end()
    }

    /// The arguments of `unshare` that run a program with a folder that root cannot write to either.
    private static func readOnly(_ folder: URL, _ arguments: [String]) -> [String] {
        ["-m", "sh", "-c", "mount --bind -o ro \"$0\" \"$0\" && exec \"$@\"", folder.path] + arguments
    }

    private static func canMakeReadOnly() async throws -> Bool {
        if getuid() != 0 { return true }
        let folder = FileManager.default.temporaryDirectory
        let trial = try Subprocess(URL(fileURLWithPath: "/usr/bin/unshare"), readOnly(folder, ["true"]))
        return try await trial.exit().status == 0
    }

    @Test func aDiskWithSpaceIsNotFull() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let health = try await server.send("GET", "/health/ready").json
            #expect(health["diskIsFull"] == nil && health["diskAvailable"] as? Int ?? 0 > 0)
        }
    }
}
