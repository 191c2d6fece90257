import CatalogEntities
import CatalogIndexing
import CatalogSearch
import Catalogs
import FeaturePrints
import Foundation
import Imaging
import Inference
import TestSupport
import Testing

/// Searches by words in a catalog of plain colors, with a model whose words are colors.
struct WordSearchTests {
    private let folder: TemporaryFolder
    private var url: URL { folder.file("catalog") }

    init() throws { folder = try TemporaryFolder() }

    /// An image of one color.
    private static func image(_ red: UInt8, _ green: UInt8, _ blue: UInt8) throws -> PixelBuffer {
        try PixelBuffer((0..<64).flatMap { _ in [red, green, blue, 255] }, width: 8, height: 8, format: .rgba8)
    }

    /// Reds from pure to dark orange, and others.
    private func catalog(logits: String? = nil, readsTexts: Bool = true) async throws -> Catalog {
        let model = try FeaturePrintModel(TwoTowers.file(readsTexts: readsTexts, logits: logits), named: "towers")
        let indexer = try CatalogIndexer(at: url, model: model)
        var items: [IndexItem] = []
        for step in 0..<20 {
            let entity = CatalogEntity(
                id: "red-\(step)", type: step % 2 == 0 ? "even" : "odd", attributes: ["step": "\(step)"])
            items.append(IndexItem(entity, image: .pixels(try Self.image(250, UInt8(step * 12), 0))))
        }
        items.append(IndexItem(CatalogEntity(id: "green"), image: .pixels(try Self.image(0, 250, 0))))
        items.append(IndexItem(CatalogEntity(id: "blue"), image: .pixels(try Self.image(0, 0, 250))))
        let report = try await indexer.run(over: items).report()
        #expect(report.problems.isEmpty)
        return try Catalog(at: url)
    }

    @Test func ranksByWords() async throws {
        let catalog = try await catalog()
        let matches = try await catalog.search(describedBy: "RED", options: SearchOptions(limit: 30))
        // All entities, whatever the default bounds say.
        #expect(matches.count == 22)
        #expect(matches.prefix(20).map(\.id) == (0..<20).map { "red-\($0)" })
        #expect(matches.allSatisfy { $0.confidence == 0 && $0.outline == nil })
        let blue = try await catalog.search(describedBy: "blue", options: SearchOptions(limit: 1))
        #expect(blue.map(\.id) == ["blue"])
        let both = try await catalog.search(describedBy: "red lamp", options: SearchOptions(limit: 1))
        // Three parts of red and one of green.
        #expect(both.map(\.id) == ["red-7"])
    }

    @Test func combinesWithConditionsLimitsPagesAndIndexes() async throws {
        let catalog = try await catalog()
        for index in [PrintIndexKind.exact, .invertedFile] {
            try CatalogIndexer(at: url).setPrintIndex(index)
            var options = SearchOptions(limit: 3, condition: .isAnyOf(.type, ["odd"]), recall: 1)
            let query = try await catalog.query(describedBy: "red", options: options)
            #expect(query.isDescribed)
            var ids: [String] = []
            for try await page in catalog.pages(of: query, options: options) {
                #expect(page.count <= 3)
                ids += page.map(\.id)
            }
            #expect(ids == (0..<10).map { "red-\(2 * $0 + 1)" })
            // The distance is a bound, and a confidence is none.
            options.bounds = MatchBounds(minConfidence: 0.99, maxDistance: .atMost(0.3))
            options.limit = 100
            let near = try await catalog.search(query, options: options)
            #expect(!near.isEmpty && near.count < 10 && near.allSatisfy { $0.distance <= 0.3 })
        }
    }

    @Test func wordsBesideAnImage() async throws {
        let catalog = try await catalog()
        let blue = try Self.image(0, 0, 250)
        func first(_ weight: Double) async throws -> String? {
            try await catalog.search(
                describedBy: "red", beside: blue, weight: weight, options: SearchOptions(limit: 1)
            ).first?.id
        }
        #expect(try await first(0) == "blue")
        #expect(try await first(1) == "red-0")
        #expect(try await first(0.4) == "blue")
        #expect(try await first(0.6) == "red-0")
    }

    @Test func confidenceIsTheProbabilityOfTheModel() async throws {
        let catalog = try await catalog(logits: #"{"scale": 10, "bias": -5}"#)
        let matches = try await catalog.search(describedBy: "red", options: SearchOptions(limit: 22))
        for match in matches {
            let expected = 1 / (1 + exp(-(10 * (1 - match.distance * match.distance / 2) - 5)))
            #expect(abs(match.confidence - expected) < 1e-9)
        }
        // Not that of words beside an image.
        let image = try Self.image(0, 0, 250)
        let others = try await catalog.search(describedBy: "red", beside: image, options: SearchOptions(limit: 2))
        #expect(others.allSatisfy { $0.confidence == 0 })
    }

    @Test func aModelOfImagesAloneIsAnError() async throws {
        let catalog = try await catalog(readsTexts: false)
        let error = await #expect(throws: ModelError.self) { try await catalog.search(describedBy: "red") }
        #expect(error?.reason == .readsNoTexts)
    }

    @Test(arguments: ["", " \n "]) func wordsAreNeeded(words: String) async throws {
        let catalog = try await catalog()
        await #expect(throws: SearchOptionsError.self) { try await catalog.search(describedBy: words) }
        await #expect(throws: SearchOptionsError.self) { try await catalog.search(describedBy: "red", weight: 1.5) }
    }
}
