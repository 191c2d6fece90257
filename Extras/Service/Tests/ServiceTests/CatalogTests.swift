import Foundation
import Logging
import Lookalike
@_spi(Service) import LookalikeService
import Testing

@Suite struct CatalogTests {
    /// Each kept its files, its prints and its memory for good.
    @Test func fewCatalogsAreOpenAtOnce() async throws {
        try await TestServer.run(covers: false, configure: { $0.limits.openCatalogs = 2 }) {
            (server: TestServer) async throws -> Void in
            let names = ["a", "b", "c", "d", "e"]
            let image = try DemoCovers.image("salt-signal")
            var queries: [String: String] = [:]
            for name in names {
                #expect(try await server.send("PUT", "/v1/catalogs/\(name)").status == 201)
                #expect(try await server.send("PUT", "/v1/catalogs/\(name)/entities/x", body: image).status == 201)
                let reply = try await server.send("POST", "/v1/catalogs/\(name)/search", body: image)
                queries[name] = try reply.json["query"] as? String
            }
            func open() async throws -> Bool {
                try await server.send("GET", "/metrics").text.contains("lookalike_catalogs_open 2.0")
            }
            #expect(try await open())
            // Lists and counts open none.
            let listed = try await server.send("GET", "/v1/catalogs").json["catalogs"] as? [[String: Any]]
            #expect(listed?.map { $0["entities"] as? Int } == names.map { _ in 1 })
            // Changes and kept queries find them as they were.
            for name in names {
                let page = try await server.json(
                    "POST", "/v1/catalogs/\(name)/search", ["query": try #require(queries[name])])
                #expect(try page.ids == ["x"])
                #expect(try await server.send("PUT", "/v1/catalogs/\(name)/entities/y", body: image).status == 201)
                #expect(try await server.send("DELETE", "/v1/catalogs/\(name)/entities/x").status == 204)
            }
            #expect(try await open())
            // What another process changes meanwhile is counted.
            let other = try CatalogIndexer(at: server.folder.appendingPathComponent("a"))
            _ = try other.index([IndexItem(CatalogEntity(id: "z"), image: .data(image))])
            let counted = try await server.send("GET", "/v1/catalogs").json["catalogs"] as? [[String: Any]]
            #expect(counted?.first?["entities"] as? Int == 2)
        }
    }

    @Test func aCatalogThatNobodyUsesIsClosed() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: root) }
        let store = CatalogStore(root: root, logger: Logger(label: "test"))
        _ = try await store.create(try #require(CatalogName("a")), localFeatures: false)
        await store.closeUnused(since: .now - .seconds(3600))
        #expect(store.openCount == 1)
        await store.closeUnused(since: .now)
        #expect(store.openCount == 0)
        // The right to write is free again.
        _ = try CatalogIndexer(at: root.appendingPathComponent("a"))
    }

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

