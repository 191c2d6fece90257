import Catalogs
import Compute
import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing
import VisualSearch

struct EntityCatalogTests {
    @Test func entitiesAreMadeFromRows() async throws {
        let fixture = try EntityFixture([
            EntityFixture.row(
                0, title: "Slow Meridian", labels: ["tape", "ambient"], rest: #", "year": 1998, "label": "Ferry""#),
            EntityFixture.row(1, type: "poster"),
        ])
        let found = try await fixture.albums.entities(for: ["a1", "nobody", "a0"])
        // The poster is of another type.
        let album = try #require(found.first)
        #expect(found.count == 1 && album.id == "a0" && album.title == "Slow Meridian" && album.year == 1998)
        #expect(album.label == "Ferry" && album.labels == ["tape", "ambient"])
        #expect(try PixelBuffer(decoding: #require(album.thumbnail), named: "thumbnail").width == 96)
        #expect(fixture.problems.all.isEmpty)
    }

    @Test func entitiesComeInTheOrderAskedWithoutUnknownOnes() async throws {
        let fixture = try EntityFixture((0..<4).map { EntityFixture.row($0) })
        #expect(try await fixture.albums.entities(for: ["a3", "x", "a0", "a2"]).map(\.id) == ["a3", "a0", "a2"])
        #expect(try await fixture.albums.entities(for: []).isEmpty)
        #expect(try await fixture.albums.allEntities().map(\.id) == ["a0", "a1", "a2", "a3"])
        #expect(try await fixture.albums.suggestedEntities(limit: 2).map(\.id) == ["a0", "a1"])
    }

    @Test func aRowThatMakesNoEntityIsReportedAndTheRestGoesOn() async throws {
        let fixture = try EntityFixture([
            EntityFixture.row(0), EntityFixture.row(1, rest: ""), EntityFixture.row(2, rest: #", "year": "soon""#),
            EntityFixture.row(3),
        ])
        #expect(try await fixture.albums.entities(for: ["a0", "a1", "a2", "a3"]).map(\.id) == ["a0", "a3"])
        let words = fixture.problems.all.map(\.description)
        #expect(words.count == 2 && words[0].contains("“a1”") && words[0].contains("no “year”"))
        #expect(words[1].contains("“a2”") && words[1].contains("its “year” is “soon”"))
        #expect(try await fixture.albums.problems().map(\.subject) == ["a1", "a2"])
    }

    /// Types that decode themselves from a text must not ask the decoder for it without end.
    @Test func aTextInPlaceOfAListIsAnError() {
        func reason<Value: Decodable & Sendable>(_: Value.Type) -> String {
            let row = CatalogRow(entity: CatalogEntity(id: "a", labels: ["x"]), thumbnail: Data([1]))
            do {
                return "\(try Listed<Value>(row))"
            } catch DecodingError.typeMismatch(_, let context) {
                return context.debugDescription
            } catch {
                return "\(error)"
            }
        }
        #expect(reason(String.self) == "its “labels” is a list, and not a String")
        #expect(reason(Date.self) == "its “labels” is a list, and not a Date")
        #expect(reason(URL.self) == "its “labels” is a list, and not a URL")
        #expect(reason(Int.self) == "its “labels” is a list, and not a Int")
    }

    @Test func datesAreDaysOrTimes() throws {
        func seconds(_ text: String) -> Double? {
            let entity = CatalogEntity(id: "a", attributes: ["released": text])
            return try? Dated(CatalogRow(entity: entity, thumbnail: nil)).released.timeIntervalSince1970
        }
        #expect(seconds("2024-05-01T10:00:00+02:00") == 1_714_550_400)
        #expect(seconds("2024-05-01") == 1_714_521_600)
        for text in ["2024-05", "2024-13-01", "soon", ""] { #expect(seconds(text) == nil, "\(text)") }
    }

    private struct Dated: AppEntity, CatalogRepresentable, Decodable {
        var id: String
        var released: Date

        var displayRepresentation: DisplayRepresentation { DisplayRepresentation(title: "\(id)") }
        static var defaultQuery: DatedQuery { DatedQuery() }
        static var typeDisplayRepresentation: TypeDisplayRepresentation { "Dated" }

        struct DatedQuery: EntityQuery {
            func entities(for identifiers: [String]) async throws -> [Dated] { [] }
        }
    }

    private struct Listed<Labels: Decodable & Sendable>: AppEntity, CatalogRepresentable, Decodable {
        var id: String
        var labels: Labels

        var displayRepresentation: DisplayRepresentation { DisplayRepresentation(title: "\(id)") }
        static var defaultQuery: ListedQuery { ListedQuery() }
        static var typeDisplayRepresentation: TypeDisplayRepresentation { "Listed" }

        struct ListedQuery: EntityQuery {
            func entities(for identifiers: [String]) async throws -> [Listed] { [] }
        }
    }

    /// The default report goes to standard error, which may be on a full disk.
    @Test func aRowThatMakesNoEntityIsSkippedIfNothingCanBeReported() async throws {
        let fixture = try EntityFixture([EntityFixture.row(0, rest: ""), EntityFixture.row(1)])
        #expect(try await Self.entitiesWithFullStandardError(of: fixture.catalog).map(\.id) == ["a1"])
    }

    private static func entitiesWithFullStandardError(of catalog: Catalog) async throws -> [Album] {
        let (full, before) = (open("/dev/full", O_WRONLY), dup(STDERR_FILENO))
        dup2(full, STDERR_FILENO)
        defer {
            dup2(before, STDERR_FILENO)
            close(before)
            close(full)
        }
        return try await EntityCatalog<Album>(catalog, type: "album").allEntities()
    }

    @Test func pixelsFindTheirEntityFirst() async throws {
        let fixture = try EntityFixture((0..<8).map { EntityFixture.row($0) })
        for index in [0, 5] {
            let found = try await fixture.albums.search(
                matching: SampleImage.blocks(seed: UInt64(index)), limit: 3, maxDistance: 2)
            #expect(found.count == 3 && found.first?.id == "a\(index)")
        }
        #expect(try await fixture.albums.search(matching: SampleImage.blocks(seed: 0), limit: 0).isEmpty)
        // Nothing is near enough.
        #expect(try await fixture.albums.search(matching: SampleImage.blocks(seed: 900), maxDistance: 0.01).isEmpty)
        // Neither pixels nor labels.
        #expect(try await fixture.albums.search(matching: SemanticContentDescriptor()).isEmpty)
        #expect(try await fixture.albums.search(matching: SemanticContentDescriptor(labels: ["…", ""])).isEmpty)
    }

    /// The catalog has more prints than are scanned at once, and the test asks for more pages than there are threads.
    @Test func concurrentPagesSharePassesAndEqualPagesFetchedAlone() async throws {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url, thumbnailSide: nil)
        let model = indexer.model
        var random = SeededGenerator(seed: 21)
        func print() -> FeaturePrint {
            let values = random.floats(model.dimension).map { $0 - 0.5 }
            let norm = values.reduce(0) { $0 + $1 * $1 }.squareRoot()
            return FeaturePrint(vector: values.map { $0 / norm }, model: model.identity)
        }
        let items = (0..<((1 << 22) / model.dimension + 5)).map {
            IndexItem(
                CatalogEntity(id: "a\($0)", type: "album", title: "Album", attributes: ["year": "2001"]),
                image: .print(print()))
        }
        _ = try await indexer.run(over: items).report()
        let executor = GatedExecutor()
        let catalog = try Catalog(at: folder.url, executor: executor)
        let albums = EntityCatalog<Album>(try Catalog(at: folder.url), type: "album")
        let gated = EntityCatalog<Album>(catalog, type: "album")
        let queries = (0..<(40 + availableProcessorCount)).map { index in
            SearchQuery(prints: (0...(index % 4)).map { _ in print() }, maxDistance: .unlimited)
        }
        func pages(of query: SearchQuery, in albums: EntityCatalog<Album>) async throws -> [[String]] {
            let first = try await albums.page(of: query, count: 4)
            return try await [first.entities, albums.page(of: query, count: 4, after: first.next).entities]
                .map { $0.map(\.id) }
        }
        var alone: [[[String]]] = []
        for query in queries { alone.append(try await pages(of: query, in: albums)) }
        let together = try await withThrowingTaskGroup(of: (Int, [[String]]).self) { group in
            for (index, query) in queries.enumerated() {
                group.addTask { (index, try await pages(of: query, in: gated)) }
            }
            while executor.jobCount < queries.count { await Task.yield() }
            executor.open()
            return try await group.reduce(into: [Int: [[String]]]()) { $0[$1.0] = $1.1 }
        }
        for index in queries.indices {
            #expect(together[index] == alone[index] && Set(alone[index].joined()).count == 8, "query \(index)")
        }
        #expect(catalog.sharedPassCount > 0)
    }

    @Test func aQueryTakesTheDistanceThatTheModelRecommendsForIt() async throws {
        let fixture = try EntityFixture([EntityFixture.row(0)])
        let model = fixture.catalog.model
        let query = try await fixture.albums.query(
            for: SemanticContentDescriptor(pixelBuffer: SampleImage.blocks(seed: 0)))
        let threshold = try #require(model.matchThreshold(for: query.prints, beside: [0]))
        #expect(query.maxDistance == .atMost(threshold) && threshold != model.matchThreshold)
        // A query made of its prints alone takes the same distance.
        let pages = try await (
            fixture.albums.page(of: SearchQuery(prints: query.prints)),
            fixture.albums.page(of: SearchQuery(prints: query.prints, maxDistance: .atMost(threshold)))
        )
        #expect(!pages.0.results.isEmpty && pages.0.results.map(\.score) == pages.1.results.map(\.score))
        let words = try await fixture.albums.query(for: SemanticContentDescriptor(labels: ["moon"]))
        #expect(words.prints.isEmpty && words.maxDistance == .recommended)
    }

    @Test func textFindsEntitiesOfItsType() async throws {
        let fixture = try EntityFixture([
            EntityFixture.row(0, title: "Glass Orchard"), EntityFixture.row(1, type: "poster", title: "Glass Poster"),
            EntityFixture.row(2, title: "Orchard"),
        ])
        #expect(try await fixture.albums.entities(matching: "glass").map(\.id) == ["a0"])
        #expect(try await fixture.albums.entities(matching: "orch").map(\.id) == ["a2", "a0"])
        #expect(try await fixture.albums.suggestions(for: "gla") == ["Glass Orchard"])
    }

    @Test func aCancelledSearchStops() async throws {
        let fixture = try EntityFixture((0..<2).map { EntityFixture.row($0) })
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await fixture.albums.search(matching: SampleImage.blocks(seed: 0), maxDistance: 2)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func manyTasksShareACatalog() async throws {
        let fixture = try EntityFixture((0..<6).map { EntityFixture.row($0, labels: ["all"]) })
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<48 {
                group.addTask {
                    let content = SemanticContentDescriptor(
                        labels: index % 2 == 0 ? ["all"] : [], pixelBuffer: SampleImage.blocks(seed: UInt64(index % 6)))
                    let condition = index % 3 == 0 ? Condition.isAnyOf(.label, ["all"]) : Condition.everything
                    return try await fixture.albums.search(
                        matching: content, limit: 2, maxDistance: 2, condition: condition
                    )
                    .first?.id == "a\(index % 6)"
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}

struct SearchQueryTests {
    private static let rows = (0..<12).map { index in
        EntityFixture.row(
            index, title: "Album \(index % 3 == 0 ? "moon" : "sun")", labels: index % 2 == 0 ? ["Even Number"] : [])
    }

    private static func ids(_ page: SearchPage<Album>) -> [String] { page.entities.map(\.id) }

    /// The rule as the documentation states it, over all entities.
    private static func expected(
        _ fixture: EntityFixture, _ query: SearchQuery, count: Int = 12, has: [(Int) -> Bool]
    ) async throws -> [(id: String, score: Double)] {
        let limit = query.maxDistance.distance(threshold: nil)
        let near =
            query.prints.isEmpty
            ? []
            : try await fixture.catalog.search(
                fixture.catalog.query(for: query.prints),
                options: SearchOptions(limit: count, bounds: MatchBounds(maxDistance: .atMost(limit))))
        let distances = Dictionary(uniqueKeysWithValues: near.map { ($0.entity.id, $0.distance) })
        return (0..<count).compactMap { index -> (id: String, score: Double, index: Int)? in
            let pixels = distances["a\(index)"].map { 1 - $0 / (2 * limit) } ?? 0
            let words = has.isEmpty ? 0 : Double(has.count { $0(index) }) / Double(has.count)
            let score = 1 - (1 - pixels) * (1 - words / 2)
            return score > 0 ? ("a\(index)", score, index) : nil
        }.sorted { ($1.score, $0.index) < ($0.score, $1.index) }.map { ($0.id, $0.score) }
    }

    @Test func pixelsAndLabelsAreMergedByTheStatedRule() async throws {
        let fixture = try EntityFixture(Self.rows)
        let has: [String: (Int) -> Bool] = [
            "moon": { $0 % 3 == 0 }, "even number": { $0 % 2 == 0 }, "zebra": { _ in false },
        ]
        for labels in [[], ["moon"], ["moon", "even number"], ["even number", "zebra"], ["zebra"]] {
            for (image, maxDistance) in [
                (nil, 1.0), (SampleImage.blocks(seed: 4), 2.0), (SampleImage.blocks(seed: 4), 0.7),
                (SampleImage.blocks(seed: 99), 0.9),
            ] {
                let query = try await fixture.albums.query(
                    for: SemanticContentDescriptor(labels: labels, pixelBuffer: image),
                    maxDistance: .atMost(maxDistance))
                let expected = try await Self.expected(fixture, query, has: labels.map { has[$0]! })
                let page = try await fixture.albums.page(of: query, count: 50)
                #expect(Self.ids(page) == expected.map(\.id), "\(labels), \(maxDistance)")
                for (result, one) in zip(page.results, expected) { #expect(abs(result.score - one.score) < 1e-6) }
                #expect(Set(Self.ids(page)).count == page.results.count && page.next == nil)
                // Pages of any size have the same entities.
                for size in [1, 2, 5] {
                    var paged: [String] = []
                    var part = try await fixture.albums.page(of: query, count: size)
                    while !part.results.isEmpty {
                        #expect(part.results.count == size || part.next == nil)
                        paged += Self.ids(part)
                        part = try await fixture.albums.page(of: query, count: size, after: part.next)
                    }
                    #expect(paged == expected.map(\.id), "\(labels), pages of \(size)")
                }
            }
        }
    }

    @Test func theRuleHoldsForThousandsOfMatches() async throws {
        let count = 1100
        let fixture = try EntityFixture(
            (0..<count).map { index in
                EntityFixture.row(
                    index, title: "Album \(index % 3 == 0 ? "moon" : "sun")",
                    labels: index % 2 == 0 ? ["Even Number"] : [])
            })
        let has: [String: (Int) -> Bool] = [
            "moon": { $0 % 3 == 0 }, "even number": { $0 % 2 == 0 }, "album": { _ in true }, "1000": { _ in false },
        ]
        for (labels, maxDistance) in [
            (["moon"], 2.0), (["moon", "even number"], 2), (["album"], 2), (["1000", "moon", "album"], 1),
        ] {
            let query = try await fixture.albums.query(
                for: SemanticContentDescriptor(labels: labels, pixelBuffer: SampleImage.blocks(seed: 4)),
                maxDistance: .atMost(maxDistance))
            let expected = try await Self.expected(fixture, query, count: count, has: labels.map { has[$0]! })
            let page = try await fixture.albums.page(of: query, count: count + 1)
            #expect(page.results.count == expected.count && Set(Self.ids(page)) == Set(expected.map(\.id)), "\(labels)")
            // In that order, but for scores that differ by less than the order of their computation does.
            let scores = Dictionary(uniqueKeysWithValues: expected.map { ($0.id, $0.score) })
            for (id, one) in zip(Self.ids(page), expected) { #expect(abs((scores[id] ?? .nan) - one.score) < 1e-12) }
            for (result, one) in zip(page.results, expected) { #expect(abs(result.score - one.score) < 1e-6) }
            if maxDistance == 2 { #expect(page.results.allSatisfy { $0.distance != nil }) }
            var paged: [String] = []
            for try await part in fixture.albums.pages(of: query, count: 170) { paged += Self.ids(part) }
            #expect(paged == Self.ids(page), "\(labels)")
        }
    }

    @Test func noPageFollowsTheLast() async throws {
        let fixture = try EntityFixture(Self.rows)
        let query = try await fixture.albums.query(for: SemanticContentDescriptor(labels: ["moon"]))
        let first = try await fixture.albums.page(of: query, count: 10)
        #expect(first.results.count == 4 && first.next == nil)
        let second = try await fixture.albums.page(of: query, count: 10, after: first.next)
        #expect(second.results.isEmpty && second.next == nil)
        for (size, counts) in [(10, [4]), (3, [3, 1]), (2, [2, 2])] {
            var found: [Int] = []
            for try await page in fixture.albums.pages(of: query, count: size) { found.append(page.results.count) }
            #expect(found == counts)
        }
    }

    @Test func whatPixelsFoundComesBeforeWhatLabelsAloneFound() async throws {
        let fixture = try EntityFixture(Self.rows)
        let query = try await fixture.albums.query(
            for: SemanticContentDescriptor(labels: ["moon"], pixelBuffer: SampleImage.blocks(seed: 4)), maxDistance: 0.2
        )
        let page = try await fixture.albums.page(of: query, count: 50)
        #expect(Self.ids(page) == ["a4", "a0", "a3", "a6", "a9"])
        #expect(page.results.map { $0.distance == nil } == [false, true, true, true, true])
    }

    @Test func filtersAndFacets() async throws {
        let fixture = try EntityFixture(
            Self.rows + [EntityFixture.row(12, type: "poster", title: "moon", labels: ["Even Number"])])
        let query = try await fixture.albums.query(for: SemanticContentDescriptor(labels: ["moon"]))
        #expect(Self.ids(try await fixture.albums.page(of: query, count: 2)) == ["a0", "a3"])
        let condition = Condition.isAnyOf(.label, ["Even Number"])
        #expect(Self.ids(try await fixture.albums.page(of: query, count: 2, condition: condition)) == ["a0", "a6"])
        let facets = try await fixture.albums.facets(of: query, by: [.type, .label, .attribute("year")])
        #expect(
            facets.map { $0.values.map { "\($0.value) \($0.count)" } } == [
                ["album 4"], ["Even Number 2"], ["2001 4"],
            ])
        await #expect(throws: CatalogError.self) {
            try await fixture.albums.facets(of: query, by: [.attribute("none")])
        }
    }

    @Test func aCursorSurvivesAnUpdateOfTheIndex() async throws {
        let fixture = try EntityFixture(Self.rows)
        let query = try await fixture.albums.query(
            for: SemanticContentDescriptor(labels: ["moon"], pixelBuffer: SampleImage.blocks(seed: 4)), maxDistance: 0.9
        )
        let before = Self.ids(try await fixture.albums.page(of: query, count: 50))
        let first = try await fixture.albums.page(of: query, count: 3)
        let cursor = try JSONDecoder().decode(SearchCursor.self, from: JSONEncoder().encode(try #require(first.next)))
        try CatalogIndexer(at: fixture.folder.file("catalog")).removeAll([before[1], before[4]])
        try EntityFixture.index(
            Self.rows.filter { row in ![before[1], before[4]].contains { row.contains("\"\($0)\"") } } + [
                EntityFixture.row(13, title: "moon moon")
            ], in: fixture.folder)
        let rest = Self.ids(try await fixture.albums.page(of: query, count: 50, after: cursor))
        #expect(Set(rest).isDisjoint(with: before.prefix(3)) && Set(rest).count == rest.count)
        #expect(Set(before.dropFirst(3)).subtracting([before[4]]).isSubset(of: rest))
    }

    @Test func canBeKeptAndPassedOn() async throws {
        let fixture = try EntityFixture(Self.rows)
        let query = try await fixture.albums.query(
            for: SemanticContentDescriptor(labels: ["moon"], pixelBuffer: SampleImage.blocks(seed: 4)))
        let copy = try JSONDecoder().decode(SearchQuery.self, from: JSONEncoder().encode(query))
        #expect(copy == query && !copy.isEmpty)
        #expect(Self.ids(try await fixture.albums.page(of: copy)) == Self.ids(try await fixture.albums.page(of: query)))
        func decoding(print: String) throws -> SearchQuery {
            let others = #""labels": [], "maxDistance": 1, "verified": [], "isVerified": false"#
            return try JSONDecoder().decode(SearchQuery.self, from: Data("{\"prints\": [\(print)], \(others)}".utf8))
        }
        let model = #""model": {"name": "x", "digest": "y"}"#
        #expect(try decoding(print: "{\"vector\": \"ADw=\", \(model)}").prints[0].vector == [1])
        for damaged in [
            "{\"vector\": \"AA==\", \(model)}", "{\"vector\": \"AH4=\", \(model)}", #"{"vector": "ADw="}"#,
        ] {
            #expect(throws: DecodingError.self, "\(damaged)") { try decoding(print: damaged) }
        }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(SearchQuery.self, from: Data("{}".utf8)) }
        // Made with another model.
        let other = SearchQuery(prints: [
            FeaturePrint(vector: query.prints[0].vector, model: ModelIdentity(name: "other", digest: "00"))
        ])
        await #expect(throws: FeaturePrintError.self) { try await fixture.albums.page(of: other) }
        let all = try await fixture.albums.page(of: query, count: .max)
        #expect(all.results.count == Self.ids(all).count && all.next == nil)
        #expect(try await fixture.albums.page(of: query, count: .min).results.isEmpty)
        let short = SearchQuery(prints: [FeaturePrint(vector: [1], model: query.prints[0].model)])
        await #expect(throws: FeaturePrintError.wrongDimension(1, expected: query.prints[0].vector.count)) {
            try await fixture.albums.page(of: short)
        }
    }
}

struct RelatedEntitiesTests {
    @Test func areFoundByAJoinKeyInItsOrder() {
        let index = RelatedEntityIndex(
            ["Ada / Porto", "Oskar / Porto", "ÅDA / Braga"],
            by: ["artist": { [String($0.prefix { $0 != " " })] }, "city": { [String($0.split(separator: " ").last!)] }])
        #expect(
            index.entities(relatedBy: "artist", to: ["oskar", "ada", "nobody", "ADA"]) == [
                "Oskar / Porto", "Ada / Porto", "ÅDA / Braga",
            ])
        #expect(index.entities(relatedBy: "city", to: ["porto"], limit: 1) == ["Ada / Porto"])
        #expect(index.entities(relatedBy: "year", to: ["porto"]).isEmpty)
    }

    @Test func aCatalogIsOneQuery() async throws {
        let fixture = try EntityFixture(
            (0..<6).map {
                EntityFixture.row($0, type: $0 == 5 ? "poster" : "album", rest: #", "year": \#(2000 + $0 % 3)"#)
            })
        let found = try await fixture.albums.entities(relatedBy: "year", to: ["2002", "2000"], limit: 10)
        #expect(found.map(\.id) == ["a2", "a0", "a3"])
    }
}

/// Labels without pixels, with a model whose words and images are colors.
struct LabelQueryTests {
    @Test(arguments: [nil, #"{"scale": 10, "bias": -8}"#]) func labelsAloneFindPictures(logits: String?) async throws {
        let folder = try TemporaryFolder()
        let model = try FeaturePrintModel(TwoTowers.file(logits: logits), named: "towers")
        let indexer = try CatalogIndexer(at: folder.file("catalog"), model: model)
        let colors: [(String, [UInt8])] = [("red", [250, 0, 0]), ("orange", [250, 125, 0]), ("blue", [0, 0, 250])]
        let items = try colors.map { name, color in
            IndexItem(
                CatalogEntity(id: name, type: "album", title: "An album", attributes: ["year": "2001"]),
                image: .pixels(
                    try PixelBuffer((0..<64).flatMap { _ in color + [255] }, width: 8, height: 8, format: .rgba8)))
        }
        #expect(try await indexer.run(over: items).report().problems.isEmpty)
        let albums = EntityCatalog<Album>(try Catalog(at: folder.file("catalog")), type: "album")
        let content = SemanticContentDescriptor(labels: ["red"])
        let found = try await albums.search(matching: content).map(\.id)
        // A cosine of 0.8 is as likely as not; without a scale and a bias nothing says so.
        #expect(found == (logits == nil ? [] : ["red", "orange"]))
        let near = try await albums.search(matching: content, maxDistance: .atMost(0.1)).map(\.id)
        #expect(near == ["red"])
    }
}
