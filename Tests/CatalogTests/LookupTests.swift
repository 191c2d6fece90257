import Catalogs
import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing

/// Pages, facets, related and similar entities, in a catalog of prints.
struct LookupTests {
    private static let count = 1_100

    /// Prints around a circle: the neighbors of each are known.
    private static func catalog(_ folder: TemporaryFolder) async throws -> Catalog {
        let indexer = try CatalogIndexer(at: folder.url)
        let model = indexer.model
        let items = (0..<count).map { index in
            IndexItem(
                CatalogEntity(
                    id: "e\(index)", type: index % 2 == 0 ? "album" : "poster", title: "Title \(index)",
                    labels: ["l\(index % 3)", "all"], attributes: ["year": "\(1990 + index % 10)"]),
                image: .print(print(index, model)))
        }
        _ = try await indexer.run(over: items).report()
        return try Catalog(at: folder.url)
    }

    private static func print(_ index: Int, _ model: FeaturePrintModel) -> FeaturePrint {
        let angle = Double(index) / Double(count) * .pi / 2
        var vector = [Float](repeating: 0, count: model.dimension)
        (vector[0], vector[1]) = (Float(cos(angle)), Float(sin(angle)))
        return FeaturePrint(vector: vector, model: model.identity)
    }

    @Test func pagesFacetsAndNeighborsOfAWholeRanking() async throws {
        let folder = try TemporaryFolder()
        let catalog = try await Self.catalog(folder)
        let query = try await catalog.query(for: [Self.print(0, catalog.model)])
        let all = try await catalog.search(query, options: SearchOptions(limit: .max, bounds: .none))
        #expect(all.map(\.id) == (0..<Self.count).map { "e\($0)" })

        var paged: [CatalogMatch] = []
        for try await page in catalog.pages(of: query, options: SearchOptions(limit: 300, bounds: .none)) {
            #expect(page.count == 300 || paged.count == 900)
            paged += page
        }
        #expect(paged == all)
        let cursor = SearchCursor(after: all[1_000])
        let rest = catalog.pages(of: query, options: SearchOptions(limit: 60, bounds: .none, after: cursor))
        #expect(try await rest.reduce(into: []) { $0 += $1 } == Array(all[1_001...]))
        // A last page that is full is the last as well, and an empty ranking has no page.
        var counts: [Int] = []
        for try await page in catalog.pages(of: query, options: SearchOptions(limit: 550, bounds: .none)) {
            counts.append(page.count)
        }
        #expect(counts == [550, 550])
        for try await _ in catalog.pages(
            of: query,
            options: SearchOptions(bounds: MatchBounds(maxDistance: 0), condition: Condition.isAnyOf(.type, ["x"])))
        {
            Issue.record("an empty ranking has a page")
        }

        let facets = try await catalog.facets(
            of: query, by: [.type, .label, .attribute("year")], options: SearchOptions(bounds: .none))
        #expect(facets[0].values.map(\.count) == [550, 550])
        #expect(facets[1].values.first == facets[1].values.first { $0.value == "all" && $0.count == 1_100 })
        #expect(facets[2].values.map(\.count) == Array(repeating: 110, count: 10))
        // Within a distance, and with a filter.
        let near = try await catalog.facets(
            of: query, by: [.type],
            options: SearchOptions(
                bounds: MatchBounds(maxDistance: .atMost(all[100].distance)),
                condition: Condition.isAnyOf(.type, ["album"])))
        #expect(near[0].values.map(\.value) == ["album"] && near[0].values.map(\.count) == [51])

        let similar = try await catalog.search(
            catalog.query(similarTo: "e500"), options: SearchOptions(limit: 4, bounds: .none))
        #expect(Set(similar.map(\.id)) == ["e499", "e501", "e498", "e502"])
        #expect(similar.map(\.distance) == similar.map(\.distance).sorted())
        #expect(
            try await catalog.search(
                catalog.query(similarTo: "e500"),
                options: SearchOptions(limit: 2, bounds: .none, condition: Condition.isAnyOf(.type, ["poster"]))
            )
            .allSatisfy { $0.entity.type == "poster" })
        #expect(try await catalog.featurePrint(for: "e500") == Self.print(500, catalog.model))
        let error = await #expect(throws: CatalogError.self) {
            try await catalog.search(catalog.query(similarTo: "nobody"), options: SearchOptions(bounds: .none))
        }
        #expect(error?.reason == .unknownEntities(["nobody"]))
    }

    @Test func relatedEntitiesByAnyField() async throws {
        let folder = try TemporaryFolder()
        let catalog = try await Self.catalog(folder)
        func ids(_ field: EntityField, _ values: [String], limit: Int = 3) async throws -> [String] {
            try await catalog.entities(where: field, isAnyOf: values, limit: limit).map(\.id)
        }
        #expect(try await ids(.id, ["e7", "nobody", "e3"]) == ["e7", "e3"])
        #expect(try await ids(.type, ["poster", "album"]) == ["e1", "e3", "e5"])
        #expect(try await ids(.title, ["Title 9", "Title 4"]) == ["e9", "e4"])
        #expect(try await ids(.subtitle, ["x"]).isEmpty)
        // An entity that has several of the labels comes once, at the first of them.
        #expect(try await ids(.label, ["l2", "all"]) == ["e2", "e5", "e8"])
        #expect(try await ids(.label, ["all", "l2"], limit: 2_000).count == Self.count)
        #expect(try await ids(.attribute("year"), ["1995"]) == ["e5", "e15", "e25"])
        #expect(try await ids(.attribute("year"), ["2050"]).isEmpty, "a value that nobody has")
        // More values than SQLite takes at once.
        let many = (0..<25_000).map { "Title \($0)" }
        #expect(try await ids(.title, many, limit: 2_000).count == Self.count)

        let query = try await catalog.query(for: [Self.print(0, catalog.model)])
        let mistakes: [@Sendable () async throws -> Void] = [
            { _ = try await catalog.entities(where: .attribute("yaer"), isAnyOf: ["1995"]) },
            { _ = try await catalog.entities(where: .attribute("yaer"), isAnyOf: ["1995"]) },
            { _ = try await catalog.facets(of: query, by: [.attribute("yaer")]) },
        ]
        for mistake in mistakes {
            let error = await #expect(throws: CatalogError.self) { try await mistake() }
            #expect(error?.reason == .unknownAttribute("yaer", nearest: ["year"]))
            #expect(error?.description.hasSuffix("has an attribute “yaer”; did you mean “year”?") == true)
        }
    }

    /// In SQLite and in JSON, names are their bytes; in Swift, these two are equal.
    @Test func facetsOfNamesThatSwiftTakesForEqual() async throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url)
        let model = indexer.model
        let items = [[composed: "1"], [decomposed: "2"], ["x": "3"]].enumerated().map { index, attributes in
            IndexItem(
                CatalogEntity(id: "\(index)", attributes: attributes), image: .print(Self.print(index, model)))
        }
        _ = try await indexer.run(over: items).report()
        let catalog = try Catalog(at: folder.url)
        let query = try await catalog.query(for: [Self.print(0, model)])
        func values(_ names: [String]) async throws -> [[String]] {
            try await catalog.facets(of: query, by: names.map { .attribute($0) }, options: SearchOptions(bounds: .none))
                .map { $0.values.map(\.value) }
        }
        #expect(try await values([composed]) == [["1"]])
        #expect(try await values([decomposed, "x"]) == [["2"], ["3"]])
        #expect(try await values(["x", composed, "x"]) == [["3"], ["1"], ["3"]])
    }

    /// Swift takes the labels for equal; the rows that one filter passed answered the other, and changes from one to
    /// the other were not written.
    @Test func filtersAndChangesOfTextThatSwiftTakesForEqual() async throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url)
        func item(_ id: String, _ index: Int, _ label: String) -> IndexItem {
            IndexItem(CatalogEntity(id: id, labels: [label]), image: .print(Self.print(index, indexer.model)))
        }
        _ = try await indexer.run(over: [item("a", 0, composed), item("b", 1, decomposed)]).report()
        let catalog = try Catalog(at: folder.url)
        let query = try await catalog.query(for: [Self.print(0, catalog.model)])
        func found(_ label: String) async throws -> [String] {
            try await catalog.search(
                query, options: SearchOptions(bounds: .none, condition: Condition.isAnyOf(.label, [label]))
            ).map(\.id)
        }
        #expect(try await found(composed) == ["a", "b"])
        #expect(try await found("CAFE") == ["a", "b"])
        #expect(try await catalog.entities(where: .label, isAnyOf: ["Café", composed]).map(\.id) == ["a", "b"])
        let labels = try await catalog.facets(of: query, by: [.label], options: SearchOptions(bounds: .none))[0].values
        #expect(labels.map(\.count) == [2])

        func stored() async throws -> [String] {
            try await catalog.entities(for: ["a", "b"]).flatMap(\.labels).map { "\(Array($0.utf8))" }
        }
        func bytes(_ labels: String...) -> [String] { labels.map { "\(Array($0.utf8))" } }
        #expect(try await stored() == bytes(composed, decomposed))
        #expect(try await indexer.run(over: [item("a", 0, decomposed)]).report().updated == 1)
        #expect(try await stored() == bytes(decomposed, decomposed))
        try await indexer.update("b") { $0.labels = [composed] }
        #expect(try await stored() == bytes(decomposed, composed))
    }

    @Test func moreLabelsThanSQLiteJoins() async throws {
        let folder = try TemporaryFolder()
        let catalog = try await Self.catalog(folder)
        let phrases = (0..<1200).map { "Title \($0)" } + ["all"]
        let found = try catalog.entities(havingAnyOf: phrases, limit: 5, condition: Condition.everything)
        #expect(found.count == 5 && found.allSatisfy { $0.count == 2 })
    }

    @Test func anEmptyCatalogHasNoUnknownAttributes() async throws {
        let folder = try TemporaryFolder()
        _ = try await CatalogIndexer(at: folder.url).run(over: []).report()
        let catalog = try Catalog(at: folder.url)
        #expect(try await catalog.entities(where: .attribute("year"), isAnyOf: ["1995"]).isEmpty)
    }

    @Test func aMatchIsEncodedWithWhatAnAppShows() async throws {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url)
        let image = SampleImage.shapes(seed: 3)
        try await indexer.upsert(
            IndexItem(CatalogEntity(id: "a", title: "A", attributes: ["year": "1998"]), image: .pixels(image)))
        let catalog = try Catalog(at: folder.url)
        let match = try #require(try await catalog.search(matching: image).first)
        #expect(match.id == "a")
        struct Shown: Decodable {
            let entity: CatalogEntity
            let confidence: Double
            let distance: Double
            let inlierCount: Int
            let outline: Quadrilateral?
            let cursor: SearchCursor
        }
        let shown = try JSONDecoder().decode(Shown.self, from: JSONEncoder().encode(match))
        #expect(shown.entity == match.entity && shown.confidence == match.confidence)
        #expect(shown.distance == match.distance && shown.inlierCount == match.inlierCount)
        #expect(shown.outline == match.outline && shown.cursor == SearchCursor(after: match))
    }
}

