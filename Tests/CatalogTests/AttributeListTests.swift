import CatalogEntities
import Catalogs
import DefaultModel
import FeaturePrints
import Foundation
import TestSupport
import Testing

/// Attributes that are lists, by themselves and with conditions, facets, orders and pages, against a plain reference.
struct AttributeListTests {
    @Test func textsOfLists() throws {
        for (json, text, values) in [
            (#"["red", "Blue"]"#, #"["red","Blue"]"#, ["red", "Blue"]),
            (#"[38, 39.50, true, "38", null]"#, #"[38,39.5,true,"38"]"#, ["38", "39.5", "true"]),
            (#"["a/b", "a \"b\"", "é\n"]"#, #"["a/b","a \"b\"","é\n"]"#, ["a/b", "a \"b\"", "é\n"]),
            (#"[]"#, "[]", []), (#"["", 1]"#, #"["",1]"#, ["1"]),
            (#"[[1, 2], {"a": 1}]"#, #"["[1,2]","a=1"]"#, ["[1,2]", "a=1"]),
            (#"[12345678901234567890123]"#, #"["12345678901234567890123"]"#, ["12345678901234567890123"]),
        ] {
            let value = try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
            #expect(value.text == text)
            #expect(AttributeList.texts(of: value.text) == values)
        }
        for text in ["", "[", "[]]", "[red]", "a [b]", #"{"a":1}"#, "[[1]]", #"[{"a":1}]"#] {
            #expect(AttributeList.texts(of: text) == [text])
        }
    }

    @Test func emptyTextsAreNoValues() async throws {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.file("catalog"), localFeatures: false)
        let entity = CatalogEntity(
            id: "a", type: "", title: "", subtitle: "", labels: ["", "b"], attributes: ["c": "", "d": "e"])
        try indexer.index([IndexItem(entity, image: .print(try Self.unitPrint()))])
        try await indexer.update(["a"]) { $0.attributes["f"] = "" }
        let stored = try await Catalog(at: folder.file("catalog")).entities(for: ["a"])
        #expect(stored == [CatalogEntity(id: "a", labels: ["b"], attributes: ["d": "e"])])
    }

    private static func unitPrint() throws -> FeaturePrint {
        let model = try FeaturePrintModel.default()
        return FeaturePrint(vector: [1] + [Float](repeating: 0, count: model.dimension - 1), model: model.identity)
    }

    private struct Model {
        let id: String
        let tags: [String]?
        let sizes: [Double]?

        var entity: CatalogEntity {
            var attributes: [String: String] = [:]
            if let tags { attributes["tags"] = JSONValue.array(tags.map { .string($0) }).text }
            if let sizes {
                attributes["size"] =
                    sizes.count == 1 ? "\(sizes[0])" : JSONValue.array(sizes.map { .number($0) }).text
            }
            return CatalogEntity(id: id, attributes: attributes)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func conditionsFacetsAndOrders(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let names = ["red", "Blue", "green", "teal"]
        let models = (0..<200).map { index in
            Model(
                id: "\(index)",
                tags: Bool.random(using: &random)
                    ? nil
                    : (0..<Int.random(in: 0...3, using: &random)).map { _ in names.randomElement(using: &random)! },
                sizes: Int.random(in: 0..<4, using: &random) == 0
                    ? nil
                    : (0..<Int.random(in: 1...3, using: &random)).map { _ in
                        Double(Int.random(in: 0...30, using: &random))
                    })
        }
        let folder = try TemporaryFolder()
        let print = try Self.unitPrint()
        try CatalogIndexer(at: folder.file("catalog"), localFeatures: false).index(
            models.map { IndexItem($0.entity, image: .print(print)) })
        let catalog = try Catalog(at: folder.file("catalog"))
        #expect(try await catalog.verify().isEmpty)

        let conditions: [(String, (Model) -> Bool)] = [
            ("tags = blue", { $0.tags?.contains("Blue") == true }),
            ("tags != blue", { $0.tags?.contains("Blue") != true }),
            ("tags in (red, teal)", { $0.tags?.contains { ["red", "teal"].contains($0) } == true }),
            ("exists tags", { $0.tags?.isEmpty == false }),
            ("size > 20", { $0.sizes?.contains { $0 > 20 } == true }),
            (
                "size >= 5 and size < 12 and tags = red",
                {
                    $0.sizes?.contains { $0 >= 5 } == true && $0.sizes?.contains { $0 < 12 } == true
                        && $0.tags?.contains("red") == true
                }
            ),
            ("not size > 20", { $0.sizes?.contains { $0 > 20 } != true }),
            ("tags starts with te", { $0.tags?.contains("teal") == true }),
        ]
        for (text, holds) in conditions {
            let condition = try Condition(parsing: text)
            let expected = models.filter(holds)
            let found = try await catalog.entities(where: condition, limit: 1000).entities.map(\.id)
            #expect(found == expected.map(\.id), "seed \(seed), \(text)")
            for few in [0, 10_000] {
                let facets = try await catalog.facets(where: condition, by: [.attribute("tags")], few: few).facets
                let counts = Dictionary(
                    uniqueKeysWithValues: (facets?.first?.values ?? []).map { ($0.value, $0.count) })
                let reference = Dictionary(
                    expected.flatMap { Set($0.tags ?? []) }.map { ($0, 1) }, uniquingKeysWith: +)
                #expect(counts == reference, "seed \(seed), \(text), few \(few)")
            }
            for isDescending in [false, true] {
                for walk in [0, 10_000] {
                    var (pages, place): ([String], EntityPlace?) = ([], nil)
                    repeat {
                        let page = try #require(
                            try await catalog.page(
                                where: condition,
                                order: EntityOrder(field: .attribute("size"), isDescending: isDescending),
                                limit: 7, after: place, walk: walk))
                        pages += page.entities.map(\.id)
                        place = page.next
                    } while place != nil
                    #expect(pages.count == expected.count && Set(pages) == Set(expected.map(\.id)), "\(seed) \(text)")
                    let first = Dictionary(uniqueKeysWithValues: models.map { ($0.id, $0.sizes?.first) })
                    let values = pages.map { first[$0] ?? nil }
                    #expect(values.firstIndex(of: nil).map { values[$0...].allSatisfy { $0 == nil } } ?? true)
                    let numbers = values.compactMap(\.self)
                    #expect(numbers == numbers.sorted { isDescending ? $0 > $1 : $0 < $1 }, "\(seed) \(text)")
                }
            }
        }
        let all = try await catalog.facets(where: .everything, by: [.attribute("tags")]).facets?.first?.values ?? []
        #expect(all.map(\.count).reduce(0, +) == models.reduce(0) { $0 + Set($1.tags ?? []).count })
    }

    @Test func codesInLists() async throws {
        let folder = try TemporaryFolder()
        let print = try Self.unitPrint()
        let entity = CatalogEntity(id: "a", attributes: ["gtin": #"["5449000000996","978-0-306-40615-7"]"#])
        try CatalogIndexer(at: folder.file("catalog"), localFeatures: false).index([
            IndexItem(entity, image: .print(print))
        ])
        let catalog = try Catalog(at: folder.file("catalog"))
        for code in ["05449000000996", "0306406152"] {
            #expect(try await catalog.entities(where: .hasCode([code])).entities.map(\.id) == ["a"])
        }
    }
}
