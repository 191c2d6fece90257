import Foundation
@_spi(Service) import LookalikeService
import Testing

/// The program itself: signals, and what is left when it is killed.
@Suite struct ProgramTests {
    private final class Program: @unchecked Sendable {
        static let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("lookalike-serve")

        let process = Process()
        let port: Int

        convenience init(_ folder: URL) throws {
            try self.init(["--catalogs", folder.path, "--port", "0", "--log-level", "critical"])
        }

        init(_ arguments: [String], errors: Pipe? = nil, executable: URL = Program.executable) throws {
            let output = Pipe()
            if let errors { process.standardError = errors }
            process.executableURL = executable
            process.arguments = arguments
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

    /// The listener was closed at once, so that no balancer could see that the service was ending.
    @Test func itGoesOnUntilBalancersHaveSeenThatItStops() async throws {
        try await withFolder { folder in
            let program = try Program([
                "--catalogs", folder.path, "--port", "0", "--log-level", "critical", "--drain-delay", "3600",
            ])
            while try await program.send("GET", "/health/ready").status != 200 { await Task.yield() }
            program.process.terminate()
            while try await program.send("GET", "/health/ready").status != 503 { await Task.yield() }
            #expect(try await program.send("GET", "/health/ready").json["status"] as? String == "stopping")
            #expect(try await program.send("PUT", "/v1/catalogs/new").status == 201)
            // A second one skips the rest of the hour.
            program.process.terminate()
            program.process.waitUntilExit()
            #expect(program.process.terminationReason == .exit && program.process.terminationStatus == 0)
        }
    }

    @Test func healthHasAPortOfItsOwn() async throws {
        try await withFolder { folder in
            let (key, entry) = APIKey.make(scope: .read, name: "shop")
            let file = folder.appendingPathComponent("keys")
            try Data(entry.line.utf8).write(to: file)
            let errors = Pipe()
            let program = try Program(
                [
                    "--catalogs", folder.appendingPathComponent("catalogs").path, "--port", "0", "--health-port", "0",
                    "--keys-file", file.path, "--log-format", "json", "--access-log",
                ], errors: errors)
            var lines = LogLines(errors.fileHandleForReading)
            let health = try #require(try lines.first { $0["message"] as? String == "health and metrics" })
            let client = HTTPClient(port: try #require(health["port"] as? Int))
            #expect(try await client.send("GET", "/health/live").status == 200)
            #expect(try await client.send("GET", "/metrics").text.contains("lookalike_build_info"))
            #expect(try await client.send("GET", "/v1/catalogs").status == 404)
            #expect(try await program.send("GET", "/metrics").status == 401)
            // The log says who asked for what.
            let reply = try await HTTPClient(port: program.port).send(
                "GET", "/v1/catalogs/none", ["X-API-Key": key, "X-Request-Id": "from-a-proxy/7"])
            #expect(reply.status == 404 && reply.headers["x-request-id"] == "from-a-proxy/7")
            let line = try #require(try lines.first { $0["request"] as? String == "from-a-proxy/7" })
            #expect(line["status"] as? Int == 404 && line["level"] as? String == "info")
            for (name, value) in [
                ("key", "shop"), ("client", "127.0.0.1"), ("catalog", "none"), ("method", "GET"),
                ("route", "/v1/catalogs/{catalog}"),
            ] {
                #expect(line[name] as? String == value, "\(name)")
            }
            let own = try await HTTPClient(port: program.port).send("GET", "/", ["X-Request-Id": "with a space"])
            #expect(own.headers["x-request-id"]?.count == 36)
            program.process.terminate()
            program.process.waitUntilExit()
        }
    }

    /// The lines of a log as they are written.
    private struct LogLines {
        let file: FileHandle

        init(_ file: FileHandle) { self.file = file }

        /// The next line that satisfies a condition.
        mutating func first(where condition: ([String: Any]) -> Bool) throws -> [String: Any]? {
            var line = Data()
            while let byte = try file.read(upToCount: 1), !byte.isEmpty {
                guard byte[byte.startIndex] == 0x0A else {
                    line += byte
                    continue
                }
                let object = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
                if condition(object) { return object }
                line = Data()
            }
            return nil
        }
    }

    @Test func hangingUpReadsTheKeysAgain() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("keys")
            let (first, firstEntry) = APIKey.make(scope: .read, name: "first")
            let (second, secondEntry) = APIKey.make(scope: .read, name: "second")
            try Data((firstEntry.line + "\n").utf8).write(to: file)
            let program = try Program([
                "--catalogs", folder.appendingPathComponent("catalogs").path, "--port", "0", "--keys-file", file.path,
                "--log-level", "critical",
            ])
            func status(_ key: String) async throws -> Int {
                try await HTTPClient(port: program.port).send("GET", "/v1/catalogs", ["X-API-Key": key]).status
            }
            #expect(try await status(first) == 200)
            #expect(try await status(second) == 401)
            try Data((secondEntry.line + "\n").utf8).write(to: file)
            kill(program.process.processIdentifier, SIGHUP)
            while try await status(second) != 200 { await Task.yield() }
            #expect(try await status(first) == 401)
            // A file without keys would let everybody in.
            try Data().write(to: file)
            kill(program.process.processIdentifier, SIGHUP)
            #expect(try await status(second) == 200)
            #expect(try await HTTPClient(port: program.port).send("GET", "/v1/catalogs").status == 401)
            program.process.terminate()
            program.process.waitUntilExit()
            #expect(program.process.terminationStatus == 0)
        }
    }

