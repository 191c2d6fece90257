import Foundation
@_spi(Service) import LookalikeService
import Testing

@Suite struct LimitTests {
    /// A body would be taken for the next answer on the connection.
    @Test func errorsOfHEADHaveNoBody() async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            for path in ["/nope", "/v1/catalogs/nope", "/v1/prints"] {
                let reply = try await server.send("HEAD", path)
                #expect(reply.status >= 404 && reply.body.isEmpty, "\(path): \(reply.text)")
            }
        }
    }

    /// A request that is one too many is answered before its body comes, and those behind a small body in their order.
    @Test func refusalsThatNeedTheHeadAlone() async throws {
        try await TestServer.run(configure: { $0.limits.requestsPerSecond = 0.001 }) {
            (server: TestServer) async throws -> Void in
            let head = "POST /v1/catalogs/covers/search?limit=1 HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"
            let client = HTTPClient(port: server.port)
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("POST", "/v1/catalogs/covers/search", body: image).status == 200)
            for fields in [
                "Content-Length: 30000000", "Transfer-Encoding: chunked", "Content-Length: 9\r\nExpect: 100-continue",
            ] {
                let reply = try await client.exchange("\(head)X-Request-Id: mine\r\n\(fields)\r\n\r\n", seconds: 1).text
                #expect(reply.hasPrefix("HTTP/1.1 429 "), "\(reply)")
                for part in [
                    "\r\nConnection: close\r\n", "\r\nX-Request-Id: mine\r\n", "\r\nRetry-After: ", "\"rate-limited\"",
                ] {
                    #expect(reply.contains(part), "\(part): \(reply)")
                }
            }
            let second = "GET /health/live HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nConnection: close\r\n\r\n"
            let both = try await client.exchange(
                "\(head)Content-Length: \(image.count)\r\n\r\n", body: image + Data((second + second).utf8))
            #expect(
                both.isClosed && both.text.hasPrefix("HTTP/1.1 429 ")
                    && !both.text.contains("Connection: close\r\nContent"))
            #expect(both.text.components(separatedBy: "HTTP/1.1 200 ").count == 2, "\(both.text)")
            let metrics = try await server.send("GET", "/metrics").text
            #expect(metrics.contains("route=\"/v1/catalogs/{catalog}/search\",status=\"429\"} 4"))
        }
    }

    /// Those that came together with the one before were answered at once, thousands of them a second.
    @Test func aConnectionRestsAfterEachRefusal() async throws {
        try await TestServer.run(configure: { $0.limits.requestsPerSecond = 0.001 }) {
            (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            #expect(try await server.send("POST", path, body: try DemoCovers.image("salt-signal")).status == 200)
            let host = "HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"
            let refused = String(repeating: "POST \(path) \(host)Content-Length: 1\r\n\r\nx", count: 9)
            let start = ContinuousClock.now
            let all = try await HTTPClient(port: server.port).exchange(
                refused + "GET /health/live \(host)Connection: close\r\n\r\n", seconds: 20)
            #expect(ContinuousClock.now - start >= .milliseconds(9 * 50))
            #expect(all.text.components(separatedBy: "HTTP/1.1 429 ").count == 10 && all.isClosed)
            #expect(all.text.components(separatedBy: "HTTP/1.1 200 ").count == 2)
        }
    }

    /// Nobody read them, and who sent them waited for a minute.
    @Test(.timeLimit(.minutes(1))) func aLargeBodyThatNobodyWants() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            for (path, code) in [("none/search", "unknown-catalog"), ("covers/search", "body-too-large")] {
                let reply = try await server.send("POST", "/v1/catalogs/\(path)", body: Data(count: 64 << 20))
                #expect(try reply.code == code)
            }
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost x\r\n\r\n", "G\u{7F}T / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n",
    ])
    func whatIsNotHTTPIsAProblemToo(text: String) async throws {
        try await TestServer.run(covers: false) { (server: TestServer) async throws -> Void in
            let answer = try await HTTPClient(port: server.port).exchange(text)
            let reply = try HTTPClient.reply(Data(answer.text.utf8), hasBody: true)
            #expect(try answer.isClosed && reply.status == 400 && reply.code == "invalid-request", "\(answer.text)")
            #expect(reply.headers["content-type"] == "application/problem+json")
        }
    }

    @Test func aClientThatWaitsBeforeItSendsABody() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let reply = try await HTTPClient(port: server.port).send(
                "POST", "/v1/catalogs/covers/search", ["Expect": "100-continue"],
                lateBody: try DemoCovers.image("salt-signal"), after: {})
            #expect(reply.status == 100 && reply.text.hasPrefix("HTTP/1.1 200 "), "\(reply.text)")
        }
    }

    @Test func bodiesAndImagesThatAreTooLarge() async throws {
        try await TestServer.run(configure: {
            $0.limits.bodyBytes = 100_000
            $0.limits.pixels = 10_000
        }) { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            let announced = try await server.send("POST", path, body: Data(count: 100_001))
            #expect(try (announced.status, announced.code) == (413, "body-too-large"))
            let chunk = Data("186A1\r\n".utf8) + Data(count: 100_001) + Data("\r\n0\r\n\r\n".utf8)
            let chunked = try await server.send("POST", path, ["Transfer-Encoding": "chunked"], body: chunk)
            #expect(try (chunked.status, chunked.code) == (413, "body-too-large"))
            for (method, target) in [("POST", path), ("PUT", "/v1/catalogs/covers/entities/a")] {
                let image = try await server.send(method, target, body: try DemoCovers.image("salt-signal"))
                #expect(try (image.status, image.code) == (413, "image-too-large"))
            }
        }
    }

    /// A chunk that is longer than it says.
    @Test func aDamagedBodyIsAnErrorOfTheClient() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            for path in ["/v1/prints", "/v1/catalogs/covers/search"] {
                let reply = try await server.send(
                    "POST", path, ["Transfer-Encoding": "chunked"], body: Data("1\r\nab\r\n0\r\n\r\n".utf8))
                #expect(try (reply.status, reply.code) == (400, "invalid-request"), "\(path)")
            }
        }
    }

    /// As many idle connections as there may be kept everybody out, and health checks with them.
    @Test func idleConnectionsMakeRoomForNewOnes() async throws {
        try await TestServer.run(configure: { $0.limits.connections = 4 }) {
            (server: TestServer) async throws -> Void in
            let client = HTTPClient(port: server.port)
            let idle = try (0..<40).map { _ in try client.connect() }
            defer { for socket in idle { close(socket) } }
            #expect(try await server.send("GET", "/health/live").status == 200)
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("POST", "/v1/catalogs/covers/search", body: image).status == 200)
        }
    }

    @Test func healthIsAnsweredWhileAllConnectionsAreAtWork() async throws {
        try await TestServer.run(configure: { $0.limits.connections = 4 }) {
            (server: TestServer) async throws -> Void in
            let client = HTTPClient(port: server.port)
            var stalled: [Int32] = []
            defer { for socket in stalled { close(socket) } }
            var reply: HTTPReply
            // One that was not read yet makes room.
            repeat {
                for _ in 0..<4 {
                    stalled.append(
                        try await client.open(
                            "POST", "/v1/catalogs/covers/search", ["Content-Length": "1000"], body: Data([0])))
                }
                reply = try await server.send("GET", "/v1/catalogs")
            } while reply.status == 200
            #expect(try (reply.status, reply.code) == (503, "overloaded"))
            #expect(try await server.send("GET", "/health/live").status == 200)
            #expect(try await server.send("GET", "/health/ready").status != 404)
        }
    }

    @Test func allBodiesTogether() async throws {
        try await TestServer.run(configure: {
            $0.limits.bodyBytes = 1000
            $0.limits.bodyBytesInFlight = 1000
        }) { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            var reply: HTTPReply
            repeat {
                let stalled = try await HTTPClient(port: server.port).open(
                    "POST", path, ["Content-Length": "1000"], body: Data(count: 600))
                defer { close(stalled) }
                reply = try await server.send("POST", path, body: Data(count: 600))
                // If it was read before the stalled one, that was refused.
            } while reply.status == 415
            #expect(try (reply.status, reply.code) == (503, "overloaded"))
            #expect(reply.headers["retry-after"] == "1")
        }
    }

    @Test func whatAStalledClientAnnouncedKeepsNobodyOut() async throws {
        let image = try DemoCovers.image("salt-signal")
        try await TestServer.run(configure: {
            $0.limits.bodyBytes = image.count + 1000
            $0.limits.bodyBytesInFlight = image.count + 1000
        }) { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            var sockets: [Int32] = []
            defer { for socket in sockets { close(socket) } }
            for _ in 0..<4 {
                sockets.append(
                    try await HTTPClient(port: server.port).open(
                        "POST", path, ["Content-Length": "\(image.count)"], body: Data([0])))
            }
            #expect(try await server.send("POST", path, body: image).status == 200)
        }
    }

    /// A byte now and then is not idle, and its memory is nobody else's.
    @Test func aBodyThatComesTooSlowly() async throws {
        try await TestServer.run(configure: {
            $0.limits.idleTime = .seconds(3)
        }) { (server: TestServer) async throws -> Void in
            let reply = try await HTTPClient(port: server.port).trickle(
                "POST", "/v1/catalogs/covers/search", count: 1000, every: 0.02)
            #expect(try (reply.status, reply.code) == (408, "slow-body"))
        }
    }

    /// It held its connection, and with others all of them, for as long as it liked. One that reads slowly is served.
    @Test(arguments: [false, true]) func aClientThatDoesNotReadItsAnswers(isSlow: Bool) async throws {
        try await TestServer.run(configure: {
            $0.limits.idleTime = .seconds(1)
        }) { (server: TestServer) async throws -> Void in
            let client = HTTPClient(port: server.port)
            let count = 1000
            let socket = try await client.pipeline("GET", "/openapi.json", count: count)
            defer { close(socket) }
            var answered = 0
            if isSlow {
                answered = try await client.answers(on: socket, pause: 0.002)
            } else {
                // The answers fill the buffers of both sides, and the service waits.
                try await Task.sleep(for: .seconds(5))
                answered = try await client.answers(on: socket, pause: 0)
            }
            #expect(isSlow ? answered == count : answered < count, "\(answered)")
        }
    }

    /// A little of it each minute kept the rest, and the connection.
    @Test func howMuchOfAnAnswerHasToBeRead() {
        let pace = AnswerPace(idleTime: .seconds(60))
        let enough = 60 * (64 << 10)
        #expect(pace.allows(waiting: 10 * enough, then: 9 * enough))
        #expect(!pace.allows(waiting: 10 * enough, then: 9 * enough + 1))
        #expect(pace.allows(waiting: 1000, then: 0))
        #expect(!pace.allows(waiting: 1000, then: 1))
    }

    /// They were refused with 503, whatever else the service had to do.
    @Test func bodiesThatNeverFitIntoTheBudget() {
        var configuration = ServiceConfiguration(catalogs: URL(fileURLWithPath: "/nowhere"))
        (configuration.limits.bodyBytes, configuration.limits.bodyBytesInFlight) = (1001, 1000)
        let error = #expect(throws: ServiceError.self) { try LookalikeService(configuration) }
        #expect(error?.description.hasPrefix("--body-bytes: is 1001, more than --body-bytes-in-flight") == true)
    }

    /// Numbers that overflowed when they were multiplied.
    @Test(arguments: [0, -1, Int.min, Int.max, 1 << 41]) func limitsThatNoMachineHas(count: Int) {
        for limit: WritableKeyPath<ServiceLimits, Int> in [
            \.bodyBytes, \.bodyBytesInFlight, \.pixels, \.searches, \.printSearches, \.connections, \.openCatalogs,
        ] {
            var configuration = ServiceConfiguration(catalogs: URL(fileURLWithPath: "/nowhere"))
            configuration.limits[keyPath: limit] = count
            let error = #expect(throws: ServiceError.self) { try LookalikeService(configuration) }
            #expect(error?.description.contains("is \(count)") == true)
        }
    }

    @Test func samplesAreReadOnceAndFewOfThem() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let image = try DemoCovers.image("salt-signal")
        try image.write(to: folder.appendingPathComponent("b.jpg"))
        try image.write(to: folder.appendingPathComponent("c.txt"))
        let large = folder.appendingPathComponent("a.png")
        #expect(FileManager.default.createFile(atPath: large.path, contents: nil))
        #expect(truncate(large.path, 65 << 20) == 0)
        #expect(mkfifo(folder.appendingPathComponent("d.png").path, 0o600) == 0)
        try await TestServer.run(configure: { $0.samples = folder }) { (server: TestServer) async throws -> Void in
            let list = try await server.send("GET", "/v1/samples").json["samples"] as? [String]
            #expect(list == ["/v1/samples/b.jpg"])
            try FileManager.default.removeItem(at: folder.appendingPathComponent("b.jpg"))
            let sample = try await server.send("GET", "/v1/samples/b.jpg")
            #expect(sample.body == image && sample.headers["content-type"] == "image/jpeg")
            #expect(try await server.send("GET", "/v1/samples/a.png").code == "unknown-path")
        }
    }

    @Test func samplesThatCannotBeReadAreAnError() {
        var configuration = ServiceConfiguration(catalogs: FileManager.default.temporaryDirectory)
        configuration.samples = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let error = #expect(throws: ServiceError.self) { try LookalikeService(configuration) }
        #expect(error?.description.contains("the folder of samples cannot be read") == true)
    }

    @Test func searchesThatDoNotFitAreRefusedAndTheRestAnswered() async throws {
        let (replies, metrics) = try await TestServer.run(configure: {
            $0.limits.searches = 1
            $0.limits.queuedSearches = 2
        }) { (server: TestServer) async throws -> ([HTTPReply], String) in
            let replies = try await Self.searches(24, of: server)
            // Nothing is held by those that were refused.
            let last = try await Self.searches(1, of: server)
            #expect(last.first?.status == 200)
            return (replies, try await server.send("GET", "/metrics").text)
        }
        let refused = replies.filter { $0.status == 503 }
        let answered = replies.count { $0.status == 200 }
        #expect(answered + refused.count == 24)
        #expect(!refused.isEmpty && answered > 0)
        for reply in refused {
            #expect(try reply.code == "overloaded")
            let seconds = Int(reply.headers["retry-after"] ?? "") ?? 0
            #expect(seconds >= 1)
        }
        #expect(metrics.contains("lookalike_work_refused_total{pool=\"image\"} \(refused.count).0"))
        #expect(metrics.contains("lookalike_work_running{pool=\"image\"} 0.0"))
        #expect(metrics.contains("lookalike_work_waiting{pool=\"image\"} 0.0"))
    }

    /// Searches that are sent at once.
    private static func searches(_ count: Int, of server: TestServer) async throws -> [HTTPReply] {
        let image = try DemoCovers.screenshot()
        let searches = (0..<count).map { _ in
            Task { try await server.send("POST", "/v1/catalogs/covers/search", body: image) }
        }
        var replies: [HTTPReply] = []
        for search in searches { replies.append(try await search.value) }
        return replies
    }

    @Test func aClientThatGoesAwayCancelsItsSearch() async throws {
        try await TestServer.run(configure: {
            $0.limits.searches = 1
        }) { (server: TestServer) async throws -> Void in
            let image = try DemoCovers.screenshot()
            for _ in 0..<8 {
                let socket = try await HTTPClient(port: server.port).open(
                    "POST", "/v1/catalogs/covers/search", body: image)
                close(socket)
            }
            // The answer that nobody reads is counted as soon as the server has noticed.
            var cancelled = 0.0
            for _ in 0..<200 where cancelled == 0 {
                let metrics = try await server.send("GET", "/metrics").text
                for line in metrics.split(separator: "\n")
                where line.hasPrefix("http_requests_total") && line.contains("status=\"499\"") {
                    cancelled = Double(line.split(separator: " ").last ?? "") ?? 0
                }
                try await Task.sleep(for: .milliseconds(25))
            }
            #expect(cancelled > 0)
            #expect(try await server.send("POST", "/v1/catalogs/covers/search", body: image).status == 200)
        }
    }

    @Test func aSearchThatTakesTooLong() async throws {
        try await TestServer.run(configure: {
            $0.limits.requestTime = .microseconds(1)
        }) { (server: TestServer) async throws -> Void in
            let reply = try await server.send(
                "POST", "/v1/catalogs/covers/search", body: try DemoCovers.screenshot())
            #expect(try (reply.status, reply.code) == (503, "time-limit"))
            #expect(reply.headers["retry-after"] == "1")
        }
    }

    @Test func anImageThatTakesTooLongToDecode() async throws {
        try await TestServer.run(configure: {
            $0.limits.decodeTime = .nanoseconds(1)
        }) { (server: TestServer) async throws -> Void in
            let reply = try await server.send(
                "POST", "/v1/catalogs/covers/search", body: try DemoCovers.image("salt-signal"))
            #expect(try (reply.status, reply.code) == (422, "decode-time"))
        }
    }
}
