import Catalogs
import FeaturePrints
import Foundation
import GRDB
import Imaging
import TestSupport
import Testing

/// A catalog made from a manifest, over generated images.
struct ManifestFixture {
    let fixture: CatalogFixture
    var catalog: URL { fixture.catalog }

    init(_ rows: [String], count: Int) throws {
        fixture = try CatalogFixture(count: count)
        try index(rows)
    }

    @discardableResult
    func index(_ rows: [String]) throws -> IndexReport {
        let manifest = try fixture.folder.write(rows.joined(separator: "\n"), to: "manifest.jsonl")
        let (items, problems) = try ImageSource.items(at: manifest)
        var report = try CatalogIndexer(at: catalog).index(items)
        report.problems += problems
        return report
    }

    static func row(_ index: Int, _ rest: String) -> String {
        #"{"id": "e\#(index)", "image": "images/sub\#(index % 2)/image\#(index).png", \#(rest)}"#
    }
}

struct TextSearchTests {
    static let rows = [
        ManifestFixture.row(
            0, #""title": "Slow Meridian", "subtitle": "Ada Fontaine", "type": "album", "labels": ["ambient", "tape"]"#),
        ManifestFixture.row(
            1, #""title": "Ambient Works", "subtitle": "Oskar Lind", "type": "album", "labels": ["machines"]"#),
        ManifestFixture.row(2, #""title": "Café Señorita", "subtitle": "Inés", "type": "album", "labels": ["東京"]"#),
        ManifestFixture.row(3, #""title": "Poster of Ambient Works", "type": "poster", "labels": []"#),
    ]

    @Test func findsWordsInAnyFieldTitlesFirst() async throws {
        let fixture = try ManifestFixture(Self.rows, count: 4)
        let catalog = try Catalog(at: fixture.catalog)
        func ids(_ text: String, condition: Condition = Condition.everything) async throws -> [String] {
            try await catalog.search(text: text, condition: condition).map(\.id)
        }
        // In a title first (of two, in the shorter text), in labels last.
        #expect(try await ids("ambient") == ["e3", "e1", "e0"])
        #expect(try await ids("AMBIENT wor") == ["e3", "e1"])
        #expect(try await ids("cafe senorita") == ["e2"])
        #expect(try await ids("ines") == ["e2"])
        #expect(try await ids("東京") == ["e2"])
        #expect(try await ids("fontaine meridian") == ["e0"])
        #expect(try await ids("fontaine works").isEmpty)
        #expect(try await ids("ambient", condition: Condition.isAnyOf(.type, ["poster"])) == ["e3"])
        #expect(try await catalog.search(text: "ambient", limit: 1).count == 1)
        #expect(
            try await catalog.suggestions(for: "amb") == ["Poster of Ambient Works", "Ambient Works", "Slow Meridian"])
        #expect(try await catalog.suggestions(for: "amb", limit: .max).count == 3)
        for limit in [0, -1, .min] { #expect(try await catalog.suggestions(for: "amb", limit: limit).isEmpty) }
    }

    @Test func suggestionsAreManyEvenIfEntitiesShareTheirTitles() async throws {
        let titles = [String](repeating: "Paris", count: 20) + ["Parisian Café"]
        let rows = titles.enumerated().map { ManifestFixture.row($0, #""title": "\#($1)""#) }
        let fixture = try ManifestFixture(rows, count: titles.count)
        let catalog = try Catalog(at: fixture.catalog)
        for limit in 2...6 {
            #expect(try await catalog.suggestions(for: "par", limit: limit) == ["Paris", "Parisian Café"])
        }
    }

    /// What SQLite's query language gives a meaning has none here.
    @Test func noCharacterOfTheTextIsAnOperator() async throws {
        let fixture = try ManifestFixture(Self.rows, count: 4)
        let catalog = try Catalog(at: fixture.catalog)
        for text in [
            "", "  ", "\"", "\"\"", "*", "(", "-", "^", "title:", "'; DROP TABLE entity; --", "NEAR(", "+", "{title}",
            "\0", "a\0b", "🎷", "…",
        ] {
            _ = try await catalog.search(text: text)
        }
        #expect(try await catalog.search(text: "").isEmpty)
        #expect(try await catalog.search(text: "\"*\"").isEmpty)
        #expect(try await catalog.search(text: "title:ambient").isEmpty)
        #expect(try await catalog.search(text: "slow OR cafe").isEmpty)
        #expect(try await catalog.search(text: "\"slow\" * meridian - ").map(\.id) == ["e0"])
        var random = SeededGenerator(seed: 8)
        let alphabet = Array("ab \"'*()-+^:{}|&\\\0é東\n")
        for _ in 0..<300 {
            let text = String(
                (0..<Int.random(in: 0...12, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
            _ = try await catalog.search(text: text)
        }
    }

    @Test func theIndexFollowsChanges() async throws {
        let fixture = try ManifestFixture(Self.rows, count: 4)
        let renamed = ManifestFixture.row(0, #""title": "Fast Parallel", "type": "album", "labels": ["ambient"]"#)
        try fixture.index([renamed] + Self.rows.dropFirst())
        let catalog = try Catalog(at: fixture.catalog)
        #expect(try await catalog.search(text: "meridian").isEmpty)
        #expect(try await catalog.search(text: "tape").isEmpty)
        #expect(try await catalog.search(text: "parallel").map(\.id) == ["e0"])
        try CatalogIndexer(at: fixture.catalog).removeAll(["e0"])
        #expect(try await catalog.search(text: "parallel").isEmpty)
        #expect(try await catalog.verify().isEmpty)
    }
}

struct RecommendedDistanceTests {
    /// All that distances say without a threshold is which is the smaller one.
    @Test func printsHaveNoConfidenceWithoutAThreshold() async throws {
        let fixture = try CatalogFixture(count: 3)
        let model = try CatalogFixture.model { $0["lookalike.recommended_max_distance"] = nil }
        try fixture.index(model: model)
        let catalog = try Catalog(at: fixture.catalog)
        let image = SampleImage.blocks(seed: 1)
        let options = SearchOptions(bounds: .none, effort: .prints)
        let matches = try await catalog.search(matching: image, options: options)
        #expect(matches.count == 3 && matches[0].id == fixture.id(1) && matches.allSatisfy { $0.confidence == 0 })
        #expect(try await catalog.search(matching: image, options: SearchOptions(effort: .prints)).isEmpty)
        let near = SearchOptions(bounds: MatchBounds(maxDistance: 0.1), effort: .prints)
        #expect(try await catalog.search(matching: image, options: near).map(\.id) == [fixture.id(1)])
    }

    /// With the whole distance to the background in it, and 2 for what is typical, every limit is 0.
    @Test func theLimitIsTheQuerysOwn() async throws {
        let fixture = try CatalogFixture(count: 3)
        try fixture.index()
        let usual = try Catalog(
            at: fixture.catalog, model: CatalogFixture.model { $0["lookalike.recommended_max_distance"] = "2" })
        let strict = try Catalog(
            at: fixture.catalog,
            model: CatalogFixture.model {
                $0["lookalike.recommended_max_distance"] = "0.1"
                $0["lookalike.background"] = #"{"tensor":"background","nearest":10,"weight":1,"typical_distance":2}"#
            })
        let image = SampleImage.blocks(seed: 1)
        let prints = try QueryEmbedder(strict.model, crops: .whole).embed(image).prints
        #expect(strict.model.matchThreshold == 0.1 && strict.model.matchThreshold(for: prints) == 0)
        // The image itself is at distance 0, and whatever else there is farther.
        #expect(
            try await strict.search(matching: image, options: SearchOptions(effort: .prints, crops: .whole)).map(
                \.entity.id) == [fixture.id(1)]
        )
        #expect(try await strict.search(strict.query(for: [prints[0]])).map(\.entity.id) == [fixture.id(1)])
        #expect(
            try await strict.search(matching: SampleImage.blocks(seed: 77), options: SearchOptions(effort: .prints))
                .isEmpty)
        #expect(
            try await strict.search(
                matching: SampleImage.blocks(seed: 77), options: SearchOptions(bounds: MatchBounds(maxDistance: 2))
            ).count
                == 3)
        #expect(
            try await usual.search(matching: SampleImage.blocks(seed: 77), options: SearchOptions(effort: .prints))
                .count == 3)
        #expect(try await strict.search(strict.query(for: [])).isEmpty)
    }
}

/// A query of prints decides as one of the image that has them.
struct PrintQueryTests {
    @Test func printsDecideAsTheirImage() async throws {
        let fixture = try CatalogFixture(count: 12)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let ids = (1...12).map(fixture.id)
        for seed in [1, 5, 77, 78, 79] as [UInt64] {
            for condition in [.everything, EntityField.id.isAnyOf(ids.prefix(4).map(\.self))] as [Condition] {
                let image = SampleImage.blocks(seed: seed)
                let options = SearchOptions(condition: condition, effort: .prints, crops: .whole)
                let byImage = try await catalog.query(for: image, options: options)
                let byPrints = try await catalog.query(for: byImage.prints, options: options)
                #expect(byPrints.matchThreshold == byImage.matchThreshold, "seed \(seed)")
                #expect(
                    try await catalog.search(byPrints, options: options)
                        == catalog.search(byImage, options: options), "seed \(seed)")
            }
        }
    }

    @Test func codesAndTextsNameEntitiesBesidePrints() async throws {
        let folder = try TemporaryFolder()
        let model = try CatalogFixture.model { _ in }
        let prints = try (1...3).map { try model.featurePrint(for: SampleImage.blocks(seed: $0)) }
        let entities = [
            CatalogEntity(id: "a", attributes: ["gtin": "4006381333931"]), CatalogEntity(id: "b", title: "Remains"),
        ]
        _ = try CatalogIndexer(at: folder.file("catalog"), model: model).index(
            zip(entities, prints).map { IndexItem($0, image: .print($1)) })
        let catalog = try Catalog(at: folder.file("catalog"), model: model)
        let options = SearchOptions(codes: ["04006381333931"], texts: ["REMAINS"])
        let matches = try await catalog.search(
            catalog.query(for: [prints[2]], options: options), options: options)
        #expect(Set(matches.map(\.id)) == ["a", "b"])
    }
}

struct ConditionSearchTests {
    static let rows = (0..<12).map { index in
        ManifestFixture.row(
            index,
            #""type": "\#(index % 3 == 0 ? "poster" : "album")", "labels": ["all", "l\#(index % 4)"], "year": \#(2000 + index % 5), "maker's \"name\"": "m\#(index % 2)""#
        )
    }

    /// Against filtering what a search without a filter gives.
    @Test func isAppliedBeforeTheNearestArePicked() async throws {
        let fixture = try ManifestFixture(Self.rows, count: 12)
        let catalog = try Catalog(at: fixture.catalog)
        let image = SampleImage.blocks(seed: 5)
        let all = try await catalog.search(
            matching: image,
            options: SearchOptions(limit: 12, bounds: MatchBounds(maxDistance: 2), effort: .prints, crops: .whole))
        #expect(all.count == 12)
        let filters: [(Condition, (CatalogEntity) -> Bool)] = [
            (Condition.isAnyOf(.type, ["poster"]), { $0.type == "poster" }),
            (Condition.isAnyOf(.type, ["poster", "album"]), { _ in true }),
            (Condition.isAnyOf(.type, ["none"]), { _ in false }),
            (Condition.all([.isAnyOf(.label, ["all"]), .isAnyOf(.label, ["l1"])]), { $0.labels.contains("l1") }),
            (Condition.all([.isAnyOf(.label, ["l1"]), .isAnyOf(.label, ["l2"])]), { _ in false }),
            (
                Condition.isAnyOf(.attribute("year"), ["2001", "2003"]),
                { ["2001", "2003"].contains($0.attributes["year"]) }
            ),
            (Condition.isAnyOf(.attribute("maker's \"name\""), ["m1"]), { $0.attributes["maker's \"name\""] == "m1" }),
            (
                Condition.all([.isAnyOf(.type, ["album"]), .isAnyOf(.attribute("year"), ["2001"])]),
                { $0.type == "album" && $0.attributes["year"] == "2001" }
            ),
            (Condition.isAnyOf(.type, ["album"]) && .isAnyOf(.type, ["poster"]), { _ in false }),
            (
                Condition.isAnyOf(.type, ["album"]) && .isAnyOf(.label, ["l2"]),
                { $0.type == "album" && $0.labels.contains("l2") }
            ),
        ]
        for (filter, passes) in filters {
            let expected = all.filter { passes($0.entity) }
            for limit in [1, 2, 12] {
                let found = try await catalog.search(
                    matching: image,
                    options: SearchOptions(
                        limit: limit, bounds: MatchBounds(maxDistance: 2), condition: filter, effort: .prints,
                        crops: .whole))
                // Confidences depend on the entities that are searched: others of the kind are rivals.
                let picked = expected.prefix(limit)
                #expect(
                    found.map(\.entity) == picked.map(\.entity) && found.map(\.distance) == picked.map(\.distance),
                    "\(filter), \(limit)")
            }
        }
    }

    @Test func aKeptFilterIsForgottenWhenTheCatalogChanges() async throws {
        let fixture = try ManifestFixture(Array(Self.rows.prefix(6)), count: 12)
        let catalog = try Catalog(at: fixture.catalog)
        let filter = Condition.isAnyOf(.label, ["l1"])
        func found() async throws -> Set<String> {
            Set(
                try await catalog.search(
                    matching: SampleImage.blocks(seed: 5),
                    options: SearchOptions(
                        limit: 20, bounds: MatchBounds(maxDistance: 2), condition: filter, crops: .whole)
                ).map(\.entity.id))
        }
        #expect(try await found() == ["e1", "e5"])
        try fixture.index(Self.rows)
        #expect(try await found() == ["e1", "e5", "e9"])
        // What is said of an entity changes, and its image does not.
        try fixture.index(Self.rows.map { $0.replacing("\"l2\"", with: "\"l1\"") })
        #expect(try await found() == ["e1", "e2", "e5", "e6", "e9", "e10"])
    }

    @Test func relatedEntitiesComeInTheOrderOfTheValues() async throws {
        let fixture = try ManifestFixture(Self.rows, count: 12)
        let catalog = try Catalog(at: fixture.catalog)
        let found = try await catalog.entities(where: .attribute("year"), isAnyOf: ["2003", "2001", "1900", "2003"])
        #expect(found.map(\.id) == ["e3", "e8", "e1", "e6", "e11"])
        #expect(
            try await catalog.entities(where: .attribute("year"), isAnyOf: ["2003", "2001"], limit: 3).map(\.id) == [
                "e3", "e8", "e1",
            ])
        #expect(try await catalog.entities(where: .attribute("year"), isAnyOf: []).isEmpty)
    }
}

struct SearchCursorTests {
    @Test func pagesMakeTheWholeRankingAlsoWhileTheCatalogChanges() async throws {
        let fixture = try ManifestFixture((0..<10).map { ManifestFixture.row($0, #""title": "t""#) }, count: 14)
        let catalog = try Catalog(at: fixture.catalog)
        let print = try catalog.model.featurePrint(for: SampleImage.blocks(seed: 77))
        let all = try await catalog.search(
            catalog.query(for: [print]), options: SearchOptions(limit: 20, bounds: MatchBounds(maxDistance: 2)))
        var paged: [CatalogMatch] = []
        while true {
            let page = try await catalog.search(
                catalog.query(for: [print]),
                options: SearchOptions(
                    limit: 3, bounds: MatchBounds(maxDistance: 2), after: paged.last.map { SearchCursor(after: $0) }))
            if page.isEmpty { break }
            paged += page
        }
        #expect(paged == all)

        // The entity at the cursor goes, others come: nothing is repeated, and what was there is not skipped.
        let cursor = SearchCursor(after: all[3])
        try CatalogIndexer(at: fixture.catalog).removeAll([all[3].entity.id, all[7].entity.id])
        try fixture.index(
            (0..<14).filter { "e\($0)" != all[3].entity.id && "e\($0)" != all[7].entity.id }.map {
                ManifestFixture.row($0, #""title": "t""#)
            })
        let rest = try await catalog.search(
            catalog.query(for: [print]),
            options: SearchOptions(limit: 20, bounds: MatchBounds(maxDistance: 2), after: cursor)
        ).map(
            \.entity.id)
        let expected = Set(all[4...].map(\.entity.id)).subtracting([all[7].entity.id])
        #expect(expected.isSubset(of: rest))
        #expect(Set(rest).isDisjoint(with: all[...3].map(\.entity.id)))
        #expect(Set(rest).count == rest.count)
    }

    @Test func isTextThatReadsBack() throws {
        for cursor in [
            SearchCursor(sortKey: 0, key: 0), SearchCursor(sortKey: 0.1 + 0.2, key: 1 << 40),
            SearchCursor(sortKey: 4, key: .max),
        ] {
            #expect(SearchCursor(cursor.description) == cursor)
            #expect(try JSONDecoder().decode(SearchCursor.self, from: JSONEncoder().encode(cursor)) == cursor)
        }
        for text in [
            "", "-", "1", "1-", "-1", "x-1", "1-2-3", "1--2", "7ff0000000000000-1", "7ff8000000000000-1",
            "1-ffffffffffffffff",
        ] {
            #expect(SearchCursor(text) == nil, "\(text)")
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(SearchCursor.self, from: Data("\"nonsense\"".utf8))
        }
    }
}

struct ThumbnailTests {
    @Test func areMadeAtIndexTimeAndServedByID() async throws {
        let fixture = try CatalogFixture(count: 0)
        try FileManager.default.createDirectory(at: fixture.images, withIntermediateDirectories: true)
        let wide = SampleImage.blocks(seed: 1, width: 700, height: 300)
        try wide.pngData().write(to: fixture.images.appendingPathComponent("wide.png"))
        try SampleImage.blocks(seed: 2, width: 90, height: 60).pngData().write(
            to: fixture.images.appendingPathComponent("small.png"))
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        func size(_ data: Data?) throws -> [Int] {
            let image = try PixelBuffer(decoding: #require(data), named: "thumbnail")
            return [image.width, image.height]
        }
        #expect(try await size(catalog.thumbnail(for: "wide")) == [256, 110])
        #expect(try await size(catalog.thumbnail(for: "small")) == [90, 60])
        #expect(try await size(catalog.thumbnail(for: "wide", longSide: 500)) == [500, 214])
        #expect(try await catalog.thumbnail(for: "nobody") == nil)
        for id in ["wide", "small", "nobody"] {
            #expect(try await catalog.storedThumbnail(for: id) == catalog.thumbnail(for: id))
        }
        // Kept in the catalog: no image is needed for the stored size.
        try FileManager.default.removeItem(at: fixture.images)
        #expect(try await size(catalog.thumbnail(for: "wide")) == [256, 110])
        await #expect(throws: ImageError.self) { try await catalog.thumbnail(for: "wide", longSide: 500) }
    }

    @Test func mayBeLeftOutAndFollowTheImage() async throws {
        let fixture = try CatalogFixture(count: 1)
        let (items, _) = try ImageSource.items(at: fixture.images)
        _ = try CatalogIndexer(at: fixture.catalog, thumbnailSide: nil).index(items)
        let catalog = try Catalog(at: fixture.catalog)
        // Made from the image then.
        #expect(try await catalog.thumbnail(for: fixture.id(0)) != nil)
        try FileManager.default.moveItem(at: fixture.images, to: fixture.folder.file("elsewhere"))
        await #expect(throws: ImageError.self) { try await catalog.thumbnail(for: fixture.id(0)) }
        try FileManager.default.moveItem(at: fixture.folder.file("elsewhere"), to: fixture.images)

        try fixture.write(0, seed: 50)
        _ = try CatalogIndexer(at: fixture.catalog, thumbnailSide: 48).index(items)
        let first = try await catalog.thumbnail(for: fixture.id(0), longSide: 48)
        try fixture.write(0, seed: 51)
        _ = try CatalogIndexer(at: fixture.catalog, thumbnailSide: 48).index(items)
        #expect(try await catalog.thumbnail(for: fixture.id(0), longSide: 48) != first)
    }
}

struct CatalogVersionTests {
    /// Nothing is written to a database that another version may have made.
    @Test(arguments: [0, 1000]) func aCatalogOfAnotherVersionIsRefused(version: Int) throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        let url = fixture.catalog.appendingPathComponent("catalog.sqlite")
        let database = try DatabaseQueue(path: url.path)
        try database.write { try $0.execute(sql: "PRAGMA user_version = \(version)") }
        try database.close()
        for error in [
            #expect(throws: CatalogError.self) { try Catalog(at: fixture.catalog) },
            #expect(throws: CatalogError.self) { try CatalogIndexer(at: fixture.catalog) },
        ] {
            #expect(error?.reason == .otherVersion && error?.description.contains("index again") == true)
        }
        let after = try DatabaseQueue(path: url.path)
        #expect(try after.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == version)
    }
}

struct PlainImageTests {
    /// They have few features or none, and nothing but colors for their prints.
    @Test func plainImagesFindThemselves() async throws {
        let folder = try TemporaryFolder()
        let colors: [(String, [UInt8])] = [
            ("black", [0, 0, 0]), ("white", [255, 255, 255]), ("gray", [128, 128, 128]), ("red", [200, 20, 20]),
            ("navy", [10, 10, 80]), ("yellow", [255, 255, 0]),
        ]
        func plain(_ color: [UInt8]) throws -> PixelBuffer {
            let pixels = Array(repeating: color, count: 300 * 200).flatMap(\.self)
            return try PixelBuffer(pixels, width: 300, height: 200, format: .rgb8)
        }
        var items = (0..<8).map { index in
            IndexItem(CatalogEntity(id: "\(index)"), image: .pixels(SampleImage.shapes(seed: UInt64(index))))
        }
        items += try colors.map { IndexItem(CatalogEntity(id: $0.0), image: .pixels(try plain($0.1))) }
        _ = try CatalogIndexer(at: folder.file("catalog")).index(items)
        let catalog = try Catalog(at: folder.file("catalog"))
        for (name, color) in colors {
            for effort in SearchEffort.allCases {
                let found = try await catalog.search(
                    matching: plain(color), options: SearchOptions(limit: 1, effort: effort))
                #expect(found.first?.entity.id == name && found.first?.distance == 0, "\(name), \(effort)")
            }
        }
    }
}
