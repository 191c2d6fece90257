import Foundation
@_spi(Service) import LookalikeService
import Testing

@Suite struct AccessTests {
    @Test func whatEachScopeAllows() async throws {
        let (reader, readEntry) = APIKey.make(scope: .read, name: "shop")
        let (writer, writeEntry) = APIKey.make(scope: .write, name: "import")
        let ring = try KeyRing(text: "# keys\n\(readEntry.line)\n\n\(writeEntry.line);")
        #expect(ring.keys.map(\.name) == ["shop", "import"])
        try await TestServer.run(configure: {
            $0.keys = ring
        }) { (server: TestServer) async throws -> Void in
            func outcome(_ method: String, _ path: String, _ headers: [String: String] = [:]) async throws -> String {
                let reply = try await server.send(method, path, headers)
                return "\(reply.status) \((try? reply.code) ?? "")"
            }
            #expect(try await outcome("GET", "/v1/catalogs") == "401 unauthorized")
            #expect(try await outcome("GET", "/metrics") == "401 unauthorized")
            #expect(try await outcome("GET", "/v1/catalogs", ["X-API-Key": "no key"]) == "401 unauthorized")
            #expect(try await outcome("GET", "/v1/catalogs", ["Authorization": "Bearer \(reader)"]) == "200 ")
            #expect(try await outcome("GET", "/v1/catalogs", ["X-API-Key": reader]) == "200 ")
            #expect(try await outcome("PUT", "/v1/catalogs/new", ["X-API-Key": reader]) == "403 forbidden")
            #expect(try await outcome("DELETE", "/v1/catalogs/covers", ["X-API-Key": reader]) == "403 forbidden")
            #expect(try await outcome("PUT", "/v1/catalogs/new", ["X-API-Key": writer]) == "201 ")
            for (key, scope) in [(nil, nil), (reader, "read"), (writer, "write")] as [(String?, String?)] {
                let reply = try await server.send("GET", "/v1/access", key.map { ["X-API-Key": $0] } ?? [:])
                #expect(try reply.json["scope"] as? String == scope)
            }
            #expect(try await outcome("GET", "/health/ready") == "200 ")
            #expect(try await outcome("GET", "/") == "200 ")
        }
    }

    @Test func aKeyForSomeCatalogs() async throws {
        let (key, entry) = APIKey.make(scope: .write, name: "covers of a shop", catalogs: ["covers", "new"])
        #expect(entry.line.hasSuffix(" catalogs=covers,new covers of a shop"))
        let ring = try KeyRing(text: entry.line)
        #expect(ring.keys.first?.name == "covers of a shop")
        try await TestServer.run(configure: { $0.keys = ring }) { (server: TestServer) async throws -> Void in
            func status(_ method: String, _ path: String) async throws -> Int {
                try await server.send(method, path, ["X-API-Key": key]).status
            }
            try FileManager.default.copyItem(
                at: DemoCovers.catalog, to: server.folder.appendingPathComponent("other"))
            for (method, path) in [
                ("GET", "other"), ("PUT", "third"), ("DELETE", "other"), ("POST", "other/search"),
                ("POST", "other/snapshot"), ("GET", "other/entities/salt-signal"),
            ] {
                #expect(try await status(method, "/v1/catalogs/" + path) == 403, "\(method) \(path)")
            }
            #expect(try await status("POST", "/v1/prints?catalog=other") == 403)
            // They would name all catalogs.
            #expect(try await status("GET", "/metrics") == 403)
            #expect(try await status("GET", "/v1/catalogs/covers") == 200)
            #expect(try await status("PUT", "/v1/catalogs/new") == 201)
            let list = try await server.send("GET", "/v1/catalogs", ["X-API-Key": key]).json["catalogs"]
            #expect((list as? [[String: Any]])?.compactMap { $0["name"] as? String } == ["covers", "new"])
        }
    }

