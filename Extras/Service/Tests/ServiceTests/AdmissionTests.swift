import Foundation
import Lookalike
@_spi(Service) import LookalikeService
import Synchronization
import Testing

/// Who gets a place when there are not enough.
@Suite struct AdmissionTests {
    private static func client(_ address: String, key: String? = nil) -> WorkClient {
        WorkClient(key: key.map { Data($0.utf8) }, address: address)
    }

    /// Keeps the one place of a pool until `body` has queued its work, and returns the order in which that was done.
    private static func order(
        in pool: WorkPool, of clients: [WorkClient]
    ) async throws -> [(client: WorkClient, isDone: Bool)] {
        let done = Shared<[(client: WorkClient, isDone: Bool)]>([])
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (isRunning, running) = AsyncStream.makeStream(of: Void.self)
            group.addTask {
                try await pool.run(for: clients[0]) {
                    running.yield()
                    for await _ in gate.prefix(1) {}
                }
            }
            for await _ in isRunning.prefix(1) {}
            for client in clients {
                let count = done.value.withLock { $0.count } + pool.waitingCount
                group.addTask {
                    do {
                        try await pool.run(for: client) { done.value.withLock { $0.append((client, true)) } }
                    } catch {
                        done.value.withLock { $0.append((client, false)) }
                    }
                }
                while done.value.withLock({ $0.count }) + pool.waitingCount == count { await Task.yield() }
            }
            opening.yield()
            try await group.waitForAll()
        }
        return done.value.withLock { $0 }
    }

    /// The second client came last, and the first had a place already.
    @Test func theOneWhoHadTheLeastIsNext() async throws {
        let (a, b) = (Self.client("a"), Self.client("b"))
        let order = try await Self.order(in: WorkPool(places: 1), of: [a, a, a, b])
        #expect(order.map(\.client) == [b, a, a, a])
    }

    /// One key from many addresses has one share, and another key the other one.
    @Test func aKeyHasOneShareFromAllAddresses() async throws {
        let many = (0..<4).map { Self.client("\($0)", key: "many") }
        let one = Self.client("0", key: "one")
        let order = try await Self.order(in: WorkPool(places: 1), of: many + [one])
        #expect(order.first?.client == one)
        #expect(order.count == 5)
    }

    @Test func aFullQueueHasRoomForTheOneWhoHasLess() async throws {
        let (a, b) = (Self.client("a"), Self.client("b"))
        let order = try await Self.order(in: WorkPool(places: 1, queueLimit: 3), of: [a, a, a, b])
        #expect(order.filter { !$0.isDone }.map(\.client) == [a])
        #expect(order.filter(\.isDone).map(\.client) == [b, a, a])
    }

    /// Two of them took both processors for seconds, and nobody else was answered.
    @Test func largeImagesLeaveRoomForOthers() async throws {
        let (width, height) = (4800, 4800)
        let pixels = try PixelBuffer(
            [UInt8](repeating: 128, count: 3 * width * height), width: width, height: height, format: .rgb8)
        let large = try pixels.pngData()
        let small = try DemoCovers.image("salt-signal")
        try await TestServer.run(configure: {
            $0.limits.searches = 2
            $0.limits.queuedSearches = 0
        }) { (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search?effort=prints"
            let isDone = Shared(false)
            try await withThrowingTaskGroup(of: [Int].self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        var statuses: [Int] = []
                        repeat {
                            statuses.append(try await server.send("POST", path, body: large).status)
                        } while !isDone.value.withLock({ $0 })
                        return statuses
                    }
                }
                for _ in 0..<12 { #expect(try await server.send("POST", path, body: small).status == 200) }
                isDone.value.withLock { $0 = true }
                for try await statuses in group { #expect(Set(statuses).isSubset(of: [200, 503])) }
            }
            #expect(try await server.send("POST", path, body: large).status == 200)
        }
    }

    @Test func aClientThatSendsTooManyRequests() async throws {
        let (first, firstEntry) = APIKey.make(scope: .read, name: "first")
        let (second, secondEntry) = APIKey.make(scope: .read, name: "second")
        try await TestServer.run(configure: {
            $0.keys = KeyRing([firstEntry, secondEntry])
            $0.limits.requestsPerSecond = 0.001
        }) { (server: TestServer) async throws -> Void in
            #expect(try await server.send("GET", "/v1/catalogs", ["X-API-Key": first]).status == 200)
            let refused = try await server.send("GET", "/v1/catalogs", ["X-API-Key": first])
            #expect(try (refused.status, refused.code) == (429, "rate-limited"))
            #expect((990...1000).contains(Int(refused.headers["retry-after"] ?? "") ?? 0))
            // Others have their own, and some paths none.
            #expect(try await server.send("GET", "/v1/catalogs", ["X-API-Key": second]).status == 200)
            #expect(try await server.send("GET", "/metrics", ["X-API-Key": first]).status == 200)
            #expect(try await server.send("GET", "/health/live").status == 200)
        }
    }
}

/// A value that several tasks change.
private final class Shared<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }
}
