import Catalogs
import FeaturePrints
import Foundation
import TestSupport
import Testing

struct ConditionTests {
    static let values = ["album", "a b", "\"", "\\", "and", "10..20", "", "é", "e\u{301}", "1969", "9.90", "-3", "x)"]

    @Test(arguments: [
        ("", Condition.everything),
        ("type = album", .isAnyOf(.type, ["album"])),
        ("type != album", .not(.isAnyOf(.type, ["album"]))),
        (#"artist in ("Delta Wren", low-lanterns)"#, .isAnyOf(.attribute("artist"), ["Delta Wren", "low-lanterns"])),
        ("attribute.type = x", .isAnyOf(.attribute("type"), ["x"])),
        (#""maker's \"name\"" = m1"#, .isAnyOf(.attribute(#"maker's "name""#), ["m1"])),
        ("price < 20", EntityField.attribute("price") < 20),
        ("price in 10..20", EntityField.attribute("price").isIn(10...20)),
        (
            "price in 10<..<20.5",
            .number(
                .attribute("price"),
                ValueRange(from: .init(10, isIncluded: false), to: .init(20.5, isIncluded: false)))
        ),
        (
            "released >= 1969-07-20",
            .date(.attribute("released"), ValueRange(from: .init("1969-07-20", isIncluded: true)))
        ),
        (
            "year > 1969",
            .any([
                .number(.attribute("year"), ValueRange(from: .init(1969, isIncluded: false))),
                .date(.attribute("year"), ValueRange(from: .init("1969", isIncluded: false))),
            ])
        ),
        ("title starts with Slow", .hasPrefix(.title, "Slow")),
        (
            "within 1.5 km of (48.2082, -16.3738)",
            .within(kilometers: 1.5, of: GeoPoint(latitude: 48.2082, longitude: -16.3738))
        ),
        (
            #"within 500 m of (-90, 180) by (lat, "the longitude")"#,
            .within(
                kilometers: 0.5, of: GeoPoint(latitude: -90, longitude: 180), latitude: .attribute("lat"),
                longitude: .attribute("the longitude"))
        ),
        ("NOT exists year", .not(.exists(.attribute("year")))),
        (
            "type = a or type = b and label = c",
            .any([.isAnyOf(.type, ["a"]), .all([.isAnyOf(.type, ["b"]), .isAnyOf(.label, ["c"])])])
        ),
        (
            "(type = a or type = b) and not label = c",
            .all([.any([.isAnyOf(.type, ["a"]), .isAnyOf(.type, ["b"])]), .not(.isAnyOf(.label, ["c"]))])
        ),
    ])
    func textIsRead(text: String, condition: Condition) throws {
        #expect(try Condition(parsing: text) == condition)
        #expect(try Condition(parsing: condition.description) == condition, "\(condition)")
    }

    @Test(arguments: [
        ("price <", "expected a value, found the end"), ("= 3", "expected the name of a field, found “=”"),
        ("price << 3", "expected a value, found “<”"),
        ("price < cheap", "expected numbers, or dates such as 1969-07-20, found “cheap”"),
        ("price 3", "expected =, !=, <, <=, >, >=, “in” or “starts with” after “price”, found “3”"),
        ("type = a type = b", "expected “and”, “or” or the end, found “type”"),
        ("(type = a", "expected “)”, found the end"), ("type = \"a", "a double quote is not closed"),
        ("type = ä;b", "“;” has to stand in double quotes"), ("type in a", "expected a list"),
        ("within 5 of (1, 2)", "expected “km” or “m”, found “of”"),
        ("within -5 km of (1, 2)", "expected a distance such as 5 km, found “-5”"),
        ("within 5 km of (91, 2)", "expected a latitude in -90…90, found “91”"),
        ("within 5 km of (1, 180.5)", "expected a longitude in -180…180, found “180.5”"),
        (String(repeating: "not ", count: 100) + "type = a", "nested deeper than 64 levels"),
    ])
    func errorsSayWhatWasExpected(text: String, reason: String) {
        let error = #expect(throws: Condition.SyntaxError.self) { try Condition(parsing: text) }
        #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
    }

    private static func random(_ random: inout SeededGenerator, depth: Int = 0) -> Condition {
        func text() -> String { values.randomElement(using: &random) ?? "" }
        func field() -> EntityField {
            [.id, .type, .title, .subtitle, .label, .attribute(text()), .attribute("type")].randomElement(
                using: &random) ?? .id
        }
        func number() -> ValueRange<Double>.End? {
            Bool.random(using: &random)
                ? .init(Double.random(in: -10...10, using: &random), isIncluded: .random(using: &random)) : nil
        }
        func date() -> ValueRange<String>.End? {
            let dates = ["1969", "1969-07", "1969-07-20", "1969-07-20T20:17Z"]
            return Bool.random(using: &random)
                ? .init(dates.randomElement(using: &random) ?? "", isIncluded: .random(using: &random)) : nil
        }
        func parts() -> [Condition] {
            (0..<Int.random(in: 2...3, using: &random)).map { _ in Self.random(&random, depth: depth + 1) }
        }
        func degrees(_ most: Double) -> Double { Double.random(in: -most...most, using: &random) }
        switch Int.random(in: 0..<(depth > 3 ? 6 : 9), using: &random) {
        case 0: return .isAnyOf(field(), (0..<Int.random(in: 0...3, using: &random)).map { _ in text() })
        case 1: return .hasPrefix(field(), text())
        case 2: return .number(field(), ValueRange(from: .init(0.5, isIncluded: true), to: number()))
        case 3: return .date(field(), ValueRange(from: date(), to: .init("2000-01-01", isIncluded: false)))
        case 4: return .exists(field())
        case 5:
            return .within(
                kilometers: Double.random(in: 0...15_000, using: &random),
                of: GeoPoint(latitude: degrees(90), longitude: degrees(180)),
                latitude: .random(using: &random) ? .attribute("latitude") : field())
        case 6: return .not(Self.random(&random, depth: depth + 1))
        case 7: return .all(parts())
        default: return .any(parts())
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func everyConditionIsItsText(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let condition = Self.random(&random)
            let parsed = try Condition(parsing: condition.description)
            #expect(parsed.description.utf8.elementsEqual(condition.description.utf8), "seed \(seed): \(condition)")
            let coded = try JSONDecoder().decode([Condition].self, from: JSONEncoder().encode([condition]))
            #expect(coded[0].description.utf8.elementsEqual(condition.description.utf8), "seed \(seed): \(condition)")
        }
    }

    static let entities: [CatalogEntity] = (0..<60).map { index in
        var attributes = ["price": ["9.90", "20", "1e3", "-3", "cheap", "0x10", "12,5"][index % 7]]
        if index % 2 == 0 {
            attributes["released"] =
                ["1969", "1969-07-20", "1969-07-20T20:17Z", "1970-01-01", "soon", "19690"][index / 2 % 6]
        }
        if index % 5 == 0 { attributes["type"] = "x" }
        if index % 3 != 0 {
            attributes["latitude"] = ["48.2", "-90", "0", "91", "north"][index % 5]
            attributes["longitude"] = ["16.37", "180", "-180", "-179.9", "1e3"][index / 2 % 5]
        }
        return CatalogEntity(
            id: "e\(index)", type: index % 3 == 0 ? nil : ["album", "e\u{301}"][index % 2],
            title: index % 4 == 0 ? nil : ["Slow", "slow", "Slower é", "é"][index % 4], subtitle: "s\(index / 10)",
            labels: index % 6 == 0 ? [] : ["l\(index % 4)", "all", "all"], attributes: attributes)
    }

    /// What a condition means, without SQL.
    static func holds(_ condition: Condition, of entity: CatalogEntity) -> Bool {
        func texts(_ field: EntityField) -> [String] {
            switch field {
            case .id: [entity.id]
            case .type: entity.type.map { [$0] } ?? []
            case .title: entity.title.map { [$0] } ?? []
            case .subtitle: entity.subtitle.map { [$0] } ?? []
            case .label: entity.labels
            case .attribute(let name):
                entity.attributes.filter { $0.key.utf8.elementsEqual(name.utf8) }.map(\.value)
            }
        }
        switch condition.form {
        case .isAnyOf(let field, let values):
            return texts(field).contains { text in values.contains { $0.utf8.elementsEqual(text.utf8) } }
        case .hasPrefix(let field, let prefix): return texts(field).contains { $0.utf8.starts(with: prefix.utf8) }
        case .exists(let field): return !texts(field).isEmpty
        case .number(let field, let range):
            let numbers = texts(field).filter { $0 != "0x10" && field != .id }.compactMap(Double.init)
            return numbers.contains { number in
                (range.lower.map { $0.isIncluded ? number >= $0.value : number > $0.value } ?? true)
                    && (range.upper.map { $0.isIncluded ? number <= $0.value : number < $0.value } ?? true)
            }
        case .date(let field, let range):
            return texts(field).contains { text in
                let digits = text.utf8.prefix { (0x30...0x39).contains($0) }.count
                guard digits == 4, text.utf8.count == 4 || text.dropFirst(4).hasPrefix("-"), field != .id else {
                    return false
                }
                let isAfter = range.lower.map {
                    $0.isIncluded ? text >= $0.value : text > $0.value && !text.hasPrefix($0.value)
                }
                let isBefore = range.upper.map {
                    $0.isIncluded ? text <= $0.value || text.hasPrefix($0.value) : text < $0.value
                }
                return (isAfter ?? true) && (isBefore ?? true)
            }
        case .within(let kilometers, let point, let latitude, let longitude):
            func degrees(_ field: EntityField) -> [Double] {
                texts(field).filter { $0 != "0x10" && field != .id }.compactMap(Double.init)
            }
            return degrees(latitude).contains { y in
                degrees(longitude).contains { x in
                    abs(y) <= 90 && abs(x) <= 180
                        && GeoTests.kilometers(GeoPoint(latitude: y, longitude: x), point) <= kilometers
                }
            }
        case .not(let condition): return !holds(condition, of: entity)
        case .all(let parts): return parts.allSatisfy { holds($0, of: entity) }
        case .any(let parts): return parts.contains { holds($0, of: entity) }
        }
    }

    @Test func aCatalogFindsWhatSatisfiesIt() async throws {
        let folder = try TemporaryFolder()
        let model = try CatalogFixture.model { _ in }
        let url = folder.url.appendingPathComponent("catalog")
        let indexer = try CatalogIndexer(at: url, model: model)
        let print = try model.featurePrint(for: SampleImage.blocks(seed: 1))
        let items = Self.entities.map { IndexItem($0, image: .print(print)) }
        #expect(try indexer.index(items).added == items.count)
        let catalog = try Catalog(at: url, model: model)
        var conditions = [
            "price < 20", "price <= 20", "price in -3..9.90", "price > 20", "released >= 1969-07-20", "released < 1970",
            "released > 1969-07-20", "released <= 1969-07-20", "released <= 1969-07", "exists released", "label = all",
            "label = l1 and label = all", "not exists type", "attribute.type = x", "title starts with Slow",
            "type = \"e\u{301}\"", "type = é", "id in (e3, e59, e60)", "nothing", "everything",
            "type = album and (price > 20 or not exists title)", "within 6000 km of (48, 16)",
            "within 20 km of (0, 179.95)", "not within 1 km of (-90, 0)", "within 30000 km of (0, 0)",
        ].map { (try? Condition(parsing: $0)) ?? .any([]) }
        var random = SeededGenerator(seed: 7)
        conditions += (0..<300).map { _ in Self.random(&random) }
        for condition in conditions {
            let expected = Self.entities.filter { Self.holds(condition, of: $0) }.map(\.id)
            let found = try await catalog.entities(where: condition, limit: 100).entities.map(\.id)
            #expect(found == expected, "\(condition)")
            // Where a field or words select the entities first, the condition is looked up for each of them.
            let labeled = try await catalog.entities(where: .label, isAnyOf: ["all"], condition: condition)
            #expect(
                labeled.map(\.id)
                    == Self.entities.filter { $0.labels.contains("all") && expected.contains($0.id) }.map(\.id),
                "\(condition)")
            let worded = try await catalog.search(text: "slow", limit: 100, condition: condition).map(\.id)
            #expect(
                Set(worded)
                    == Set(Self.entities.filter { $0.title?.lowercased().hasPrefix("slow") == true }.map(\.id))
                    .intersection(expected), "\(condition)")
        }
        // Pages, in the same order.
        var (pages, cursor) = ([String](), SearchCursor?.none)
        repeat {
            let page = try await catalog.entities(where: .exists(.type), limit: 7, after: cursor)
            pages += page.entities.map(\.id)
            cursor = page.next
        } while cursor != nil
        #expect(pages == Self.entities.filter { $0.type != nil }.map(\.id))
        #expect(try await catalog.verify().isEmpty)
    }
}
