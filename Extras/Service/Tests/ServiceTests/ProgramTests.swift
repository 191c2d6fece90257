import Foundation
@_spi(Service) import LookalikeService
import Testing

/// The service as a program.
struct Program: Sendable {
    let subprocess: Subprocess
    let port: Int

    init(_ folder: URL) async throws {
        try await self.init(["--catalogs", folder.path, "--port", "0", "--log-level", "critical"])
    }

    init(
        _ arguments: [String], executable: URL = Subprocess.service, hasErrorPipe: Bool = false
    ) async throws {
        subprocess = try Subprocess(executable, arguments, hasErrorPipe: hasErrorPipe)
        let line = try await subprocess.output.bytes { $0.last == 0x0A }
        let text = String(decoding: line, as: UTF8.self)
        port = Int(text.split(separator: ":").last?.filter(\.isNumber) ?? "") ?? 0
    }

    func send(_ method: String, _ path: String, body: Data? = nil) async throws -> HTTPReply {
        try await HTTPClient(port: port).send(method, path, body: body)
    }

    func signal(_ signal: Int32) { kill(subprocess.process.processIdentifier, signal) }

    /// Asks it to end, and expects that it does so without an error.
    func end() async throws {
        subprocess.terminate()
        let exit = try await subprocess.exit()
        #expect(exit.reason == .exit && exit.status == 0)
    }
}

