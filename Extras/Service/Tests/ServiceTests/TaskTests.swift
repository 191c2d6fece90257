import Foundation
import Glibc
@_spi(Service) import LookalikeService
import Testing

/// Batches that run without their clients, and the webhook that gets an event when they end.
@Suite struct TaskTests {
    private static let headers = ["Content-Type": "application/x-ndjson", "Prefer": "wait=10, Respond-Async"]

    private static func line(_ id: String) throws -> String {
        "{\"id\":\"\(id)\",\"image\":\"\(try DemoCovers.image("salt-signal").base64EncodedString())\"}"
    }

    private static func start(
        _ lines: [String], _ server: TestServer, _ headers: [String: String] = [:]
    ) async throws -> HTTPReply {
        try await server.send(
            "POST", "/v1/catalogs/shop/entities:batch", Self.headers.merging(headers) { $1 },
            body: Data(lines.joined(separator: "\n").utf8))
    }

    /// The task of an answer when it has ended.
    private static func ended(_ reply: HTTPReply, _ server: TestServer) async throws -> [String: Any] {
        let path = try #require(reply.headers["location"])
        while true {
            let task = try await server.send("GET", path).json
            if task["ended"] != nil { return task }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test func aBatchRunsWithoutItsClient() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            let reply = try await Self.start(
                [
                    try Self.line("a"), "", "{\"id\":\"b\",\"image\":\"AAAA\"}", "{\"id\":\"a\",\"delete\":true}", "{",
                    " ",
                ],
                server)
            #expect(reply.status == 202 && reply.headers["preference-applied"] == "respond-async")
            let accepted = try reply.json
            #expect(accepted["total"] as? Int == 4 && accepted["catalog"] as? String == "shop")
            let task = try await Self.ended(reply, server)
            #expect(task["status"] as? String == "succeeded", "\(task)")
            #expect((task["done"] as? Int, task["refused"] as? Int) == (4, 2))
            let refusals = try #require(task["refusals"] as? [[String: Any]])
            #expect(refusals.map { $0["line"] as? Int } == [3, 5])
            #expect(refusals[0]["id"] as? String == "b" && refusals[0]["status"] as? Int == 415)
            #expect((refusals[1]["problem"] as? [String: Any])?["code"] as? String == "invalid-json")
            #expect(try await server.send("GET", "/v1/catalogs/shop").json["entities"] as? Int == 0)
            let list = try #require(try await server.send("GET", "/v1/tasks").json["tasks"] as? [[String: Any]])
            #expect(list.count == 1 && list[0]["id"] as? String == task["id"] as? String && list[0]["refusals"] == nil)
            let path = try #require(reply.headers["location"])
            let folder = server.folder.appendingPathComponent(".tasks/\(path.split(separator: "/").last ?? "")")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["task.json"])
            #expect(try await server.send("DELETE", path).status == 204)
            #expect(try await server.send("GET", path).code == "unknown-task")
            #expect(!FileManager.default.fileExists(atPath: folder.path))
            #expect(try await server.send("GET", "/v1/catalogs").json["catalogs"] as? [[String: Any]] != nil)
        }
    }

    @Test func tasksAreCancelled() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            _ = try await server.json("PUT", "/v1/catalogs/shop", ["localFeatures": false])
            let lines = try (0..<100).map { try Self.line("\($0)") }
            var statuses: Set<String> = []
            // A task that waits for two others is cancelled before it begins, unless they have just ended.
            for _ in 0..<20 where !statuses.contains("cancelled") {
                var replies: [HTTPReply] = []
                for _ in 0..<3 { replies.append(try await Self.start(lines, server)) }
                for reply in replies.reversed() {
                    let path = try #require(reply.headers["location"])
                    let status = try await server.send("DELETE", path).status
                    guard status == 202 else {
                        // It had ended, and is forgotten.
                        #expect(try await (status, server.send("GET", path).status) == (204, 404))
                        continue
                    }
                    let task = try await Self.ended(reply, server)
                    let isWhole = task["done"] as? Int == 100
                    #expect(task["status"] as? String == (isWhole ? "succeeded" : "cancelled"), "\(task)")
                    statuses.insert(task["status"] as? String ?? "")
                }
            }
            #expect(statuses.contains("cancelled"))
        }
    }

    /// The rest of the lines were written to the catalog that got the name.
    @Test func aCatalogThatATaskWritesToIsNotExchanged() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            for name in ["shop", "other"] { _ = try await server.send("PUT", "/v1/catalogs/\(name)") }
            let tar = ["Content-Type": "application/x-tar"]
            let snapshot = try await server.send("POST", "/v1/catalogs/covers/snapshot").body
            let task = try await Self.start(try (0..<400).map { try Self.line("\($0)") }, server)
            for (name, with) in [("shop", "other"), ("other", "shop")] {
                let swapped = try await server.json("POST", "/v1/catalogs/\(name)/swap", ["with": with])
                #expect(try (swapped.status, swapped.code) == (409, "catalog-busy"))
            }
            let restored = try await server.send("POST", "/v1/catalogs/shop/restore", tar, body: snapshot)
            #expect(try (restored.status, restored.code) == (409, "catalog-busy"))
            let isTried = try await server.send("POST", "/v1/catalogs/shop/restore?dry-run=true", tar, body: snapshot)
            #expect(isTried.status == 200)
            #expect(try await server.json("POST", "/v1/catalogs/covers/swap", ["with": "other"]).status == 204)
            let path = try #require(task.headers["location"])
            #expect(try await server.send("DELETE", path).status == 202)
            let done = try await Self.ended(task, server)["done"] as? Int
            #expect(try await server.json("POST", "/v1/catalogs/shop/swap", ["with": "other"]).status == 204)
            #expect(try await server.send("GET", "/v1/catalogs/other").json["entities"] as? Int == done)
            #expect(try await server.send("POST", "/v1/catalogs/shop/restore", tar, body: snapshot).status == 200)
        }
    }

    /// So were those of a client that waits.
    @Test func aBatchIsForTheCatalogThatItBeganWith() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            let lines = [try Self.line("a"), "{\"id\":\"salt-signal\",\"delete\":true}"].joined(separator: "\n")
            let reply = try await HTTPClient(port: server.port).send(
                "POST", "/v1/catalogs/shop/entities:batch", ["Content-Type": "application/x-ndjson"],
                lateBody: Data(lines.utf8)
            ) { () async throws -> Void in
                #expect(try await server.json("POST", "/v1/catalogs/shop/swap", ["with": "covers"]).status == 204)
            }
            let results = try reply.text.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
            #expect(results.map { $0["status"] as? Int } == [404, 404])
            #expect(results.allSatisfy { "\($0["problem"] ?? "")".contains("swapped") })
            let entities = try await server.send("GET", "/v1/catalogs/shop").json["entities"] as? Int
            #expect(entities == DemoCovers.ids.count)
            #expect(try await server.send("GET", "/v1/catalogs/covers").json["entities"] as? Int == 0)
        }
    }

    @Test func aRestartKnowsTheTasksOfBefore() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let tasks = folder.appendingPathComponent(".tasks")
        for (id, status) in [("a", "running"), ("b", "waiting"), ("c", "succeeded"), ("d", "")] {
            let own = tasks.appendingPathComponent(id)
            try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
            // The lines of a are gone, and the catalog of b is.
            if id != "a" { try Data("{}".utf8).write(to: own.appendingPathComponent("lines.jsonl")) }
            try Self.write(Self.record(id, status: status, total: 9, done: 0), to: own)
        }
        try await TestServer.run(covers: false, folder: folder) { (server: TestServer) async throws -> Void in
            for (id, status) in [("a", "interrupted"), ("b", "failed"), ("c", "succeeded")] {
                var task: [String: Any]
                repeat {
                    task = try await server.send("GET", "/v1/tasks/\(id)").json
                } while task["status"] as? String == "waiting" || task["status"] as? String == "running"
                #expect(task["status"] as? String == status, "\(task)")
            }
            // What was never accepted is removed.
            #expect(!FileManager.default.fileExists(atPath: tasks.appendingPathComponent("d").path))
            let list = try await server.send("GET", "/v1/tasks").json["tasks"] as? [[String: Any]]
            #expect(list?.last?["id"] as? String == "a")
        }
    }

    private static func record(_ id: String, status: String, total: Int, done: Int) -> [String: Any] {
        [
            "id": id, "catalog": "shop", "status": status, "total": total, "done": done, "refused": 0,
            "refusals": [Any](), "created": "2026-01-01T00:00:0\(id == "a" ? 1 : 2)Z",
        ]
    }

    private static func write(_ record: [String: Any], to folder: URL) throws {
        try JSONSerialization.data(withJSONObject: record).write(to: folder.appendingPathComponent("task.json"))
    }

    @Test func tasksAreForKeysThatMayWriteTheirCatalogs() async throws {
        let keys = [
            APIKey.make(scope: .write, name: "all"), APIKey.make(scope: .write, name: "shop", catalogs: ["shop"]),
            APIKey.make(scope: .write, name: "other", catalogs: ["other"]), APIKey.make(scope: .read, name: "reader"),
        ]
        try await TestServer.run(covers: false, configure: { $0.keys = KeyRing(keys.map(\.entry)) }) {
            (server: TestServer) async throws -> Void in
            func header(_ index: Int) -> [String: String] { ["X-API-Key": keys[index].key] }
            _ = try await server.send("PUT", "/v1/catalogs/shop", header(0))
            #expect(try await Self.start([], server, header(3)).status == 403)
            let reply = try await Self.start([], server, header(1))
            #expect(reply.status == 202)
            let path = try #require(reply.headers["location"])
            for (index, status, count) in [(0, 200, 1), (1, 200, 1), (2, 404, 0), (3, 403, nil)] {
                #expect(try await server.send("GET", path, header(index)).status == status, "\(index)")
                let list = try await server.send("GET", "/v1/tasks", header(index)).json["tasks"] as? [Any]
                #expect(list?.count == count)
            }
            #expect(try await server.send("DELETE", path, header(2)).status == 404)
            #expect(try await server.send("DELETE", path).status == 401)
        }
    }

    @Test func aTaskHasALimitOfBytes() async throws {
        try await TestServer.run(covers: false, configure: { $0.limits.taskBytes = 1000 }) {
            (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            #expect(try await Self.start([try Self.line("a")], server).code == "body-too-large")
            // Nothing is left of it.
            let tasks = server.folder.appendingPathComponent(".tasks").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: tasks).isEmpty)
            #expect(try await Self.start(["{}"], server).status == 202)
        }
    }

    /// A program that answers requests with statuses, one after the other.
    private final class Receiver: Sendable {
        let port: Int
        let requests: AsyncStream<HTTPReply>

        init(statuses: [String]) throws {
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, length) == 0 && listen(socket, 8) == 0 && getsockname(socket, $0, &length) == 0
                }
            }
            try #require(isBound)
            port = Int(in_port_t(bigEndian: address.sin_port))
            let (requests, continuation) = AsyncStream.makeStream(of: HTTPReply.self)
            self.requests = requests
            Thread.detachNewThread {
                for status in statuses {
                    let connection = accept(socket, nil, nil)
                    var (data, buffer) = (Data(), [UInt8](repeating: 0, count: 65_536))
                    // A request has a line and fields like an answer.
                    while true {
                        let count = recv(connection, &buffer, buffer.count, 0)
                        if count <= 0 { break }
                        data += buffer[..<count]
                        if let reply = try? HTTPClient.reply(data, hasBody: true),
                            reply.body.count == reply.headers["content-length"].flatMap({ Int($0) })
                        {
                            continuation.yield(reply)
                            break
                        }
                    }
                    let answer = Data("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n".utf8)
                    _ = answer.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, 0) }
                    close(connection)
                }
                close(socket)
                continuation.finish()
            }
        }
    }

    @Test func aWebhookIsTold() async throws {
        // A redirection leads nowhere.
        let receiver = try Receiver(statuses: ["500 Oh", "302 Found\r\nLocation: http://127.0.0.1:1/", "204 Done"])
        var webhook = ServiceConfiguration.Webhook(
            url: try #require(URL(string: "http://127.0.0.1:\(receiver.port)/events?from=here")),
            secret: Data("a secret of twenty-four bytes".utf8))
        webhook.retryDelays = [.milliseconds(1), .milliseconds(1)]
        webhook.changeInterval = .seconds(3600)
        let target = webhook
        try await TestServer.run(covers: false, configure: { $0.webhook = target }) {
            (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            let task = try await Self.ended(try await Self.start(["{}"], server), server)
            var requests: [HTTPReply] = []
            for await request in receiver.requests { requests.append(request) }
            #expect(requests.count == 3 && Set(requests.compactMap { $0.headers["webhook-id"] }).count == 1)
            for request in requests {
                let event = try request.json
                #expect(event["type"] as? String == "task.ended" && event["timestamp"] is String)
                let data = try #require(event["data"] as? [String: Any])
                #expect(data["id"] as? String == task["id"] as? String && data["status"] as? String == "succeeded")
                #expect(data["refused"] as? Int == 1 && data["refusals"] == nil)
                let time = try #require(request.headers["webhook-timestamp"].flatMap { Int($0) })
                let id = try #require(request.headers["webhook-id"])
                #expect(
                    request.headers["webhook-signature"] == target.signature(of: request.body, id: id, time: time))
                #expect(request.headers["host"] == "127.0.0.1:\(receiver.port)")
            }
        }
    }

    @Test func aWebhookIsToldOfChanges() async throws {
        let receiver = try Receiver(statuses: ["200 OK", "200 OK"])
        var webhook = ServiceConfiguration.Webhook(
            url: try #require(URL(string: "http://127.0.0.1:\(receiver.port)")), secret: Data(count: 24))
        webhook.changeInterval = .seconds(3600)
        let target = webhook
        try await TestServer.run(configure: { $0.webhook = target }) { (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            _ = try await server.send("PUT", "/v1/catalogs/covers")
            // What changes nothing is no event, and soon is none that waits.
            #expect(try await server.send("DELETE", "/v1/catalogs/covers/entities/none").status == 404)
            var events: [Any]?
            repeat {
                events = try await server.send("GET", "/v1/tasks").json["webhooks"] as? [Any]
            } while events?.count != 1
            for id in DemoCovers.ids.prefix(2) {
                #expect(try await server.send("DELETE", "/v1/catalogs/covers/entities/\(id)").status == 204)
            }
            #expect(try await server.send("DELETE", "/v1/catalogs/covers/entities/none").status == 404)
        }
        // The end of the service ends the wait for more changes.
        var changed: [String?] = []
        for await request in receiver.requests {
            let event = try request.json
            #expect(event["type"] as? String == "catalog.changed")
            changed.append((event["data"] as? [String: Any])?["catalog"] as? String)
        }
        #expect(Set(changed) == ["shop", "covers"] && changed.count == 2)
    }

    /// An event that nobody takes ends neither the task nor the service.
    @Test func aWebhookThatCannotBeReached() async throws {
        var webhook = ServiceConfiguration.Webhook(
            url: try #require(URL(string: "http://127.0.0.1:1/")), secret: Data(count: 24))
        webhook.retryDelays = [.seconds(3600)]
        let target = webhook
        try await TestServer.run(covers: false, configure: { $0.webhook = target }) {
            (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            let task = try await Self.ended(try await Self.start([], server), server)
            #expect(task["status"] as? String == "succeeded")
        }
    }

    /// It was in memory alone, and ended with the service.
    @Test func anEventThatNobodyTookComesAfterARestart() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let receiver = try Receiver(
            statuses: ["500 Oh", "204 Done", "500 Oh"] + Array(repeating: "204 Done", count: 5))
        var webhook = ServiceConfiguration.Webhook(
            url: try #require(URL(string: "http://127.0.0.1:\(receiver.port)")), secret: Data(count: 24))
        (webhook.retryDelays, webhook.changeInterval) = ([.seconds(3600), .seconds(3600)], .seconds(3600))
        let target = webhook
        let id = try await TestServer.run(covers: false, folder: folder, configure: { $0.webhook = target }) {
            (server: TestServer) async throws -> String in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            _ = try await Self.ended(try await Self.start([], server), server)
            var events: [[String: Any]] = []
            while events.first?["attempts"] as? Int != 1 {
                let list = try await server.send("GET", "/v1/tasks").json["webhooks"] as? [[String: Any]] ?? []
                events = list.filter { $0["type"] as? String == "task.ended" }
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(events.count == 1 && events[0]["error"] as? String == "status 500" && events[0]["body"] == nil)
            let metrics = try await server.send("GET", "/metrics").text
            #expect(metrics.contains("\nlookalike_webhook_failures_total 1.0\n"))
            return try #require(events[0]["id"] as? String)
        }
        webhook.retryDelays = Array(repeating: .milliseconds(1), count: 9)
        let next = webhook
        try await TestServer.run(covers: false, folder: folder, configure: { $0.webhook = next }) {
            (server: TestServer) async throws -> Void in
            let file = folder.appendingPathComponent(".webhooks/\(id)").path
            while FileManager.default.fileExists(atPath: file) { try await Task.sleep(for: .milliseconds(10)) }
            let metrics = try await server.send("GET", "/metrics").text
            #expect(metrics.contains("\nlookalike_webhooks_ended_total{result=\"dropped\"} 0.0\n"))
            #expect(try await server.send("GET", "/v1/tasks").json["webhooks"] is [Any])
        }
    }

    /// The example of the specification's libraries.
    @Test func signaturesAreThoseOfStandardWebhooks() throws {
        let secret = try #require(ServiceConfiguration.Webhook.secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"))
        let webhook = ServiceConfiguration.Webhook(url: URL(fileURLWithPath: "/"), secret: secret)
        let signature = webhook.signature(
            of: Data("{\"test\": 2432232314}".utf8), id: "msg_p5jXN8AQM9LWM0D4loKWxJek", time: 1_614_265_330)
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect(ServiceConfiguration.Webhook.secret("whsec_?") == nil)
        for (url, size) in [("ftp://a.example", 24), ("http://", 24), ("http://a.example", 23)] {
            var configuration = ServiceConfiguration(catalogs: FileManager.default.temporaryDirectory)
            configuration.webhook = .init(url: try #require(URL(string: url)), secret: Data(count: size))
            #expect(throws: ServiceError.self, "\(url)") { try LookalikeService(configuration) }
        }
    }
}
