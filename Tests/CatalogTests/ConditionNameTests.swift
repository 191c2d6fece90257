import Catalogs
import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing

/// Names in conditions that no entity has, or that differ by case.
@Suite struct ConditionNameTests {
    private let folder: TemporaryFolder
    private let catalog: Catalog

    init() async throws {
        folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url)
        let model = indexer.model
        let entities = [
            CatalogEntity(id: "a", type: "album", title: "A", attributes: ["Year": "1998", "size": "S", "Size": "1"]),
            CatalogEntity(id: "b", type: "single", title: "B", attributes: ["Year": "2001", "price": "19,90"]),
        ]
        let items = entities.enumerated().map { index, entity in
            let print = FeaturePrint(
                vector: (0..<model.dimension).map { $0 == index ? 1 : 0 }, model: model.identity)
            return IndexItem(entity, image: .print(print))
        }
        _ = try await indexer.run(over: items).report()
        catalog = try Catalog(at: folder.url)
    }

    private func ids(_ condition: String) async throws -> [String] {
        try await catalog.entities(where: Condition(parsing: condition)).entities.map(\.id)
    }

    @Test(arguments: [
        ("yaer = 1998", CatalogError.Reason.unknownAttribute("yaer", nearest: ["Year"])),
        ("not yaer = 1998", .unknownAttribute("yaer", nearest: ["Year"])),
        ("id = a or (titel starts with A)", .unknownAttribute("titel", nearest: ["title"])),
        ("color = red", .unknownAttribute("color")),
        ("SIZE = S", .unknownAttribute("SIZE", nearest: ["Size", "size"])),
        ("within 5 km of (48, 16)", .unknownAttribute("latitude")),
        ("exists year and color > 3", .unknownAttribute("color")),
        ("price < 20", .incomparable("price", value: "19,90")),
        ("not Price >= 1000", .incomparable("price", value: "19,90")),
        ("price > 2001-01-01 or type = album", .incomparable("price", value: "19,90")),
        ("not id > 6", .incomparable("id", value: "a")),
        ("id > 2001-01-01 or type = album", .incomparable("id", value: "a")),
    ])
    func unknownNamesAreErrorsEverywhere(text: String, reason: CatalogError.Reason) async throws {
        let (catalog, condition) = (catalog, try Condition(parsing: text))
        let query = try await catalog.query(for: SampleImage.blocks(seed: 1))
        let output = folder.file("out")
        let entrances: [@Sendable () async throws -> Void] = [
            { _ = try await catalog.entities(where: condition) },
            { _ = try await catalog.entities(where: .id, isAnyOf: ["a"], condition: condition) },
            { _ = try await catalog.reduceEntities(into: 0, where: condition) { count, _ in count += 1 } },
            { _ = try await catalog.search(text: "a", condition: condition) },
            { _ = try await catalog.suggestions(for: "a", condition: condition) },
            { _ = try await catalog.search(query, options: SearchOptions(condition: condition)) },
            { _ = try await catalog.facets(of: query, by: [.type], options: SearchOptions(condition: condition)) },
            { _ = try await catalog.duplicates(where: condition) },
            { _ = try await catalog.export(to: output, where: condition) },
        ]
        for (index, entrance) in entrances.enumerated() {
            let error = await #expect(throws: CatalogError.self, "\(index)") { try await entrance() }
            #expect(error?.reason == reason, "\(index)")
        }
    }

    /// In a table the values of a column decide what a comma means; here each text stays as it is.
    @Test func textsWrittenForNumbersAndDatesAreNoted() async throws {
        let indexer = try CatalogIndexer(at: folder.file("noted"))
        let texts = [
            ("plain", "19.90"), ("comma", "19,90"), ("currency", "19.90 €"), ("thousands", "1,234.50"),
            ("german", "12.05.2020"), ("american", "5/12/2020"), ("iso", "2020-05-12"), ("none", "2020-13-01"),
            ("version", "1.2.3"), ("name", "Apollo 11"), ("size", "XL"), ("isbn", "978-3-16-148410-0"),
        ]
        let print = FeaturePrint(
            vector: (0..<indexer.model.dimension).map { $0 == 0 ? 1 : 0 }, model: indexer.model.identity)
        let items = ["a", "b"].map { id in
            IndexItem(
                CatalogEntity(id: id, attributes: Dictionary(uniqueKeysWithValues: texts)), image: .print(print))
        }
        let notes = try await indexer.run(over: items).report().notes
        #expect(notes.allSatisfy { $0.subject == "entity “a”" })
        let names = notes.map { note in texts.first { note.text.hasPrefix("“\($0.0)” is “\($0.1)”") }?.0 ?? note.text }
        #expect(names == ["american", "comma", "currency", "german", "none", "thousands"])
        #expect(notes.filter { $0.text.contains("with dates") }.count == 3)
    }

    @Test func namesMatchWithoutRegardToCase() async throws {
        #expect(try await ids("year = 1998") == ["a"])
        #expect(try await ids("not YEAR = 1998") == ["b"])
        #expect(try await ids("Title = A and Type = album") == ["a"])
        #expect(try await ids("size = S") == ["a"], "the exact name, beside one that differs by case")
        #expect(try await catalog.entities(where: .attribute("year"), isAnyOf: ["2001"]).map(\.id) == ["b"])
        let query = try await catalog.query(for: SampleImage.blocks(seed: 1))
        let years = try await catalog.facets(
            of: query, by: [.attribute("year")], options: SearchOptions(bounds: .none))
        #expect(years.map(\.field) == [.attribute("year")] && years[0].values.count == 2)
    }

    @Test func existsAllowsNamesThatNoEntityHas() async throws {
        #expect(try await ids("exists color").isEmpty)
        #expect(try await ids("not exists color") == ["a", "b"])
        #expect(try await ids("exists color and color = red").isEmpty)
        #expect(try await ids("exists price and price < 20").isEmpty)
        #expect(try await ids("price is number").isEmpty)
        #expect(try await ids("price = 20").isEmpty, "a value may be a text, such as the name of a band")
        #expect(try await ids("not price = 20").count == 2)
        #expect(try await ids("exists YEAR") == ["a", "b"])
    }

    @Test func unknownTypesAreToldToWhoAsks() async throws {
        let condition = try Condition(parsing: "type != albun and (type = Single or type = poster)")
        #expect(
            try await catalog.unknownTypes(in: condition).map(\.reason) == [
                .unknownType("albun", nearest: ["album"]), .unknownType("poster"),
            ])
        #expect(try await ids("type = albun").isEmpty)
    }

    @Test func aCatalogWithoutEntitiesHasNoNames() async throws {
        let empty = folder.file("empty")
        _ = try await CatalogIndexer(at: empty).run(over: []).report()
        let page = try await Catalog(at: empty).entities(where: Condition(parsing: "yaer = 1998 and type = x"))
        #expect(page.entities.isEmpty)
        #expect(try await Catalog(at: empty).unknownTypes(in: Condition(parsing: "type = x")).isEmpty)
    }
}