/// The program itself: signals, and what is left when it is killed.
@Suite struct ProgramTests {
    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await body(folder)
    }

    @Test func aSignalLetsRequestsFinish() async throws {
        try await withFolder { folder in
            try FileManager.default.copyItem(at: DemoCovers.catalog, to: folder.appendingPathComponent("covers"))
            let program = try await Program(folder)
            let image = try DemoCovers.screenshot()
            let searches = (0..<2).map { _ in
                Task { try await program.send("POST", "/v1/catalogs/covers/search", body: image) }
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
            program.subprocess.terminate()
            for search in searches {
                // One that had not been sent yet may find the port closed.
                guard let reply = try? await search.value else { continue }
                #expect(reply.status == 200 || reply.status == 503)
            }
            let exit = try await program.subprocess.exit()
            #expect(exit.reason == .exit && exit.status == 0)
        }
    }

    /// The listener was closed at once, so that no balancer could see that the service was ending.
    @Test func itGoesOnUntilBalancersHaveSeenThatItStops() async throws {
        try await withFolder { folder in
            let program = try await Program([
                "--catalogs", folder.path, "--port", "0", "--log-level", "critical", "--drain-delay", "3600",
            ])
            while try await program.send("GET", "/health/ready").status != 200 { await Task.yield() }
            program.subprocess.terminate()
            while try await program.send("GET", "/health/ready").status != 503 { await Task.yield() }
            #expect(try await program.send("GET", "/health/ready").json["status"] as? String == "stopping")
            #expect(try await program.send("PUT", "/v1/catalogs/new").status == 201)
            // A second one skips the rest of the hour.
            try await program.end()
        }
    }

    @Test func healthHasAPortOfItsOwn() async throws {
        try await withFolder { folder in
            let (key, entry) = APIKey.make(scope: .read, name: "shop")
            let file = folder.appendingPathComponent("keys")
            try Data(entry.line.utf8).write(to: file)
            let program = try await Program(
                [
                    "--catalogs", folder.appendingPathComponent("catalogs").path, "--port", "0", "--health-port", "0",
                    "--keys-file", file.path, "--log-format", "json", "--access-log",
                ], hasErrorPipe: true)
            let log = program.subprocess.errors
            let health = try #require(try await Self.line(of: log) { $0["message"] as? String == "health and metrics" })
            let client = HTTPClient(port: try #require(health["port"] as? Int))
            #expect(try await client.send("GET", "/health/live").status == 200)
            #expect(try await client.send("GET", "/metrics").text.contains("lookalike_build_info"))
            #expect(try await client.send("GET", "/v1/catalogs").status == 404)
            #expect(try await program.send("GET", "/metrics").status == 401)
            // The log says who asked for what.
            let reply = try await HTTPClient(port: program.port).send(
                "GET", "/v1/catalogs/none", ["X-API-Key": key, "X-Request-Id": "from-a-proxy/7"])
            #expect(reply.status == 404 && reply.headers["x-request-id"] == "from-a-proxy/7")
            let line = try #require(try await Self.line(of: log) { $0["request"] as? String == "from-a-proxy/7" })
            #expect(line["status"] as? Int == 404 && line["level"] as? String == "info")
            for (name, value) in [
                ("key", "shop"), ("client", "127.0.0.1"), ("catalog", "none"), ("method", "GET"),
                ("route", "/v1/catalogs/{catalog}"),
            ] {
                #expect(line[name] as? String == value, "\(name)")
            }
            let own = try await HTTPClient(port: program.port).send("GET", "/", ["X-Request-Id": "with a space"])
            #expect(own.headers["x-request-id"]?.count == 36)
            try await program.end()
        }
    }

    /// What keeps logs refuses a field that is a number in one line and a text in another.
    @Test func fieldsOfTheLogHaveOneType() async throws {
        try await withFolder { folder in
            let program = try await Program(
                [
                    "--catalogs", folder.appendingPathComponent("catalogs").path, "--port", "0", "--log-format", "json",
                    "--access-log",
                ], hasErrorPipe: true)
            let image = try DemoCovers.image("salt-signal")
            let line = Data(#"{"id": "a", "image": "none"}"#.utf8)
            #expect(try await program.send("PUT", "/v1/catalogs/12").status == 201)
            #expect(try await program.send("PUT", "/v1/catalogs/12/entities/1", body: image).status == 201)
            let client = HTTPClient(port: program.port)
            // Its length is not known before.
            let lines = try await client.send("GET", "/v1/catalogs/12/entities", ["Accept": "application/x-ndjson"])
            #expect(lines.status == 200)
            #expect(try await program.send("GET", "/12").status == 404)
            let task = try await client.send(
                "POST", "/v1/catalogs/12/entities:batch",
                ["Prefer": "respond-async", "Content-Type": "application/x-ndjson"], body: line)
            #expect(task.status == 202)
            let log = program.subprocess.errors
            var isNumber: [String: Bool] = [:]
            var names: Set<String> = []
            _ = try await Self.line(of: log) { object in
                for (name, value) in object {
                    let known = isNumber.updateValue(value is NSNumber, forKey: name)
                    #expect(known == nil || known == value is NSNumber, "\(name): \(value)")
                }
                names.formUnion((object["message"] as? String).map { [$0] } ?? [])
                return names.isSuperset(of: ["limits", "request", "task"])
            }
            for name in ["memory", "status", "ms", "sent", "received", "done"] {
                #expect(isNumber[name] == true, "\(name)")
            }
            #expect(isNumber["catalog"] == false && isNumber["result"] == false)
            try await program.end()
        }
    }

    /// The next line of a log that satisfies a condition.
    private static func line(
        of log: FileHandle, where condition: ([String: Any]) -> Bool
    ) async throws -> [String: Any]? {
        while true {
            let line = try await log.bytes { $0.last == 0x0A }
            if line.isEmpty { return nil }
            let object = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
            if condition(object) { return object }
        }
    }

    @Test func hangingUpReadsTheKeysAgain() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("keys")
            let (first, firstEntry) = APIKey.make(scope: .read, name: "first")
            let (second, secondEntry) = APIKey.make(scope: .read, name: "second")
            try Data((firstEntry.line + "\n").utf8).write(to: file)
            let program = try await Program([
                "--catalogs", folder.appendingPathComponent("catalogs").path, "--port", "0", "--keys-file", file.path,
                "--log-level", "critical",
            ])
            func status(_ key: String) async throws -> Int {
                try await HTTPClient(port: program.port).send("GET", "/v1/catalogs", ["X-API-Key": key]).status
            }
            #expect(try await status(first) == 200)
            #expect(try await status(second) == 401)
            try Data((secondEntry.line + "\n").utf8).write(to: file)
            program.signal(SIGHUP)
            while try await status(second) != 200 { await Task.yield() }
            #expect(try await status(first) == 401)
            // A file without keys would let everybody in.
            try Data().write(to: file)
            program.signal(SIGHUP)
            #expect(try await status(second) == 200)
            #expect(try await HTTPClient(port: program.port).send("GET", "/v1/catalogs").status == 401)
            try await program.end()
        }
    }

    /// Systems that keep secrets replace their files, and send no signal.
    @Test func aFileOfKeysThatChangesIsReadAgain() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("keys")
            let (first, firstEntry) = APIKey.make(scope: .read, name: "first")
            let (second, secondEntry) = APIKey.make(scope: .read, name: "second")
            try Data((firstEntry.line + "\n").utf8).write(to: file)
            let program = try await Program([
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
            try await program.end()
        }
    }

    @Test func aPortThatIsTakenIsNamed() async throws {
        try await withFolder { folder in
            let first = try await Program(folder)
            let (text, status) = try await Self.failure([
                "--catalogs", folder.appendingPathComponent("other").path, "--port", "\(first.port)", "--log-level",
                "critical",
            ])
            try await first.end()
            #expect(status != 0)
            #expect(text.contains("--port \(first.port): is taken at 127.0.0.1"), "\(text)")
        }
    }

    /// The soft limit is raised to the hard one; a hard limit that is too low is an error.
    @Test func theLimitOfOpenFilesIsRaisedOrRefused() async throws {
        try await withFolder { folder in
            let (text, status) = try await Self.failure(
                ["--catalogs", folder.path, "--port", "0"], after: "ulimit -n 64")
            #expect(status != 0)
            #expect(text.contains("the limit of open files: is 64"), "\(text)")

            let program = try await Program(folder)
            let limits = try String(
                contentsOfFile: "/proc/\(program.subprocess.process.processIdentifier)/limits", encoding: .utf8)
            let files = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }?.split(separator: " ")
            #expect(files?[3] == files?[4], "\(files ?? [])")
            try await program.end()
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
            let program = try await Program(
                [
                    "-c",
                    "ulimit -n 256; exec \"$0\" --catalogs \(folder.path) --port 0 --log-level error",
                    Subprocess.service.path,
                ], executable: Subprocess.shell)
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
            try await program.end()
        }
    }

    @Test func whatWasAcknowledgedIsThereAfterAKill() async throws {
        try await withFolder { folder in
            var acknowledged: Set<String> = []
            let image = try DemoCovers.image("salt-signal")
            for round in 0..<4 {
                let program = try await Program(folder)
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
                    program.signal(SIGKILL)
                    for try await id in group { found.formUnion([id].compactMap(\.self)) }
                    return found
                }
                _ = try await program.subprocess.exit()
                acknowledged.formUnion(found)
            }
            #expect(acknowledged.count >= 4)
            let program = try await Program(folder)
            let answer = try await program.send(
                "POST", "/v1/catalogs/shop/search?limit=100&min-confidence=0", body: image)
            let stored = Set(try answer.ids)
            #expect(acknowledged.isSubset(of: stored))
            for id in stored {
                #expect(
                    try await program.send("GET", "/v1/catalogs/shop/entities/\(id)").json["title"] as? String == id)
                #expect(try await program.send("GET", "/v1/catalogs/shop/entities/\(id)/thumbnail").status == 200)
            }
            try await program.end()
        }
    }

    /// The program, started by a shell after another command, with redirections.
    private static func redirected(
        _ redirection: String, _ arguments: [String], after command: String = ":", variables: [String: String] = [:]
    ) throws -> Subprocess {
        let script = "\(command); exec \"$0\" \"$@\" \(redirection)"
        return try Subprocess(
            Subprocess.shell, ["-c", script, Subprocess.service.path] + arguments, variables: variables)
    }

    /// What the program writes to standard error until it ends, and its status.
    private static func failure(
        _ arguments: [String], after command: String = ":", variables: [String: String] = [:]
    ) async throws -> (text: String, status: Int32) {
        let program = try redirected("", arguments, after: command, variables: variables)
        let text = String(decoding: try await program.errors.everything(), as: UTF8.self)
        return (text, try await program.exit().status)
    }

    @Test(arguments: [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
    func itServesEvenIfItsURLCannotBeWritten(redirection: String, reason: String) async throws {
        try await withFolder { folder in
            let program = try Self.redirected(redirection, ["--catalogs", folder.path, "--port", "0"])
            let log = try await program.errors.bytes { $0.hasSuffix("cannot be written: \(reason)\n") }
            let text = String(decoding: log, as: UTF8.self)
            let port = try #require(text.firstMatch(of: /port=(\d+) \[LookalikeService\]/)?.output.1, "\(text)")
            #expect(try await HTTPClient(port: try #require(Int(port))).send("GET", "/v1/catalogs").status == 200)
            program.terminate()
            let exit = try await program.exit()
            #expect(exit.reason == .exit && exit.status == 0)
        }
    }

    /// The key goes to standard error, and the line for the key file to standard output.
    @Test(arguments: ["2>/dev/full", "2>&-", ">/dev/full", ">&-"])
    func aKeyThatCannotBeWrittenIsAFailure(redirection: String) async throws {
        let program = try Self.redirected(redirection, ["make-key"])
        // Nobody has seen the key.
        if redirection.hasPrefix("2") { #expect(try await program.output.everything().isEmpty) }
        let text = String(decoding: try await program.errors.everything(), as: UTF8.self)
        #expect(redirection.hasPrefix("2") || text.contains("standard output: cannot be written"), "\(text)")
        let exit = try await program.exit()
        #expect(exit.reason == .exit && exit.status == 1)
    }

    /// They were passed over, and so the service ran without the keys that it was given.
    @Test(arguments: [
        ("{\"keys\": [\"write\"]}", "the setting “keys” is not text"),
        (
            "{\"keyFile\": \"keys.txt\"}",
            "there is no setting “keyFile”; there are accessLog, backupEvery, backups, bodyBytes, "
        ),
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
            let (message, status) = try await Self.failure(["--catalogs", folder.path, "--config", file.path])
            #expect(status == 1)
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
            let (text, status) = try await Self.failure(
                ["--catalogs", folder.path, "--port", "65536"], variables: variables)
            #expect(status != 0)
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
            let (text, status) = try await Self.failure(
                ["--catalogs", folder.path, "--port", "65536"], variables: [name: "1000000000"])
            #expect(status != 0)
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
            async let writing: Void = onOwnThread { try FileHandle(forWritingTo: pipe).write(contentsOf: text) }
            let program = try await Program(["--config", pipe.path])
            try await writing
            #expect(try await program.send("GET", "/v1/catalogs").status == 401)
            let reply = try await HTTPClient(port: program.port).send(
                "GET", "/v1/catalogs", ["Authorization": "Bearer \(key)"])
            #expect(reply.status == 200)
            try await program.end()
        }
    }

    @Test func tooLittleAddressSpaceIsAnError() async throws {
        let (text, status) = try await Self.failure(["make-key"], after: "ulimit -v 300000")
        #expect(status == 1 && text.contains("the address space is limited to 292 MiB"), "\(text)")
    }
}

extension Data {
    fileprivate func hasSuffix(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
