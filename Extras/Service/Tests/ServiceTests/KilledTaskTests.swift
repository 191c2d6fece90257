import Foundation
import Lookalike
@_spi(Service) import LookalikeService
import Testing

/// Tasks of a service that is killed.
@Suite struct KilledTaskTests {
    private static let headers = ["Content-Type": "application/x-ndjson", "Prefer": "respond-async"]

    private static func put(_ id: String) throws -> String {
        "{\"id\":\"\(id)\",\"image\":\"\(try DemoCovers.image("salt-signal").base64EncodedString())\"}"
    }

    private static func removal(_ id: String) -> String { "{\"id\":\"\(id)\",\"delete\":true}" }

    private static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await body(folder)
    }

    /// A service that is ended or killed in the middle of a task, however often: the next one goes on, and no line is
    /// lost or carried out twice. Removals tell: the second of an id is refused.
    @Test func tasksGoOnAfterAKill() async throws {
        try await Self.withFolder { folder in
            var lines: [String] = []
            for index in 0..<100 {
                lines.append(try Self.put("\(index)"))
                if index % 3 == 2 { lines.append(Self.removal("\(index)")) }
                if index % 50 == 7 { lines += ["", "{"] }
                // Carried out again, the first of these would be refused.
                if index % 20 == 9 {
                    for _ in 0..<2 { lines += [Self.removal("0"), try Self.put("0")] }
                }
            }
            var program = try await Program(folder)
            _ = try await program.send("PUT", "/v1/catalogs/shop")
            let started = try await HTTPClient(port: program.port).send(
                "POST", "/v1/catalogs/shop/entities:batch", Self.headers,
                body: Data(lines.joined(separator: "\n").utf8))
            let path = try #require(started.headers["location"])
            var random = SystemRandomNumberGenerator()
            var task = try started.json
            for round in 0..<1000 where task["ended"] == nil {
                // Longer each time: what a service begins, it has to end some time.
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<(100 + 50 * round), using: &random)))
                if round % 4 == 3 {
                    try await program.end()
                } else {
                    program.signal(SIGKILL)
                    _ = try await program.subprocess.exit()
                }
                program = try await Program(folder)
                task = try await program.send("GET", path).json
            }
            #expect(task["status"] as? String == "succeeded", "\(task)")
            #expect((task["done"] as? Int, task["refused"] as? Int) == (155, 2), "\(task)")
            let catalog = try await program.send("GET", "/v1/catalogs/shop").json
            #expect(catalog["entities"] as? Int == 67)
            try await program.end()
        }
    }

    /// The event was recorded after the commit, and was lost with a service that was killed in between.
    @Test func eventsOfChangesAreRecordedBeforeThem() async throws {
        try await Self.withFolder { folder in
            try FileManager.default.copyItem(at: DemoCovers.catalog, to: folder.appendingPathComponent("covers"))
            let secret = folder.appendingPathComponent("secret")
            try Data("a secret of twenty-four bytes".utf8).write(to: secret)
            let catalog = try Catalog(at: folder.appendingPathComponent("covers"))
            let events = folder.appendingPathComponent(".webhooks")
            for round in 0..<5 {
                // A service goes on with those that it finds.
                try? FileManager.default.removeItem(at: events)
                let program = try await Program([
                    "--catalogs", folder.path, "--port", "0", "--log-level", "critical", "--webhook",
                    "http://127.0.0.1:1/", "--webhook-secret-file", secret.path,
                ])
                let title = "title \(round)"
                let change = Task {
                    try await HTTPClient(port: program.port).send(
                        "PATCH", "/v1/catalogs/covers/entities/salt-signal", ["Content-Type": "application/json"],
                        body: Data("{\"title\":\"\(title)\"}".utf8))
                }
                while try await catalog.entities(for: ["salt-signal"]).first?.title != title {}
                program.signal(SIGKILL)
                _ = try await program.subprocess.exit()
                _ = await change.result
                #expect(try FileManager.default.contentsOfDirectory(atPath: events.path).count == 1, "\(round)")
            }
        }
    }

    /// As after a kill between the commit of some lines and the note that they are done: what was written is not
    /// written again, which would undo what others have changed since.
    @Test func linesThatWereWrittenBeforeAKillAreNotWrittenAgain() async throws {
        try await Self.withFolder { folder in
            let first = try await Program(folder)
            _ = try await first.send("PUT", "/v1/catalogs/shop")
            let image = try DemoCovers.image("salt-signal")
            for id in ["written", "there"] {
                let put = try await first.send("PUT", "/v1/catalogs/shop/entities/\(id)?title=Mine", body: image)
                #expect(put.status == 201)
            }
            let tag = try #require(try await first.send("GET", "/v1/catalogs/shop/entities/there").headers["etag"])
            try await first.end()

            let own = folder.appendingPathComponent(".tasks/a")
            try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
            let lines = [
                try Self.put("done"), try Self.put("written"), try Self.put("waiting"), Self.removal("removed"),
                Self.removal("there"), Self.removal("unknown"), try Self.put("twice"), Self.removal("twice"),
                Self.removal("known"),
            ]
            try Data(lines.joined(separator: "\n").utf8).write(to: own.appendingPathComponent("lines.jsonl"))
            func line(_ number: Int, _ id: String, _ isRemoval: Bool, _ tag: String = "") -> String {
                let rest = tag.isEmpty ? "" : ",\"tag\":\(tag.debugDescription)"
                return "{\"number\":\(number),\"id\":\"\(id)\",\"isRemoval\":\(isRemoval)\(rest)}"
            }
            let intent = [
                line(2, "written", false), line(3, "waiting", false), line(4, "removed", true, "\"x\""),
                line(5, "there", true, tag), line(6, "unknown", true), line(7, "twice", false),
                line(8, "twice", true),
                // As a service writes that was killed, too, of a line that one before had carried out.
                #"{"number":9,"id":"known","isRemoval":true,"status":204}"#,
            ].joined(separator: ",")
            try Data("{\"lines\":[\(intent)]}".utf8).write(to: own.appendingPathComponent("intent.json"))
            let record =
                #"{"id":"a","catalog":"shop","status":"running","total":9,"done":1,"refused":0,"#
                + #""refusals":[],"created":"2026-01-01T00:00:00Z"}"#
            try Data(record.utf8).write(to: own.appendingPathComponent("task.json"))

            let second = try await Program(folder)
            var task: [String: Any]
            repeat { task = try await second.send("GET", "/v1/tasks/a").json } while task["ended"] == nil
            #expect((task["done"] as? Int, task["refused"] as? Int) == (9, 1), "\(task)")
            let refusals = try #require(task["refusals"] as? [[String: Any]])
            #expect(refusals.map { $0["line"] as? Int } == [6])
            let list = try await second.send("GET", "/v1/catalogs/shop/entities?fields=id,title").json["entities"]
            let entities = try #require(list as? [[String: String]])
            #expect(Set(entities.compactMap { $0["id"] }) == ["written", "waiting"])
            // The title is that of a later change.
            #expect(entities.first { $0["id"] == "written" }?["title"] == "Mine")
            #expect(try FileManager.default.contentsOfDirectory(atPath: own.path) == ["task.json"])
            try await second.end()
        }
    }
}
