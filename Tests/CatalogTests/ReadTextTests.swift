import Catalogs
import Imaging
import TestSupport
import Testing

/// Entities that lines of text name, beside those that the picture shows.
struct ReadTextTests {
    private static let plain = SampleImage.shapes(seed: 901, width: 320, height: 240, count: 12)

    private static let entities: [(title: String?, subtitle: String?, attributes: [String: String])] = [
        ("Copper Horizon", "Delta Wren", ["catalog": "LK-2041"]), ("The Remains of the Night", "Ada Fontaine", [:]),
        ("Night", "Ada Fontaine", [:]), ("Hölderlins Garten", nil, ["isbn": "9780306406157"]),
        ("真夜中のバス", nil, [:]), ("Winter Journey", "First edition", [:]), ("Winter Journey", "Second edition", [:]),
        ("Of", nil, [:]), (nil, nil, ["color": "vermilion", "year": "1998", "released": "1998-05-12"]),
    ]

    private static func catalog(_ folder: TemporaryFolder, features: Bool = true) async throws -> Catalog {
        let indexer = try CatalogIndexer(at: folder.url, localFeatures: features)
        for (index, entity) in entities.enumerated() {
            let entity = CatalogEntity(
                id: "t\(index)", type: index < 4 ? "first" : "second", title: entity.title, subtitle: entity.subtitle,
                attributes: entity.attributes)
            try await indexer.upsert(IndexItem(entity, image: .pixels(CoverFixture.cover(index))))
        }
        return try Catalog(at: folder.url)
    }

    @Test(arguments: [
        (["COPPER", "HORIZON"], ["t0"]), (["a picture of", "Copper Horizon – Delta Wren", "12.50"], ["t0"]),
        // One letter was misread, and case and diacritics do not matter.
        (["HOLDERL1NS GARTEN"], ["t3"]), (["Copper Horizom", "Delta Wren"], ["t0"]),
        // Two titles have the word; the one that is read counts.
        (["The Remains", "of the Night", "Ada Fontaine"], ["t1"]),
        (["真夜中のバス"], ["t4"]), (["ISBN 978-0-306-40615-7"], ["t3"]), (["ISBN 978-0-306-40615-8"], []),
        (["No. LK-2041 Stereo"], ["t0"]),
        // Neither an author's name, nor short words, nor a color are an entity's name.
        (["Ada Fontaine"], []), (["of the", "of"], []), (["vermilion", "1998", "1998-05-12"], []), ([""], []),
        (["\u{0} * \" ( OR NEAR"], []),
        // Words of a title among many others.
        (
            ["The copper price rose again yesterday while nobody in the market looked at the horizon of its investors"],
            []
        ),
    ])
    func textsFindTheEntitiesThatTheyName(texts: [String], expected: [String]) async throws {
        let folder = try TemporaryFolder()
        let catalog = try await Self.catalog(folder)
        for effort in SearchEffort.allCases {
            let found = try await catalog.search(
                matching: Self.plain, options: SearchOptions(effort: effort, texts: texts))
            #expect(found.map(\.id) == expected, "\(effort)")
            // The text alone gives 0.9 at most; how near the prints are adds a little.
            #expect(found.allSatisfy { $0.isNamedByText && $0.confidence < 0.92 && $0.outline == nil })
        }
    }

    /// Two editions of one title: each is as likely as the other.
    @Test func entitiesThatTheSameWordsNameShareTheirProbability() async throws {
        let folder = try TemporaryFolder()
        let catalog = try await Self.catalog(folder)
        var options = SearchOptions(bounds: MatchBounds(minConfidence: 0.1), texts: ["WINTER JOURNEY"])
        let found = try await catalog.search(matching: Self.plain, options: options)
        #expect(found.map(\.id).sorted() == ["t5", "t6"])
        #expect(found.allSatisfy { (0.2...0.5).contains($0.confidence) && !$0.isNamedByText })
        options.texts += ["Second edition"]
        #expect(try await catalog.search(matching: Self.plain, options: options).first?.id == "t6")
    }

    /// Titles that differ by a number, in digits or Roman numerals.
    @Test(arguments: ["2", "II"]) func aNumberTellsPartsOfASeriesApart(second: String) async throws {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url, localFeatures: false)
        let third = second == "2" ? "3" : "III"
        for (index, number) in ["", " \(second)", " \(third)"].enumerated() {
            let entity = CatalogEntity(id: "part\(index + 1)", title: "Copper Story" + number)
            try await indexer.upsert(IndexItem(entity, image: .pixels(CoverFixture.cover(index))))
        }
        let catalog = try Catalog(at: folder.url)
        for (text, expected) in [
            ("COPPER STORY", "part1"), ("Copper Story \(second)", "part2"),
            ("COPPER STORY \(third)", "part3"),
        ] {
            let found = try await catalog.search(matching: Self.plain, options: SearchOptions(texts: [text]))
            #expect(found.map(\.id) == [expected], "\(text)")
        }
    }

    @Test func textsJoinWhatThePictureShows() async throws {
        let folder = try TemporaryFolder()
        let catalog = try await Self.catalog(folder)
        let photograph = CoverFixture.photograph(of: 0).image
        let shown = try await catalog.search(matching: photograph)
        #expect(shown.map(\.id) == ["t0"] && !shown[0].isNamedByText)
        let same = try await catalog.search(
            matching: photograph, options: SearchOptions(texts: ["Copper Horizon", "Delta Wren"]))
        #expect(same.map(\.id) == ["t0"] && same[0].isNamedByText && same[0].confidence >= shown[0].confidence)
        #expect(same.first?.outline == shown.first?.outline)
        // A text that names another entity removes nothing.
        let both = try await catalog.search(
            matching: photograph, options: SearchOptions(texts: ["The Remains of the Night"]))
        #expect(both.map(\.id) == ["t0", "t1"] && both[0].confidence == shown[0].confidence)
        // The condition holds for texts as well; drawings of one style resemble each other.
        let options = SearchOptions(
            bounds: MatchBounds(minConfidence: 0.9), condition: .isAnyOf(.type, ["second"]),
            texts: ["Copper Horizon Delta Wren"])
        #expect(try await catalog.search(matching: photograph, options: options).isEmpty)
    }

    @Test func longTextsAreReadInPart() async throws {
        let folder = try TemporaryFolder()
        let catalog = try await Self.catalog(folder, features: false)
        let many = (0..<5_000).map { "w\($0)x" }
        let found = try await catalog.search(
            matching: Self.plain, options: SearchOptions(texts: ["Copper Horizon Delta Wren"] + many))
        #expect(found.map(\.id) == ["t0"])
        let one = SearchOptions(texts: [many.joined(separator: " ")])
        #expect(try await catalog.search(matching: Self.plain, options: one).isEmpty)
    }
}
