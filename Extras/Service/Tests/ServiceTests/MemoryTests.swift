import Foundation
@_spi(Service) import LookalikeService
import Synchronization
import Testing

/// What a service takes of the memory that it has, and that it gives it back.
@Suite struct MemoryTests {
    private static let megabyte = 1 << 20

    /// A folder with the files that Linux has of a machine and its control groups.
    private static func root(_ files: [String: String]) throws -> URL {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        for (path, text) in files {
            let file = root.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return root
    }

    @Test(arguments: [
        // Nothing but the machine.
        ([:], 2048),
        (["proc/self/cgroup": "0::/\n"], 2048),
        // Version 2: the least of the group and those around it.
        (
            [
                "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
                "sys/fs/cgroup/a/memory.max": "402653184\n",
            ], 384
        ),
        (["proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.high": "268435456\n"], 256),
        // A container that sees its own group as the root, and its path as another one.
        (["proc/self/cgroup": "0::/docker/1\n", "sys/fs/cgroup/memory.max": "805306368\n"], 768),
        (["proc/self/cgroup": "0::/../..\n", "sys/fs/cgroup/memory.max": "805306368\n"], 768),
        // Version 1, whose number for no limit is more than there is.
        (
            [
                "proc/self/cgroup": "9:cpu,cpuacct:/x\n4:memory:/x/y\n0::/\n",
                "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "536870912\n",
                "sys/fs/cgroup/memory/x/y/memory.limit_in_bytes": "9223372036854771712\n",
            ], 512
        ),
        // More than the machine has, and files that say nothing.
        (["proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999\n"], 2048),
        (["proc/self/cgroup": "x\n0::/\n\n", "sys/fs/cgroup/memory.max": "\n"], 2048),
    ])
    func memoryOfControlGroups(files: [String: String], megabytes: Int) throws {
        let root = try Self.root(
            files.merging(["proc/meminfo": "MemTotal:        2097152 kB\nMemFree:         1 kB\n"]) { $1 })
        defer { try? FileManager.default.removeItem(at: root) }
        #expect(MemoryShares.available(root: root) == megabytes * Self.megabyte)
    }

    /// Whoever came first had it all, and photos of others were refused.
    @Test func clientsLeaveMemoryToOthers() throws {
        let budget = ByteBudget(limit: 64 * Self.megabyte, body: 16 * Self.megabyte)
        func client(_ number: Int) -> WorkClient { WorkClient(key: nil, address: "\(number)") }
        func most(of claim: ByteBudget.Claim) -> Int {
            var count = 0
            while (try? claim.add(Self.megabyte / 4)) != nil { count += 1 }
            return count / 4
        }
        let claims = (0..<4).map { budget.claim(for: client($0)) }
        #expect(claims.map(most) == [32, 16, 8, 4])
        // One client has no more with two bodies; a small body fits.
        #expect(throws: (any Error).self) { try budget.claim(for: client(0)).add(1) }
        let small = budget.claim(for: client(9))
        try small.add(Self.megabyte)
        claims[0].shrink(to: 0)
        #expect(most(of: small) == 17)
        withExtendedLifetime(claims) {}
        let whole = ByteBudget(limit: 1000, body: 1000)
        try whole.claim(for: client(0)).add(1000)
        try whole.claim(for: client(1)).add(1000)
    }

    /// The table of the documentation, in MiB: memory, searches at once, a body, bodies, an image, larger images.
    @Test(arguments: [
        [256, 1, 16, 32, 40, 40], [1024, 2, 32, 216, 64, 412], [8192, 8, 32, 512, 64, 4388],
    ])
    func sharesOfMachines(row: [Int]) {
        let limits = ServiceLimits(memory: row[0] * Self.megabyte, searches: row[1])
        let shares = limits.shares
        #expect([limits.bodyBytes, limits.bodyBytesInFlight] == row[2...3].map { $0 * Self.megabyte })
        #expect([shares.image, shares.largeImages] == row[4...5].map { $0 * Self.megabyte })
    }

    @Test func sharesAreNoMoreThanTheMemory() {
        for searches in [1, 2, 3, 8, 64] {
            for megabytes in stride(from: MemoryShares.least(searches: searches) >> 20, to: 20_000, by: 37) {
                let shares = MemoryShares(of: megabytes * Self.megabyte, searches: searches)
                let parts =
                    [shares.program, shares.bodies, searches * shares.image, shares.largeImages, shares.undo]
                    + [shares.openCatalogs * 2 * Self.megabyte]
                #expect(parts.reduce(0, +) <= shares.total, "\(megabytes) MiB, \(searches): \(shares)")
                #expect(shares.body > Self.megabyte && shares.body <= shares.bodies && shares.body <= shares.image)
                #expect(shares.largeImages >= shares.image && shares.openCatalogs > 0)
            }
            let most = MemoryShares.mostSearches(in: 256 * searches * Self.megabyte)
            #expect(MemoryShares.least(searches: most) <= 256 * searches * Self.megabyte)
        }
    }

    @Test func sizesAsText() {
        for (text, bytes) in [
            ("100", 100), ("768M", 768 << 20), ("1.5g", 3 << 29), ("2 GiB", 2 << 30), ("4KB", 4096), ("1T", 1 << 40),
        ] { #expect(MemoryShares.bytes(text) == bytes, "\(text)") }
        for text in ["", "M", "-1", "1e3", "1MM", "1 0", "75%", "99999999999T", "1.M"] {
            #expect(MemoryShares.bytes(text) == nil, "\(text)")
        }
    }

    @Test func tooLittleMemoryIsAnError() async throws {
        await #expect(throws: ServiceError.self) {
            try await TestServer.run(configure: { $0.limits = ServiceLimits(memory: 100 << 20, searches: 4) }) { _ in }
        }
    }

    /// A value that tasks share.
    private final class Shared<Value: Sendable>: Sendable {
        private let state: Mutex<Value>

        init(_ value: Value) { state = Mutex(value) }

        var value: Value { state.withLock { $0 } }
        func change(_ body: @Sendable (inout Value) -> Void) { state.withLock { body(&$0) } }
    }

    @Test func memoryIsLentUpToItsSize() async throws {
        let lane = MemoryLane(size: 100)
        let lent = Shared((now: 0, most: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<300 {
                group.addTask {
                    let count = index % 7 == 0 ? 1000 : index % 60
                    let held = min(count, 100)
                    try await lane.lending(count) {
                        lent.change { $0 = ($0.now + held, max($0.most, $0.now + held)) }
                        await Task.yield()
                        lent.change { $0.now -= held }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(lent.value.most <= 100 && lent.value.now == 0)
        // All of it is there again.
        try await lane.lending(100) {}
    }

    /// Who waits for the most is not overtaken for ever, and who goes away lets the others pass.
    @Test func whoNeedsMuchComesNext() async throws {
        let lane = MemoryLane(size: 10)
        let order = Shared<[String]>([])
        try await lane.lending(6) {
            let large = Task { try await lane.lending(8) { order.change { $0.append("large") } } }
            while lane.waitingCount < 1 { await Task.yield() }
            let small = Task { try await lane.lending(2) { order.change { $0.append("small") } } }
            while lane.waitingCount < 2 { await Task.yield() }
            #expect(order.value.isEmpty)
            large.cancel()
            await #expect(throws: CancellationError.self) { try await large.value }
            try await small.value
            #expect(order.value == ["small"])
        }
        try await lane.lending(10) {}
    }

    @Test func memoryGoesBackOnceWhenNothingIsDone() {
        let count = Shared(0)
        let memory = IdleMemory { count.change { $0 += 1 } }
        #expect(!memory.check())
        memory.begin()
        #expect(!memory.check() && !memory.check())
        memory.end()
        #expect(memory.check())
        #expect(!memory.check())
        memory.begin()
        memory.end()
        // There was work since the last call.
        #expect(!memory.check())
        memory.begin()
        memory.end()
        #expect(!memory.check())
        #expect(memory.check() && count.value == 2)
        IdleMemory.trimAllocator()
    }

    @Test func aSmallMachineServesPhotosAndRefusesWhatDoesNotFit() async throws {
        try await TestServer.run(configure: { $0.limits = ServiceLimits(memory: 160 << 20, searches: 1) }) {
            (server: TestServer) async throws -> Void in
            let path = "/v1/catalogs/covers/search"
            let image = try DemoCovers.image("salt-signal")
            #expect(try await server.send("POST", path, body: image).ids.first == "salt-signal")
            let put = try await server.send("PUT", "/v1/catalogs/covers/entities/new", body: image)
            #expect(put.status == 201)
            // A PNG file of 30 million pixels, by its header.
            let bomb = try await server.send("POST", path, body: Self.png(width: 6000, height: 5000))
            #expect(try (bomb.status, bomb.code) == (413, "image-too-large"), "\(bomb.text)")
        }
    }

    /// The beginning of a PNG file in RGB.
    private static func png(width: UInt32, height: UInt32) -> Data {
        func bytes(_ value: UInt32) -> Data { withUnsafeBytes(of: value.bigEndian) { Data($0) } }
        func chunk(_ type: String, _ content: Data) -> Data {
            let body = Data(type.utf8) + content
            var crc: UInt32 = .max
            for byte in body {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
            }
            return bytes(UInt32(content.count)) + body + bytes(~crc)
        }
        return Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
            + chunk("IHDR", bytes(width) + bytes(height) + Data([8, 2, 0, 0, 0])) + chunk("IDAT", Data([0x78, 0x9C]))
    }
}