struct DistanceLimitTests {
    @Test func oneMeaningEverywhere() throws {
        #expect(DistanceLimit.recommended.distance(threshold: 0.8) == 0.8)
        #expect(DistanceLimit.recommended.distance(threshold: nil) == 2)
        #expect(DistanceLimit.unlimited.distance(threshold: 0.8) == 2)
        #expect((0.5 as DistanceLimit).distance(threshold: 0.8) == 0.5)
        #expect(
            (3 as DistanceLimit).distance(threshold: nil) == 2 && (-1 as DistanceLimit).distance(threshold: nil) == 0)
        let limits: [DistanceLimit] = [.recommended, .unlimited, .atMost(0.25)]
        #expect(try JSONDecoder().decode([DistanceLimit].self, from: JSONEncoder().encode(limits)) == limits)
        #expect(
            String(decoding: try JSONEncoder().encode(limits), as: UTF8.self) == #"["recommended","unlimited",0.25]"#)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([DistanceLimit].self, from: Data(#"["far"]"#.utf8))
        }
    }

    @Test func theRecommendedLimitOfASearchIsTheThresholdOfItsQuery() async throws {
        let fixture = try CatalogFixture(count: 6)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let query = try await catalog.query(for: [catalog.model.featurePrint(for: SampleImage.blocks(seed: 2))])
        let threshold = try #require(query.matchThreshold)
        let all = try await catalog.search(query, options: SearchOptions(bounds: MatchBounds(maxDistance: .unlimited)))
        #expect(all.count == 6)
        let expected = all.filter { $0.distance <= threshold }.map(\.id)
        #expect(
            try await catalog.search(query, options: SearchOptions(bounds: MatchBounds(maxDistance: .recommended))).map(
                \.id) == expected)
    }

    /// Verified entities come first in a ranking, however far their prints are.
    @Test func aDistanceDoesNotHideWhatComesLaterInTheRanking() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let (image, _) = CoverFixture.photograph(of: 2)
        let query = try await catalog.query(for: image)
        let all = try await catalog.search(query, options: SearchOptions(bounds: .none))
        let nearest = try #require(all.map(\.distance).min())
        for limit in 1...6 {
            let bounds = MatchBounds(maxDistance: .atMost(nearest))
            #expect(
                try await catalog.search(query, options: SearchOptions(limit: limit, bounds: bounds)).map(\.distance)
                    == [nearest])
        }
    }
}