    @Test(arguments: [("2001-02-03", 401), ("2001-02-03T04:05:06Z", 401), ("9999-12-31", 200)])
    func aKeyThatExpires(time: String, status: Int) async throws {
        let (key, entry) = APIKey.make(scope: .read, name: "guest")
        let parts = entry.line.split(separator: " ")
        let ring = try KeyRing(text: "\(parts[0]) \(parts[1]) expires=\(time) guest")
        // As it was written.
        #expect(ring.keys.first?.line == "\(parts[0]) \(parts[1]) expires=\(time) guest")
        try await TestServer.run(configure: { $0.keys = ring }) { (server: TestServer) async throws -> Void in
            #expect(try await server.send("GET", "/v1/catalogs", ["X-API-Key": key]).status == status)
        }
    }

    @Test func aKeyWithARateOfItsOwn() async throws {
        let (key, entry) = APIKey.make(scope: .read, name: "crawler", rate: 0.001)
        try await TestServer.run(configure: {
            $0.keys = KeyRing([entry])
        }) { (server: TestServer) async throws -> Void in
            #expect(try await server.send("GET", "/v1/catalogs", ["X-API-Key": key]).status == 200)
            #expect(try await server.send("GET", "/v1/catalogs", ["X-API-Key": key]).status == 429)
        }
    }

    /// A mistyped option would be a part of the name, and the key would have no bounds.
    @Test(arguments: [
        "catalog=covers shop", "catalogs= shop", "catalogs=a/b shop", "expires=tomorrow shop",
        "expires=2026-13-01 shop",
        "expires=2026-02-31 shop",
        "rate=0 shop", "rate=fast shop",
    ])
    func optionsThatAreNone(rest: String) throws {
        let parts = APIKey.make(scope: .read, name: "x").entry.line.split(separator: " ")
        #expect(throws: APIKeyError.self) { try KeyRing(text: "\(parts[0]) \(parts[1]) \(rest)") }
    }

    /// A cache gave one origin what it had kept for another.
    @Test func answersVaryByOrigin() async throws {
        try await TestServer.run(configure: {
            $0.origins = ["https://shop.example"]
        }) { (server: TestServer) async throws -> Void in
            for headers in [[:], ["Origin": "https://shop.example"]] {
                #expect(try await server.send("GET", "/v1/catalogs", headers).headers["vary"] == "Origin")
            }
        }
        try await TestServer.run { (server: TestServer) async throws -> Void in
            #expect(try await server.send("GET", "/v1/catalogs").headers["vary"] == nil)
        }
    }

    @Test func aKeyIsNotInItsEntry() throws {
        let (key, entry) = APIKey.make(scope: .read, name: "shop")
        #expect(key.count == 43)
        #expect(!entry.line.contains(key))
        #expect(entry.line.hasPrefix("read ") && entry.line.hasSuffix(" shop"))
    }

    @Test(arguments: ["admin 00 x", "read", "read 0123", "read " + String(repeating: "g", count: 64)])
    func linesThatAreNoKeys(line: String) {
        let error = #expect(throws: APIKeyError.self) { try KeyRing(text: "\n" + line) }
        #expect(error?.subject == "line 2 of the API keys")
    }