    /// Each had a writer of its own.
    @Test func requestsThatMakeTheSameCatalogAtOnce() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let store = CatalogStore(root: folder, logger: Logger(label: "test"))
        let name = try #require(CatalogName("shop"))
        async let first = store.create(name, localFeatures: false)
        async let second = store.create(name, localFeatures: false)
        let (one, other) = try await (first, second)
        #expect(one.catalog === other.catalog)
        #expect(one.isNew != other.isNew)
    }

    /// Its queries were forgotten, although it stayed as it was.
    @Test func aCatalogThatAnotherProcessWritesTo() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            let image = try DemoCovers.image("salt-signal")
            let query = try #require(try await server.send("POST", path, body: image).json["query"] as? String)
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            let indexer = try CatalogIndexer(at: server.folder.appendingPathComponent("covers"))
            let removed = try await server.send("DELETE", "/v1/catalogs/covers")
            #expect(try (removed.status, removed.code) == (409, "catalog-busy"))
            let restored = try await server.send(
                "POST", "/v1/catalogs/covers/restore", ["Content-Type": "application/x-tar"], body: snapshot)
            #expect(try (restored.status, restored.code) == (409, "catalog-busy"))
            withExtendedLifetime(indexer) {}
            #expect(try await server.json("POST", path, ["query": query]).ids == ["salt-signal"])
        }
    }

    /// Without the lock nobody knows whether another process is writing.
    @Test func aCatalogThatCannotBeLocked() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let lock = server.folder.appendingPathComponent("covers/writer.lock")
            try? FileManager.default.removeItem(at: lock)
            try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: true)
            let refused = try await server.send("DELETE", "/v1/catalogs/covers")
            #expect(try (refused.status, refused.code) == (507, "storage"))
            #expect(try await server.send("GET", "/v1/catalogs/covers").status == 200)
            try FileManager.default.removeItem(at: lock)
            #expect(try await server.send("DELETE", "/v1/catalogs/covers").status == 204)
        }
    }

    /// Who makes a catalog has it, whoever removes it at the same time.
    @Test func catalogsThatAreMadeAndRemovedByMany() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            let statuses = try await withThrowingTaskGroup(of: (String, Int, String).self) { group in
                for index in 0..<120 {
                    group.addTask {
                        let method = index % 3 == 2 ? "DELETE" : "PUT"
                        let reply = try await server.send(method, "/v1/catalogs/c\(index % 4)")
                        return (method, reply.status, reply.text)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (method, status, text) in statuses {
                #expect((method == "PUT" ? [200, 201] : [204, 404]).contains(status), "\(method): \(text)")
            }
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

    /// A snapshot with right digests whose database says what no request could read or write.
    @Test(arguments: [
        "UPDATE entity SET labels = 'no JSON' WHERE row = 1",
        "INSERT INTO revision (number, token) VALUES (9223372036854775807, '5A6F3C7C-5B1E-4E3B-9C4A-6C5B1E4E3B9C')",
        "UPDATE entity SET id = 'a' || char(7) WHERE row = 1",
        "UPDATE setting SET value = 'no UUID' WHERE key = 'catalogID'",
        "DELETE FROM print WHERE row IN (SELECT row FROM print LIMIT 1)",
    ])
    func aDamagedSnapshotReplacesNothing(change: String) async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let damaged = server.folder.appendingPathComponent("damaged")
            try FileManager.default.copyItem(at: DemoCovers.catalog, to: damaged)
            let snapshot = try await Self.snapshot(of: damaged, after: change)
            try FileManager.default.removeItem(at: damaged)
            let restored = try await server.send(
                "POST", "/v1/catalogs/covers/restore", ["Content-Type": "application/x-tar"], body: snapshot)
            #expect(try (restored.status, restored.code) == (422, "damaged-snapshot"))
            #expect(try await server.send("GET", "/v1/catalogs/covers").json["entities"] as? Int == 6)
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("PUT", "/v1/catalogs/covers/entities/new", body: image).status == 201)
        }
    }

    @Test(arguments: [true, false]) func aSnapshotThatIsTooLarge(isAnnounced: Bool) async throws {
        try await TestServer.run(configure: {
            $0.limits.snapshotBytes = 100_000
        }) { (server: TestServer) async throws -> Void in
            let tar = ["Content-Type": "application/x-tar"]
            let reply: HTTPReply
            if isAnnounced {
                reply = try await server.send(
                    "POST", "/v1/catalogs/covers/restore", tar.merging(["Content-Length": "100001"]) { $1 })
            } else {
                let chunk = Data("186A1\r\n".utf8) + Data(count: 100_001) + Data("\r\n0\r\n\r\n".utf8)
                reply = try await server.send(
                    "POST", "/v1/catalogs/covers/restore", tar.merging(["Transfer-Encoding": "chunked"]) { $1 },
                    body: chunk)
            }
            #expect(try (reply.status, reply.code) == (413, "body-too-large"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder.path) == ["covers"])
        }
    }

    /// It filled the disk before it was refused, and failed the changes of others meanwhile.
    @Test func aSnapshotForWhichThereIsNoSpace() async throws {
        try await TestServer.run(configure: {
            $0.limits.snapshotBytes = 1 << 40
        }) { (server: TestServer) async throws -> Void in
            var disk = statvfs()
            #expect(statvfs(server.folder.path, &disk) == 0)
            let more = Int(disk.f_blocks) * Int(disk.f_frsize) + 1
            let reply = try await server.send(
                "POST", "/v1/catalogs/covers/restore",
                ["Content-Type": "application/x-tar", "Content-Length": "\(min(more, 1 << 40))"])
            #expect(more > 1 << 40 ? reply.status >= 413 : reply.status == 507, "\(reply.text)")
        }
    }

    /// It kept a connection and a file for as long as it liked.
    @Test func aSnapshotThatComesTooSlowly() async throws {
        try await TestServer.run(configure: {
            $0.limits.idleTime = .seconds(3)
        }) { (server: TestServer) async throws -> Void in
            let reply = try await HTTPClient(port: server.port).trickle(
                "POST", "/v1/catalogs/covers/restore", ["Content-Type": "application/x-tar"], count: 1000, every: 0.02)
            #expect(try (reply.status, reply.code) == (408, "slow-body"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder.path) == ["covers"])
        }
    }

    /// A tar archive as the service writes it, of a catalog's database after a change.
    private static func snapshot(of folder: URL, after change: String) async throws -> Data {
        let script = """
            import hashlib, io, os, sqlite3, sys, tarfile
            folder, change = sys.argv[1:]
            path = os.path.join(folder, "catalog.sqlite")
            database = sqlite3.connect(path)
            database.execute(change)
            database.commit()
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.close()
            data = open(path, "rb").read()
            sums = f"{hashlib.sha256(data).hexdigest()}  catalog.sqlite\\n".encode()
            with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.USTAR_FORMAT) as tar:
                for name, content in (("catalog.sqlite", data), ("SHA256SUMS", sums)):
                    entry = tarfile.TarInfo(name)
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))
            """
        let python = try Subprocess(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", "-c", script, folder.path, change], hasErrorPipe: false)
        let data = try await python.output.everything()
        try #require(try await python.exit().status == 0)
        return data
    }

    @Test func aFolderThatIsMovedIsNoticed() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let (covers, moved) = (
                server.folder.appendingPathComponent("covers"), server.folder.appendingPathComponent("moved")
            )
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("POST", "/v1/catalogs/covers/search", body: image).ids == ["salt-signal"])
            try FileManager.default.moveItem(at: covers, to: moved)
            #expect(try await server.send("POST", "/v1/catalogs/covers/search", body: image).status == 404)
            #expect(try await server.send("PUT", "/v1/catalogs/covers/entities/a", body: image).status == 404)
            #expect(try await server.send("POST", "/v1/catalogs/moved/search", body: image).ids == ["salt-signal"])
            // Another catalog takes the name.
            try FileManager.default.moveItem(at: moved, to: covers)
            #expect(try await server.send("DELETE", "/v1/catalogs/covers/entities/salt-signal").status == 204)
            #expect(try await server.send("POST", "/v1/catalogs/covers/search", body: image).ids == [])
            try FileManager.default.removeItem(at: covers)
            try FileManager.default.copyItem(at: DemoCovers.catalog, to: covers)
            #expect(try await server.send("POST", "/v1/catalogs/covers/search", body: image).ids == ["salt-signal"])
        }
    }

    @Test func othersMayWriteSomeTimeAfterAChange() async throws {
        try await TestServer.run(configure: { $0.limits.writerIdleTime = .milliseconds(20) }) {
            (server: TestServer) async throws -> Void in
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("PUT", "/v1/catalogs/covers/entities/a", body: image).status == 201)
            var indexer: CatalogIndexer?
            while indexer == nil {
                do {
                    indexer = try CatalogIndexer(at: server.folder.appendingPathComponent("covers"))
                } catch let error as CatalogError where error.reason == .busy {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            #expect(try await server.send("PUT", "/v1/catalogs/covers/entities/b", body: image).status == 409)
            try #require(indexer).removeAll(["a"])
            indexer = nil
            #expect(try await server.send("PUT", "/v1/catalogs/covers/entities/b", body: image).status == 201)
            #expect(try await server.send("GET", "/v1/catalogs/covers/entities/a").status == 404)
        }
    }

    @Test func changesDuringARestoreAreMade() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            try await withThrowingTaskGroup(of: HTTPReply.self) { group in
                for index in 0..<40 {
                    group.addTask {
                        let path = "/v1/catalogs/covers/entities/\(DemoCovers.ids[index % 6])"
                        if index % 4 == 0 { return try await server.send("GET", path + "/thumbnail") }
                        return try await server.json("PATCH", path, ["title": "\(index)"])
                    }
                    if index % 8 == 7 {
                        group.addTask {
                            let tar = ["Content-Type": "application/x-tar"]
                            return try await server.send("POST", "/v1/catalogs/covers/restore", tar, body: snapshot)
                        }
                    }
                }
                for try await reply in group { #expect(reply.status == 200, "\(reply.text)") }
            }
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

    /// Services in containers may all be process 1.
    @Test func whatAServiceHasInUseIsNotALeftover() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: root) }
        func store() -> CatalogStore { CatalogStore(root: root, logger: Logger(label: "test")) }
        let used = try store().makeWorkFolder()
        let left = root.appendingPathComponent(".work-\(ProcessInfo.processInfo.processIdentifier)-left")
        try FileManager.default.createDirectory(at: left, withIntermediateDirectories: true)
        store().removeLeftovers()
        #expect(try FileManager.default.contentsOfDirectory(atPath: root.path) == [used.url.lastPathComponent])
    }

    /// What a service that was killed had set aside may be the only copy.
    @Test func leftoversStayWhereTheirCatalogCannotBeReached() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: root) }
        let aside = root.appendingPathComponent(".replaced-99999999-covers/catalog.sqlite")
        let database = root.appendingPathComponent("covers/catalog.sqlite")
        for file in [aside, database] {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        }
        try Data("old".utf8).write(to: aside)
        // A link to itself cannot be followed.
        #expect(symlink(database.path, database.path) == 0)
        let store = CatalogStore(root: root, logger: Logger(label: "test"))
        store.removeLeftovers()
        #expect(try Data(contentsOf: aside) == Data("old".utf8))
        try FileManager.default.removeItem(at: database)
        store.removeLeftovers()
        #expect(try Data(contentsOf: database) == Data("old".utf8))
        #expect(!FileManager.default.fileExists(atPath: aside.path))
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

    /// It was said that an image cannot be embedded, also to those who wanted to remove the catalog.
    @Test func aCatalogWithADamagedModelCanBeReplacedAndRemoved() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            for name in ["a", "b"] {
                let url = server.folder.appendingPathComponent(name)
                try FileManager.default.copyItem(at: DemoCovers.catalog, to: url)
                try Data("no model".utf8).write(to: url.appendingPathComponent("model.safetensors"))
                let reply = try await server.send("GET", "/v1/catalogs/\(name)")
                #expect(try (reply.status, reply.code) == (507, "storage"))
                #expect(!reply.text.contains(server.folder.path))
            }
            let restored = try await server.send(
                "POST", "/v1/catalogs/a/restore", ["Content-Type": "application/x-tar"], body: snapshot)
            #expect(try restored.json["entities"] as? Int == 6)
            #expect(try await server.send("DELETE", "/v1/catalogs/b").status == 204)
            #expect(Set(try FileManager.default.contentsOfDirectory(atPath: server.folder.path)) == ["a", "covers"])
        }
    }

    /// The writer of a catalog that could not be opened when it was replaced wrote to what had taken the place. Now the
    /// new catalog's writer does.
    @Test func aChangeThatComesAfterADamagedCatalogWasReplaced() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            let image = try DemoCovers.image("salt-signal").base64EncodedString()
            let line = Data("{\"id\":\"late\",\"image\":\"\(image)\"}\n".utf8)
            let model = server.folder.appendingPathComponent("covers/model.safetensors")
            let reply = try await HTTPClient(port: server.port).send(
                "POST", "/v1/catalogs/covers/entities:batch", ["Content-Type": "application/x-ndjson"], lateBody: line
            ) {
                try Data("no model".utf8).write(to: model)
                let restored = try await server.send(
                    "POST", "/v1/catalogs/covers/restore", ["Content-Type": "application/x-tar"], body: snapshot)
                #expect(restored.status == 200)
            }
            #expect(reply.status == 200)
            #expect(try reply.json["status"] as? Int == 201, "\(reply.text)")
            #expect(try await server.send("GET", "/v1/catalogs/covers/entities/late").status == 200)
            #expect(try await Catalog(at: server.folder.appendingPathComponent("covers")).verify().isEmpty)
        }
    }

    /// What a service left that was killed while it made a catalog kept the name for itself.
    @Test func aSnapshotTakesThePlaceOfAnUnfinishedCatalog() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            let tar = ["Content-Type": "application/x-tar"]
            let kept = ["notes.txt", "writer.lock"]
            for (name, files) in [("killed", ["catalog.sqlite.new", "derived.lock", "writer.lock"]), ("kept", kept)] {
                let url = server.folder.appendingPathComponent(name)
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
                for file in files { try Data().write(to: url.appendingPathComponent(file)) }
                #expect(try await server.send("GET", "/v1/catalogs/\(name)").code == "unknown-catalog")
            }
            let restored = try await server.send("POST", "/v1/catalogs/killed/restore", tar, body: snapshot)
            #expect(try restored.json["entities"] as? Int == 6)
            // Files that no catalog has are somebody's.
            let refused = try await server.send("POST", "/v1/catalogs/kept/restore", tar, body: snapshot)
            #expect(try (refused.status, refused.code) == (507, "storage"))
            let folder = server.folder.appendingPathComponent("kept")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == kept)
            #expect(
                Set(try FileManager.default.contentsOfDirectory(atPath: server.folder.path))
                    == ["covers", "kept", "killed"])
        }
    }

    /// It was an error of the service itself.
    @Test func aFolderInWhichNothingCanBeMade() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            #expect(try await server.send("GET", "/v1/catalogs/covers").status == 200)
            // Below a file nothing can be made, whoever asks for it.
            let aside = server.folder.appendingPathExtension("aside")
            try FileManager.default.moveItem(at: server.folder, to: aside)
            defer { try? FileManager.default.removeItem(at: aside) }
            #expect(FileManager.default.createFile(atPath: server.folder.path, contents: nil))
            let reply = try await server.send("POST", "/v1/catalogs/covers/snapshot")
            #expect(try (reply.status, reply.code) == (507, "storage"))
            #expect(!reply.text.contains(server.folder.path))
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

    /// Average pooling over a million pixels, for each of a million. A search cannot be stopped within it.
    @Test func aSnapshotWhoseModelTakesTooLongIsRefused() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let graph = """
            {"version":1,"name":"slow","input":{"width":1024,"height":1024,"mean":[0,0,0],"std":[1,1,1]},"nodes":[
            {"name":"m","op":"map","input":"image"},
            {"name":"p","op":"average_pool","input":"m","kernel":1023,"stride":1,"padding":511,"dilation":1,\
            "counts_padding":false,"rounds_up":false},
            {"name":"g","op":"generalized_mean","input":"p","power":1,"epsilon":1e-6},
            {"name":"n","op":"l2_normalize","input":"g"}]}
            """
        let header = try JSONSerialization.data(withJSONObject: ["__metadata__": ["lookalike.graph": graph]])
        let length = Data((0..<8).map { UInt8(truncatingIfNeeded: header.count >> (8 * $0)) })
        let model = try FeaturePrintModel(length + header, named: "slow")
        _ = try CatalogIndexer(at: folder.appendingPathComponent("slow"), model: model, localFeatures: false)
        try await TestServer.run(covers: false, folder: folder) { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/slow/snapshot")
            #expect(snapshot.status == 200)
            let reply = try await server.send(
                "POST", "/v1/catalogs/copy/restore", ["Content-Type": "application/x-tar"], body: snapshot.body)
            #expect(try (reply.status, reply.code) == (422, "damaged-snapshot"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder.path) == ["slow"])
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

    @Test func aRestoreThatSaysWhatItWouldDo() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            _ = try await server.send("DELETE", "/v1/catalogs/covers/entities/salt-signal")
            let tar = ["Content-Type": "application/x-tar"]
            for (name, count) in [("covers", 5), ("none", nil)] as [(String, Int?)] {
                let path = "/v1/catalogs/\(name)/restore?dry-run=true"
                let reply = try await server.send("POST", path, tar, body: snapshot)
                let present = try reply.json["replaced"] as? [String: Any]
                #expect(try reply.json["entities"] as? Int == 6 && reply.json["name"] as? String == name)
                #expect(present?["entities"] as? Int == count, "\(reply.text)")
                let damaged = try await server.send("POST", path, tar, body: snapshot.dropLast(2000))
                #expect(try damaged.code == "damaged-snapshot")
            }
            #expect(try await server.send("GET", "/v1/catalogs/covers").json["entities"] as? Int == 5)
            #expect(try await server.send("GET", "/v1/catalogs/none").status == 404)
        }
    }

    /// Each reader had a copy of its own.
    @Test func snapshotsThatAreReadAtTheSameTime() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let client = HTTPClient(port: server.port)
            func copies() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: server.folder.path).count { $0.hasPrefix(".work-") }
            }
            /// A reader who has got the head of its archive and reads no more.
            func reader(_ catalog: String) async throws -> Int32 {
                let socket = try await client.open("POST", "/v1/catalogs/\(catalog)/snapshot")
                try await onOwnThread { HTTPClient.waitForAnswer(socket) }
                return socket
            }
            var readers: [Int32] = []
            for _ in 0..<6 { readers.append(try await reader("covers")) }
            #expect(try copies() <= 1)
            for number in 0..<3 {
                let title = Data("{\"title\":\"\(number)\"}".utf8)
                let path = "/v1/catalogs/covers/entities/salt-signal"
                #expect(
                    try await server.send("PATCH", path, ["Content-Type": "application/json"], body: title).status
                        == 200)
                readers.append(try await reader("covers"))
            }
            #expect(try copies() <= 4)
            for socket in readers { close(socket) }
            while try copies() > 0 { try await Task.sleep(for: .milliseconds(10)) }
            // What was changed before is in it.
            let tar = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            let made = try await server.send(
                "POST", "/v1/catalogs/made/restore", ["Content-Type": "application/x-tar"], body: tar)
            #expect(made.status == 200)
            #expect(
                try await server.send("GET", "/v1/catalogs/made/entities/salt-signal").json["title"] as? String == "2")
        }
    }

    @Test func snapshotsThatAreTakenByTheClock() async throws {
        let configure: @Sendable (inout ServiceConfiguration) -> Void = {
            $0.backups = .init(every: .seconds(1), keep: 2)
        }
        try await TestServer.run(configure: configure) { (server: TestServer) async throws -> Void in
            let folder = server.folder.appendingPathComponent(".backups/covers")
            func files() -> [String] {
                ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
                    .filter { $0.hasSuffix(".tar") }.sorted()
            }
            var seen: Set<String> = []
            while seen.count < 3 {
                let before = seen.count
                _ = try await server.send("DELETE", "/v1/catalogs/covers/entities/\(DemoCovers.ids[before])")
                while seen.count == before {
                    seen.formUnion(files())
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            while files().count > 2 { try await Task.sleep(for: .milliseconds(20)) }
            #expect(files() == seen.sorted().suffix(2))
            let newest = try Data(contentsOf: folder.appendingPathComponent(try #require(files().last)))
            let path = "/v1/catalogs/made/restore"
            let made = try await server.send("POST", path, ["Content-Type": "application/x-tar"], body: newest)
            #expect(try made.json["entities"] as? Int == 3, "\(made.text)")
            let metrics = try await server.send("GET", "/metrics").text
            #expect(metrics.contains("\nlookalike_backup_timestamp_seconds{catalog=\"covers\"} "))
            #expect(metrics.contains("\nlookalike_backup_failures_total 0.0\n"))
        }
        // A new service knows the backups of the one before, and takes away what that had begun.
        let home = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: home) }
        let folder = home.appendingPathComponent(".backups/covers")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let part = folder.appendingPathComponent(".2026-01-01T000000Z.part")
        try Data("begun".utf8).write(to: part)
        @Sendable func metric(_ server: TestServer) async throws -> Bool {
            try await server.send("GET", "/metrics").text.contains("\nlookalike_backup_timestamp_seconds{")
        }
        try await TestServer.run(folder: home, configure: configure) { (server: TestServer) async throws -> Void in
            while try await !metric(server) { try await Task.sleep(for: .milliseconds(20)) }
            #expect(!FileManager.default.fileExists(atPath: part.path))
        }
        let rarely: @Sendable (inout ServiceConfiguration) -> Void = {
            $0.backups = .init(every: .seconds(3), keep: 2)
        }
        try await TestServer.run(covers: false, folder: home, configure: rarely) {
            (server: TestServer) async throws -> Void in
            // The one before has made it just now.
            while try await !metric(server) { try await Task.sleep(for: .milliseconds(20)) }
            // A catalog that is gone has none that could get old.
            #expect(try await server.send("DELETE", "/v1/catalogs/covers").status == 204)
            while try await metric(server) { try await Task.sleep(for: .milliseconds(20)) }
        }
        for (interval, keep) in [(0, 1), (1, 0)] {
            var configuration = ServiceConfiguration(catalogs: FileManager.default.temporaryDirectory)
            configuration.backups = .init(every: .seconds(interval), keep: keep)
            #expect(throws: ServiceError.self) { try LookalikeService(configuration) }
        }
    }

    /// Made of the files of a snapshot by people's hands.
    @Test(
        arguments: [
            ("tar --format=pax -C it -cf made.tar .", nil), ("tar --format=gnu -cf made.tar it", nil),
            ("cd it && tar --format=ustar -cf ../made.tar SHA256SUMS catalog.sqlite", nil),
            ("tar --format=pax --pax-option=comment:=é -cf made.tar ./it", nil),
            ("mv it \(String(repeating: "long", count: 40)) && tar --format=gnu -cf made.tar long*", nil),
            ("echo > it/._catalog.sqlite && tar -cf made.tar it", nil),
            ("rm it/SHA256SUMS && tar -cf made.tar it", "made by a request"),
            ("mkdir -p it/a && mv it/SHA* it/a && tar -cf made.tar it", "several folders"),
            ("ln -s / it/link && tar -cf made.tar it", "files alone"),
            ("echo > it/more && tar -cf made.tar it", "no snapshot has"),
        ] as [(String, String?)])
    func archivesOfASnapshotsFiles(command: String, problem: String?) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("it"), withIntermediateDirectories: true)
        try await TestServer.run { (server: TestServer) async throws -> Void in
            try await server.send("POST", "/v1/catalogs/covers/snapshot").body
                .write(to: folder.appendingPathComponent("snapshot.tar"))
            let shell = try Subprocess(
                Subprocess.shell,
                ["-c", "cd \"$0\" && tar -xf snapshot.tar -C it && \(command)", folder.path], hasErrorPipe: false)
            #expect(try await shell.exit().status == 0)
            let reply = try await server.send(
                "POST", "/v1/catalogs/made/restore", ["Content-Type": "application/x-tar"],
                body: try Data(contentsOf: folder.appendingPathComponent("made.tar")))
            if let problem {
                #expect(try reply.code == "damaged-snapshot" && reply.text.contains(problem), "\(reply.text)")
            } else {
                #expect(reply.status == 200, "\(reply.text)")
                #expect(try reply.json["entities"] as? Int == DemoCovers.ids.count, "\(reply.text)")
            }
        }
    }

    /// Its digests are right.
    @Test func aSnapshotWithADamagedModel() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            try snapshot.write(to: folder.appendingPathComponent("snapshot.tar"))
            let names = "catalog.sqlite model.safetensors"
            let shell = try Subprocess(
                Subprocess.shell,
                [
                    "-c",
                    "cd \"$0\" && tar -xf snapshot.tar && echo no model > model.safetensors && "
                        + "sha256sum \(names) > SHA256SUMS && tar --format=ustar -cf damaged.tar \(names) SHA256SUMS",
                    folder.path,
                ], hasErrorPipe: false)
            #expect(try await shell.exit().status == 0)
            let reply = try await server.send(
                "POST", "/v1/catalogs/covers/restore", ["Content-Type": "application/x-tar"],
                body: try Data(contentsOf: folder.appendingPathComponent("damaged.tar")))
            #expect(try (reply.status, reply.code) == (422, "damaged-snapshot"))
        }
    }

    /// What a database elsewhere keeps; a folder stands for it, which nothing may change.
    @Test func aServiceOfCatalogsElsewhereSearchesThemAlone() async throws {
        let configure: @Sendable (inout ServiceConfiguration) -> Void = {
            $0 = ServiceConfiguration(remotes: [
                "covers": { try await Catalog.open(at: DemoCovers.catalog) },
                "down": { throw DatabaseError() },
            ])
            $0.port = 0
            $0.limits.queueTime = .seconds(20)
        }
        let before = try await Catalog.open(at: DemoCovers.catalog).info
        try await TestServer.run(covers: false, configure: configure) { (server: TestServer) async throws -> Void in
            let found = try await server.send(
                "POST", "/v1/catalogs/covers/search", body: try DemoCovers.screenshot())
            #expect(try found.status == 200 && found.ids == ["copper-horizon"])
            #expect(try await server.send("GET", "/v1/catalogs/none").code == "unknown-catalog")
            let down = try await server.send("POST", "/v1/catalogs/down/search", body: try DemoCovers.screenshot())
            #expect(try (down.status, down.code) == (503, "unavailable"))
            #expect(down.headers["retry-after"] != nil && !down.text.contains("10.0.0.1"))
            // A key that may write may not write here.
            for (method, path) in [
                ("PUT", "new"), ("PUT", "covers"), ("DELETE", "covers"), ("PUT", "covers/entities/a"),
                ("DELETE", "covers/entities/salt-signal"), ("PATCH", "covers/entities?filter=everything"),
                ("POST", "covers/entities:batch"), ("POST", "covers/snapshot"), ("POST", "covers/restore"),
                ("POST", "covers/swap"),
            ] {
                let reply = try await server.send(method, "/v1/catalogs/\(path)")
                #expect(try (reply.status, reply.code) == (409, "remote-catalog"), "\(method) \(path)")
            }
            #expect(try await server.send("GET", "/v1/access").json["scope"] as? String == "read")
        }
        #expect(try await Catalog.open(at: DemoCovers.catalog).info == before)
    }

    private struct DatabaseError: RemoteCatalogError {
        var failure: RemoteFailure { .unavailable }
        var description: String { "10.0.0.1 does not answer" }
    }
}
