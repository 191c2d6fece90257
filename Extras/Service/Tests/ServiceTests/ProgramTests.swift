import Foundation
import Testing

/// The program itself: signals, and what is left when it is killed.
@Suite struct ProgramTests {
    private final class Program: @unchecked Sendable {
        let process = Process()
        let port: Int

        init(_ folder: URL) throws {
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
                .deletingLastPathComponent().appendingPathComponent("lookalike-serve")
            process.arguments = ["--catalogs", folder.path, "--port", "0", "--log-level", "critical"]
            process.standardOutput = output
            try process.run()
            var line = Data()
            while line.last != 0x0A, let byte = try output.fileHandleForReading.read(upToCount: 1) { line += byte }
            let text = String(decoding: line, as: UTF8.self)
            port = Int(text.split(separator: ":").last?.filter(\.isNumber) ?? "") ?? 0
        }

        func send(_ method: String, _ path: String, body: Data? = nil) async throws -> HTTPReply {
            try await HTTPClient(port: port).send(method, path, body: body)
        }
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await body(folder)
    }

    @Test func aSignalLetsRequestsFinish() async throws {
        try await withFolder { folder in
            try FileManager.default.copyItem(at: DemoCovers.catalog, to: folder.appendingPathComponent("covers"))
            let program = try Program(folder)
            let image = try DemoCovers.screenshot()
            let searches = (0..<2).map { _ in
                Task { try await program.send("POST", "/v1/catalogs/covers/search?effort=thorough", body: image) }
            }
            // The signal comes when the searches are under way.
            while true {
                let metrics = try await program.send("GET", "/metrics").text
                if metrics.contains("lookalike_work_running{pool=\"image\"} 1.0")
                    || metrics.contains("lookalike_work_running{pool=\"image\"} 2.0")
                    || metrics.contains("stage=\"total\"")
                    || metrics.contains("route=\"/v1/catalogs/{catalog}/search\",status=\"200\"")
                {
                    break
                }
            }
            program.process.terminate()
            for search in searches {
                // One that had not been sent yet may find the port closed.
                guard let reply = try? await search.value else { continue }
                #expect(reply.status == 200 || reply.status == 503)
            }
            program.process.waitUntilExit()
            #expect(program.process.terminationReason == .exit)
            #expect(program.process.terminationStatus == 0)
        }
    }

    @Test func whatWasAcknowledgedIsThereAfterAKill() async throws {
        try await withFolder { folder in
            var acknowledged: Set<String> = []
            let image = try DemoCovers.image("salt-signal")
            for round in 0..<4 {
                let program = try Program(folder)
                if round == 0 { #expect(try await program.send("PUT", "/v1/catalogs/shop").status == 201) }
                let found = try await withThrowingTaskGroup(of: String?.self) { group in
                    for writer in 0..<4 {
                        group.addTask {
                            let id = "\(round)-\(writer)"
                            let reply = try? await program.send(
                                "PUT", "/v1/catalogs/shop/entities/\(id)?title=\(id)", body: image)
                            return reply?.status == 201 ? id : nil
                        }
                    }
                    var found: Set<String> = []
                    // At the first answer the others are being written.
                    if let first = try await group.next() { found.formUnion([first].compactMap(\.self)) }
                    kill(program.process.processIdentifier, SIGKILL)
                    for try await id in group { found.formUnion([id].compactMap(\.self)) }
                    return found
                }
                program.process.waitUntilExit()
                acknowledged.formUnion(found)
            }
            #expect(acknowledged.count >= 4)
            let program = try Program(folder)
            let answer = try await program.send(
                "POST", "/v1/catalogs/shop/search?limit=100&min-confidence=0", body: image)
            let stored = Set(try answer.ids)
            #expect(acknowledged.isSubset(of: stored))
            for id in stored {
                #expect(
                    try await program.send("GET", "/v1/catalogs/shop/entities/\(id)").json["title"] as? String == id)
                #expect(try await program.send("GET", "/v1/catalogs/shop/entities/\(id)/thumbnail").status == 200)
            }
            program.process.terminate()
            program.process.waitUntilExit()
        }
    }
}