    /// Systems that keep secrets replace their files, and send no signal.
    @Test func aFileOfKeysThatChangesIsReadAgain() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("keys")
            let (first, firstEntry) = APIKey.make(scope: .read, name: "first")
            let (second, secondEntry) = APIKey.make(scope: .read, name: "second")
            try Data((firstEntry.line + "\n").utf8).write(to: file)
            let program = try Program([
                "--catalogs", folder.appendingPathComponent("catalogs").path, "--port", "0", "--keys-file", file.path,
                "--log-level", "critical",
            ])
            func status(_ key: String) async throws -> Int {
                try await HTTPClient(port: program.port).send("GET", "/v1/catalogs", ["X-API-Key": key]).status
            }
            #expect(try await status(second) == 401)
            // In place, and as another file of the same name.
            try Data((secondEntry.line + "\n").utf8).write(to: file)
            while try await status(second) != 200 { try await Task.sleep(for: .milliseconds(20)) }
            #expect(try await status(first) == 401)
            try Data((firstEntry.line + "\n").utf8).write(to: file, options: .atomic)
            while try await status(first) != 200 { try await Task.sleep(for: .milliseconds(20)) }
            #expect(try await status(second) == 401)
            program.process.terminate()
            program.process.waitUntilExit()
            #expect(program.process.terminationStatus == 0)
        }
    }

    @Test func aPortThatIsTakenIsNamed() async throws {
        try await withFolder { folder in
            let first = try Program(folder)
            defer { first.process.terminate() }
            let (process, errors) = (Process(), Pipe())
            process.executableURL = Program.executable
            process.arguments = [
                "--catalogs", folder.appendingPathComponent("other").path, "--port", "\(first.port)", "--log-level",
                "critical",
            ]
            process.standardError = errors
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus != 0)
            #expect(text.contains("--port \(first.port): is taken at 127.0.0.1"), "\(text)")
        }
    }

    /// The soft limit is raised to the hard one; a hard limit that is too low is an error.
    @Test func theLimitOfOpenFilesIsRaisedOrRefused() async throws {
        try await withFolder { folder in
            let (process, output) = (Process(), Pipe())
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = [
                "-c", "ulimit -n 64; exec \(Program.executable.path) --catalogs \(folder.path) --port 0 2>&1",
            ]
            process.standardOutput = output
            try process.run()
            let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus != 0)
            #expect(text.contains("the limit of open files: is 64"), "\(text)")

            let program = try Program(folder)
            let limits = try String(
                contentsOfFile: "/proc/\(program.process.processIdentifier)/limits", encoding: .utf8)
            let files = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }?.split(separator: " ")
            #expect(files?[3] == files?[4], "\(files ?? [])")
            program.process.terminate()
            program.process.waitUntilExit()
        }
    }

    /// It ended by itself: a system library ends the process that has no descriptor left. Later, clients that changed
    /// more catalogs than may be open closed them for each other for ever.
    @Test func fewFilesForManyCatalogsAndConnections() async throws {
        try await withFolder { folder in
            for index in 0..<12 {
                try FileManager.default.copyItem(
                    at: DemoCovers.catalog, to: folder.appendingPathComponent("c\(index)"))
            }
            let program = try Program(
                [
                    "-c",
                    "ulimit -n 160; exec \"$0\" --catalogs \(folder.path) --port 0 --log-level critical",
                    Program.executable.path,
                ], executable: URL(fileURLWithPath: "/bin/sh"))
            let client = HTTPClient(port: program.port)
            let image = try DemoCovers.image("salt-signal")
            let idle = try (0..<300).map { _ in try client.connect() }
            defer { for socket in idle { close(socket) } }
            try await withThrowingTaskGroup(of: [Int].self) { group in
                for client in 0..<4 {
                    group.addTask {
                        var statuses: [Int] = []
                        for index in 0..<12 {
                            let path = "/v1/catalogs/c\((index + 3 * client) % 12)"
                            statuses.append(try await program.send("POST", path + "/search", body: image).status)
                            statuses.append(
                                try await program.send("PUT", path + "/entities/\(client)", body: image).status)
                            statuses.append(try await program.send("GET", "/health/live").status)
                        }
                        return statuses
                    }
                }
                for try await statuses in group { #expect(Set(statuses).isSubset(of: [200, 201]), "\(statuses)") }
            }
            program.process.terminate()
            program.process.waitUntilExit()
            #expect(program.process.terminationReason == .exit && program.process.terminationStatus == 0)
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

    /// The program, started by a shell that redirects; its standard error is a pipe, as its output is by default.
    private static func redirected(_ redirection: String, _ arguments: [String]) -> (process: Process, errors: Pipe) {
        let (process, errors) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "exec \"$0\" \"$@\" \(redirection)", Program.executable.path] + arguments
        process.standardOutput = Pipe()
        process.standardError = errors
        return (process, errors)
    }

    @Test(arguments: [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
    func itServesEvenIfItsURLCannotBeWritten(redirection: String, reason: String) async throws {
        try await withFolder { folder in
            let (process, errors) = Self.redirected(redirection, ["--catalogs", folder.path, "--port", "0"])
            try process.run()
            var log = Data()
            while !log.hasSuffix("cannot be written: \(reason)\n"),
                let byte = try errors.fileHandleForReading.read(upToCount: 1)
            {
                log += byte
            }
            let text = String(decoding: log, as: UTF8.self)
            let port = try #require(text.firstMatch(of: /port=(\d+) \[LookalikeService\]/)?.output.1, "\(text)")
            #expect(try await HTTPClient(port: try #require(Int(port))).send("GET", "/v1/catalogs").status == 200)
            process.terminate()
            process.waitUntilExit()
            #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        }
    }

    /// The key goes to standard error, and the line for the key file to standard output.
    @Test(arguments: ["2>/dev/full", "2>&-", ">/dev/full", ">&-"])
    func aKeyThatCannotBeWrittenIsAFailure(redirection: String) throws {
        let (process, errors) = Self.redirected(redirection, ["make-key"])
        let output = try #require(process.standardOutput as? Pipe)
        try process.run()
        // Nobody has seen the key.
        if redirection.hasPrefix("2") { #expect(try output.fileHandleForReading.readToEnd() == nil) }
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(redirection.hasPrefix("2") || text.contains("standard output: cannot be written"), "\(text)")
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 1)
    }

    /// They were passed over, and so the service ran without the keys that it was given.
    @Test(arguments: [
        ("{\"keys\": [\"write\"]}", "the setting “keys” is not text"),
        ("{\"keyFile\": \"keys.txt\"}", "there is no setting “keyFile”; there are accessLog, bodyBytes, "),
        ("{\"origins\": null}", "the setting “origins” is not text"),
        ("{\"port\": 1.5}", "the setting “port” is not a whole number"),
        ("{\"queueTime\": \"1\"}", "the setting “queueTime” is not a number"),
        ("{\"openToAll\": 1}", "the setting “openToAll” is not true or false"),
        ("[]", "is not a JSON file with an object of settings"), ("{", "is not a JSON file"),
    ])
    func settingsThatAreNone(text: String, reason: String) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("settings.json")
            try Data(text.utf8).write(to: file)
            let (process, errors) = Self.redirected("", ["--catalogs", folder.path, "--config", file.path])
            try process.run()
            let message = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus == 1)
            #expect(message.contains(reason) && message.contains(file.path), "\(message)")
        }
    }

    /// A secret that was not filled in made a service without keys; an origin with a space was never the same.
    @Test(arguments: [
        (["LOOKALIKE_SERVE_KEYS": ""], "setting “keys”: has no API key"),
        (["LOOKALIKE_SERVE_KEYS": "# none yet"], "setting “keys”: has no API key"),
        (["LOOKALIKE_SERVE_ORIGINS": "https://a.example, https://b.example"], "--port is not in"),
        (["LOOKALIKE_SERVE_ORIGINS": "https://a.example/"], "“https://a.example/” is not an origin such as"),
        (["LOOKALIKE_SERVE_ORIGINS": "a.example"], "“a.example” is not an origin such as"),
    ])
    func valuesThatAreNone(variables: [String: String], message: String) async throws {
        try await withFolder { folder in
            let (process, errors) = Self.redirected("", ["--catalogs", folder.path, "--port", "65536"])
            process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
            try process.run()
            let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus != 0)
            #expect(text.contains(message), "\(text)")
        }
    }

    /// It was passed over, too. The port ends the program if it gets so far.
    @Test(arguments: [
        ("LOOKALIKE_SERVE_KEY_FILE", "variable LOOKALIKE_SERVE_KEY_FILE: there is no such setting; there are "),
        ("LOOKALIKE_SERVE_QUEUETIME", " LOOKALIKE_SERVE_QUEUE_TIME, "),
        ("LOOKALIKE_SERVE_BODY_BYTES_IN_FLIGHT", "--port is not in"),
    ])
    func variablesOfTheEnvironment(name: String, message: String) async throws {
        try await withFolder { folder in
            let (process, errors) = Self.redirected("", ["--catalogs", folder.path, "--port", "65536"])
            process.environment = ProcessInfo.processInfo.environment.merging([name: "1000000000"]) { $1 }
            try process.run()
            let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus != 0)
            #expect(text.contains(message), "\(text)")
        }
    }

    /// The file was read twice, and so could not be a pipe.
    @Test func settingsComeFromAPipe() async throws {
        try await withFolder { folder in
            let pipe = folder.appendingPathComponent("settings")
            #expect(mkfifo(pipe.path, 0o600) == 0)
            let (key, entry) = APIKey.make(scope: .read, name: "reader")
            let settings: [String: Any] = [
                "catalogs": folder.path, "port": 0, "openToAll": false, "queueTime": 1, "decodeTime": 2.5,
                "logLevel": "critical", "keys": entry.line,
            ]
            let text = try JSONSerialization.data(withJSONObject: settings)
            // Opening a pipe waits for the other side.
            let writing = Task.detached { try FileHandle(forWritingTo: pipe).write(contentsOf: text) }
            let program = try Program(["--config", pipe.path])
            defer { program.process.terminate() }
            try await writing.value
            #expect(try await program.send("GET", "/v1/catalogs").status == 401)
            let reply = try await HTTPClient(port: program.port).send(
                "GET", "/v1/catalogs", ["Authorization": "Bearer \(key)"])
            #expect(reply.status == 200)
        }
    }

    @Test func tooLittleAddressSpaceIsAnError() throws {
        let (process, errors) = Self.redirected("", ["make-key"])
        process.arguments?[1] = "ulimit -v 300000; exec \"$0\" \"$@\""
        try process.run()
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 1 && text.contains("the address space is limited to 292 MiB"), "\(text)")
    }
}

extension Data {
    fileprivate func hasSuffix(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
