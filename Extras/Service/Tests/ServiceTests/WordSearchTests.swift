import Foundation
import Lookalike
import Testing

/// Searches by words, with the model that `Tests/TestSupport/TwoTowers.swift` describes: words and images are colors.
@Suite struct WordSearchTests {
    private static func image(_ red: UInt8, _ green: UInt8, _ blue: UInt8) throws -> PixelBuffer {
        try PixelBuffer((0..<64).flatMap { _ in [red, green, blue] }, width: 8, height: 8, format: .rgb8)
    }

    /// A service with the catalog `colors` besides `covers`.
    private static func run(_ body: @Sendable (TestServer) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try #require(Bundle.module.url(forResource: "Fixtures/towers", withExtension: "safetensors"))
        let indexer = try CatalogIndexer(
            at: folder.appendingPathComponent("colors"), model: FeaturePrintModel(contentsOf: file))
        let items = try (0..<10).map { step in
            IndexItem(
                CatalogEntity(id: "red-\(step)", type: step % 2 == 0 ? "even" : "odd"),
                image: .pixels(try image(250, UInt8(step * 20), 0)))
        }
        let blue = IndexItem(CatalogEntity(id: "blue"), image: .pixels(try image(0, 0, 250)))
        #expect(try await indexer.run(over: items + [blue]).report().problems.isEmpty)
        try await TestServer.run(folder: folder) { try await body($0) }
    }

    @Test func wordsFiltersAndPages() async throws {
        try await Self.run { server in
            let path = "/v1/catalogs/colors/search"
            let first = try await server.send("GET", path + "?words=Red&limit=3&types=odd")
            #expect(first.status == 200)
            #expect(try first.ids == ["red-1", "red-3", "red-5"])
            let cursor = try #require(try first.json["next"] as? String)
            let next = try await server.send("GET", path + "?words=Red&limit=3&types=odd&cursor=\(cursor)")
            #expect(try next.ids == ["red-7", "red-9"])
            let query = try #require(try first.json["query"] as? String)
            let kept = try await server.json("POST", path, ["query": query, "types": ["odd"], "limit": 1])
            #expect(try kept.ids == ["red-1"])
            let near = try await server.send("GET", path + "?words=blue&max-distance=0.1&facets=type")
            #expect(try near.ids == ["blue"])
            let json = try await server.json("POST", path, ["words": "blue", "limit": 1])
            #expect(try json.ids == ["blue"])
        }
    }

    @Test func wordsBesideAnImage() async throws {
        try await Self.run { server in
            let path = "/v1/catalogs/colors/search"
            let image = try Self.image(0, 0, 250).pngData()
            for (weight, id) in [("0.3", "blue"), ("0.7", "red-0")] {
                let raw = try await server.send(
                    "POST", path + "?words=red&limit=1&words-weight=\(weight)", ["Content-Type": "image/png"],
                    body: image)
                #expect(try raw.ids == [id])
                let json = try await server.json(
                    "POST", path,
                    [
                        "words": "red", "image": image.base64EncodedString(), "limit": 1,
                        "wordsWeight": try #require(Double(weight)),
                    ])
                #expect(try json.ids == [id])
            }
        }
    }

    @Test func whatWordsDoNotGoWith() async throws {
        try await Self.run { server in
            let path = "/v1/catalogs/colors/search"
            for fields in [
                "", "?words=", "?words=%20", "?words=red&min-confidence=0.5", "?words=red&within=1s",
                "?words=red&words-weight=0.5", "?words=red&region=0,0,0.5,0.5", "?words=red&max-objects=3",
                "?words=red&effort=prints", "?limit=3", "?words=red%00",
            ] {
                let reply = try await server.send("GET", path + fields)
                #expect(reply.status == 400, "\(fields)")
            }
            let several = try await server.json("POST", path, ["words": "red", "entity": "blue"])
            #expect(several.status == 400)
            // The default model reads images alone.
            let covers = try await server.send("GET", "/v1/catalogs/covers/search?words=red")
            #expect(covers.status == 400)
            #expect(try (covers.json["detail"] as? String)?.contains("reads images alone") == true)
        }
    }
}