    @Test func withoutKeysOtherMachinesAreRefused() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = ServiceConfiguration(catalogs: folder)
        configuration.host = "0.0.0.0"
        #expect(throws: ServiceError.self) { try LookalikeService(configuration) }
        configuration.isOpenToAll = true
        _ = try LookalikeService(configuration)
    }

    @Test(arguments: [false, true]) func aServiceThatIsOpenToAllHasOtherNames(isOpen: Bool) async throws {
        try await TestServer.run(configure: {
            $0.isOpenToAll = isOpen
        }) { (server: TestServer) async throws -> Void in
            let reply = try await server.send("GET", "/v1/catalogs", ["Host": "shop.example"])
            #expect(reply.status == (isOpen ? 200 : 403))
        }
    }

    @Test func signedLinksToThumbnails() async throws {
        let (key, entry) = APIKey.make(scope: .read, name: "shop")
        let (other, otherEntry) = APIKey.make(scope: .read, name: "other", catalogs: ["other"])
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let configure: (inout ServiceConfiguration) -> Void = {
            $0.keys = KeyRing([entry, otherEntry])
            $0.signedThumbnailTime = .seconds(3600)
        }
        let path = "/v1/catalogs/covers/entities/salt-signal"
        let link = try await TestServer.run(folder: folder, configure: configure) { server in
            let header = ["X-API-Key": key]
            let link = try #require(try await server.send("GET", path, header).json["thumbnail"] as? String)
            let reply = try await server.send("GET", link)
            #expect(reply.status == 200 && reply.headers["cache-control"] == "public, max-age=300")
            #expect(try await server.send("GET", link + "&image=0").status == 200)
            // Another key does not make it worse.
            #expect(try await server.send("GET", link, ["X-API-Key": other]).status == 200)
            #expect(try await server.send("GET", path + "/thumbnail").status == 401)
            #expect(try await server.send("GET", path + "/thumbnail", ["X-API-Key": other]).status == 403)
            // Neither another time nor another entity, and nothing but the thumbnail.
            let search = try await server.send(
                "POST", "/v1/catalogs/covers/search", header, body: try DemoCovers.image("salt-signal"))
            #expect(search.text.contains(link))
            for changed in [
                link.replacing("expires=", with: "expires=9"), link.replacing("salt-signal", with: "slow-meridian"),
                link + "A", link.replacing("&signature=", with: "&signature=A"),
                path + "/thumbnail?expires=9999999999&signature=",
            ] {
                #expect(try await server.send("GET", changed).status == 403, "\(changed)")
                #expect(try await server.send("GET", changed, header).status == 200, "\(changed)")
            }
            #expect(try await server.send("GET", link.replacing("/thumbnail", with: "")).status == 401)
            return link
        }
        // It holds after a restart, and for the time it says.
        try await TestServer.run(covers: false, folder: folder, configure: configure) {
            (server: TestServer) async throws -> Void in
            #expect(try await server.send("GET", link).status == 200)
        }
        var configuration = ServiceConfiguration(catalogs: folder)
        configure(&configuration)
        let links = try ThumbnailLinks(configuration)
        let name = try #require(CatalogName("covers"))
        let start = Date(timeIntervalSince1970: 7200)
        let made = links.thumbnail(of: "a", in: name, now: start)
        #expect(made.contains("?expires=14400&"))
        #expect(links.thumbnail(of: "a", in: name, now: start + 3599) == made)
        #expect(links.thumbnail(of: "a", in: name, now: start + 3600) != made)
        #expect(try links.isOpen("a", in: name, query: made, now: start + 7199))
        #expect(try !links.isOpen("a", in: name, query: made, now: start + 7200))
    }

    @Test func publicThumbnails() async throws {
        let (key, entry) = APIKey.make(scope: .write, name: "shop")
        try await TestServer.run(configure: {
            $0.keys = KeyRing([entry])
            $0.publicThumbnails = ["covers"]
        }) { (server: TestServer) async throws -> Void in
            let path = "/entities/salt-signal/thumbnail"
            #expect(try await server.send("GET", "/v1/catalogs/covers" + path).status == 200)
            #expect(try await server.send("GET", "/v1/catalogs/covers/entities/salt-signal").status == 401)
            #expect(try await server.send("PUT", "/v1/catalogs/secret", ["X-API-Key": key]).status == 201)
            #expect(try await server.send("GET", "/v1/catalogs/secret" + path).status == 401)
        }
    }

    @Test func pagesOfOtherOriginsAreRefused() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let other = ["Origin": "https://evil.example"]
            let refused = try await server.send("POST", "/v1/catalogs/covers/snapshot", other)
            #expect(refused.status == 403)
            #expect(refused.headers["access-control-allow-origin"] == nil)
            let own = ["Origin": "http://127.0.0.1:\(server.port)"]
            #expect(try await server.send("GET", "/v1/catalogs", own).status == 200)
            // A name of somebody else's that leads to this machine.
            #expect(try await server.send("GET", "/v1/catalogs", ["Host": "evil.example"]).status == 403)
            #expect(try await server.send("GET", "/v1/catalogs", ["Host": "localhost:1"]).status == 200)
        }
    }

    /// A proxy that passes no host killed the page without a word.
    @Test func aProxyThatPassesNoHost() async throws {
        try await TestServer.run { (server: TestServer) async throws -> Void in
            let origin = ["Origin": "https://shop.example"]
            for file in ["/", "/page.js", "/page.css"] {
                #expect(try await server.send("GET", file, origin).status == 200, "\(file)")
            }
            let refused = try await server.send("PUT", "/v1/catalogs/new", origin)
            #expect(refused.status == 403 && refused.text.contains("--public-url"))
            let same = try await server.send(
                "PUT", "/v1/catalogs/new", origin.merging(["Sec-Fetch-Site": "same-origin"]) { $1 })
            #expect(same.status == 201)
            let other = try await server.send(
                "PUT", "/v1/catalogs/new", origin.merging(["Sec-Fetch-Site": "cross-site"]) { $1 })
            #expect(other.status == 403)
        }
    }

    @Test func aPublicURL() async throws {
        try await TestServer.run(configure: {
            $0.publicURL = URL(string: "https://shop.example:8443/search/")
        }) { (server: TestServer) async throws -> Void in
            let headers = ["Origin": "https://shop.example:8443", "Host": "shop.example:8443"]
            let image = try DemoCovers.image("salt-signal")
            let path = "/v1/catalogs/covers/entities/a"
            let put = try await server.send("PUT", path, headers, body: image)
            #expect(put.headers["location"] == "https://shop.example:8443/search" + path)
            let thumbnail = try put.json["thumbnail"] as? String
            #expect(thumbnail == "https://shop.example:8443/search" + path + "/thumbnail")
            #expect(try await server.send("GET", "/v1/catalogs", ["Origin": "https://shop.example"]).status == 403)
        }
        for text in ["shop.example", "ftp://shop.example/", "https://", "https://shop.example/?a=b"] {
            var configuration = ServiceConfiguration(catalogs: FileManager.default.temporaryDirectory)
            configuration.publicURL = URL(string: text)
            #expect(throws: ServiceError.self, "\(text)") { try LookalikeService(configuration) }
        }
    }

    /// All clients of a proxy would share its address; others may say what they like.
    @Test(arguments: [true, false]) func clientsBehindAProxy(isTrusted: Bool) async throws {
        try await TestServer.run(configure: {
            $0.trustedProxies = isTrusted ? ["127.0.0.1"] : []
            $0.limits.requestsPerSecond = 0.001
        }) { (server: TestServer) async throws -> Void in
            func status(_ forwarded: String) async throws -> Int {
                try await server.send("GET", "/v1/catalogs", ["X-Forwarded-For": forwarded]).status
            }
            #expect(try await status("192.0.2.1") == 200)
            #expect(try await status("198.51.100.7, 192.0.2.1") == 429)
            #expect(try await status("192.0.2.2") == (isTrusted ? 200 : 429))
            // One client has the second half of an IPv6 address to itself.
            #expect(try await status("2001:db8::1") == (isTrusted ? 200 : 429))
            #expect(try await status("2001:db8::2") == 429)
        }
    }

    @Test func anAllowedOrigin() async throws {
        try await TestServer.run(configure: {
            $0.origins = ["https://shop.example"]
        }) { (server: TestServer) async throws -> Void in
            let origin = ["Origin": "https://shop.example"]
            let reply = try await server.send("GET", "/v1/catalogs", origin)
            #expect(reply.headers["access-control-allow-origin"] == "https://shop.example")
            let asked = try await server.send("OPTIONS", "/v1/catalogs/covers/search", origin)
            #expect(asked.status == 204)
            for (field, names) in [
                ("access-control-allow-headers", ["If-Match", "Prefer", "X-Request-Id"]),
                ("access-control-expose-headers", ["Retry-After", "Preference-Applied", "X-Request-Id", "X-Undo"]),
            ] {
                let list = (field.contains("allow") ? asked : reply).headers[field]?.lowercased() ?? ""
                for name in names { #expect(list.contains(name.lowercased()), "\(name)") }
            }
            for method in ["GET", "OPTIONS"] {
                let other = try await server.send(method, "/v1/catalogs", ["Origin": "https://x.example"])
                #expect(other.status == 403 && other.headers["access-control-allow-origin"] == nil)
            }
        }
    }
}
