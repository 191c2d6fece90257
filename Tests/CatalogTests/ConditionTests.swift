import Catalogs
import FeaturePrints
import Foundation
import TestSupport
import Testing

struct ConditionTests {
    static let values = [
        "album", "a b", "\"", "\\", "and", "10..20", "", "é", "e\u{301}", "1969", "9.90", "-3", "x)",
        "'tis", "it's", "''", "all", "any", "is", "has", "inf", "number",
    ]

    /// The field is a whole number that a `Double` rounds.
    private static func whole(_ name: String, _ value: Int64) -> Condition {
        let end = ValueRange.End(value, isIncluded: true)
        return Condition(.whole(.attribute(name), ValueRange(from: end, to: end)))
    }

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
        ("title contains 'low M'", .contains(.title, "low M")),
        ("'contains' contains lo", .contains(.attribute("contains"), "lo")),
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
        ("title = 'Blue'", .isAnyOf(.title, ["Blue"])), ("title='it''s'", .isAnyOf(.title, ["it's"])),
        ("title = it's", .isAnyOf(.title, ["it's"])),
        (#"title in ('a "b"', "c 'd'", 'e\'f')"#, .isAnyOf(.title, [#"a "b""#, "c 'd'", "e'f"])),
        ("n > 9007199254740992", EntityField.attribute("n") > 9_007_199_254_740_992),
        ("n > 9007199254740992.00", EntityField.attribute("n") > 9_007_199_254_740_992),
        (
            "n in 1.0..9007199254740993.00",
            Condition(
                .whole(
                    .attribute("n"),
                    ValueRange(from: .init(1, isIncluded: true), to: .init(9_007_199_254_740_993, isIncluded: true))))
        ),
        ("'my price' < inf", EntityField.attribute("my price") < .infinity),
        ("price is number", .number(.attribute("price"), ValueRange())),
        ("all (price > 3)", .all([EntityField.attribute("price") > 3])),
        ("all = '3'", .isAnyOf(.attribute("all"), ["3"])),
        (
            "price = 9.9",
            .any([.isAnyOf(.attribute("price"), ["9.9"]), EntityField.attribute("price").isIn(9.9...9.9)])
        ),
        (
            "price in (x, 3e0, '3', 03)",
            .any([
                .isAnyOf(.attribute("price"), ["x", "3e0", "3", "03"]), EntityField.attribute("price").isIn(3...3),
            ])
        ),
        (
            "taken != 1969-07",
            .not(
                .any([
                    .isAnyOf(.attribute("taken"), ["1969-07"]),
                    .date(
                        .attribute("taken"),
                        ValueRange(from: .init("1969-07", isIncluded: true), to: .init("1969-07", isIncluded: true))),
                ]))
        ),
        (
            "n in (0.30000000000000004, 1.152921504606847e+18, 1152921504606846976)",
            .any([
                .isAnyOf(
                    .attribute("n"), ["0.30000000000000004", "1.152921504606847e+18", "1152921504606846976"]),
                EntityField.attribute("n").isIn(0.30000000000000004...0.30000000000000004),
                EntityField.attribute("n").isIn(1.152921504606847e+18...1.152921504606847e+18),
                whole("n", 1_152_921_504_606_847_000),
            ])
        ),
        (
            "n = 9007199254740993.0",
            .any([.isAnyOf(.attribute("n"), ["9007199254740993.0"]), whole("n", 9_007_199_254_740_993)])
        ),
        (
            "n in (99999999999999999999.0, 0.123456789012345678901)",
            .isAnyOf(.attribute("n"), ["99999999999999999999.0", "0.123456789012345678901"])
        ),
        ("type = 3", .isAnyOf(.type, ["3"])),
        ("has code 978-3-16-148410-0", .hasCode(["978-3-16-148410-0"])),
        ("has code in ('(01)04006381333931', x)", .hasCode(["(01)04006381333931", "x"])),
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
        ("price 3", "expected =, !=, <, <=, >, >=, “in”, “starts with” or “contains” after “price”, found “3”"),
        ("type = a type = b", "expected “and”, “or” or the end, found “type”"),
        ("(type = a", "expected “)”, found the end"), ("type = \"a", "a double quote is not closed"),
        ("type = 'a", "a single quote is not closed"), ("type is cheap", "expected “number” or “date”, found “cheap”"),
        ("n > 18446744073709551615", "“18446744073709551615” is compared exactly with whole numbers of 64 bits alone"),
        ("n in 1.5..9007199254740993", "“9007199254740993” is compared exactly"),
        ("has x", "expected “code”, found “x”"), ("released < 2024-02-30", "expected numbers, or dates"),
        ("type = ä;b", "“;” has to stand in quotes"), ("type in a", "expected a list"),
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

    static func random(_ random: inout SeededGenerator, depth: Int = 0) -> Condition {
        func text() -> String { values.randomElement(using: &random) ?? "" }
        func field() -> EntityField {
            [.id, .type, .title, .subtitle, .label, .attribute(text()), .attribute("type")].randomElement(
                using: &random) ?? .id
        }
        /// Ids are no numbers or dates.
        func comparable() -> EntityField {
            let field = field()
            return field == .id ? .title : field
        }
        func number() -> ValueRange<Double>.End? {
            let number =
                [.infinity, -.infinity, Double.random(in: -10...10, using: &random)]
                .randomElement(using: &random) ?? 0
            return Bool.random(using: &random) ? .init(number, isIncluded: .random(using: &random)) : nil
        }
        func date() -> ValueRange<String>.End? {
            let dates = releases.filter { span($0) != nil } + ["1969-07", "1969-07-20T20:17+00:00"]
            return Bool.random(using: &random)
                ? .init(dates.randomElement(using: &random) ?? "", isIncluded: .random(using: &random)) : nil
        }
        func parts() -> [Condition] {
            (0..<Int.random(in: 0...3, using: &random)).map { _ in Self.random(&random, depth: depth + 1) }
        }
        func degrees(_ most: Double) -> Double { Double.random(in: -most...most, using: &random) }
        switch Int.random(in: 0..<(depth > 3 ? 8 : 11), using: &random) {
        case 0: return .isAnyOf(field(), (0..<Int.random(in: 0...3, using: &random)).map { _ in text() })
        case 1: return .hasPrefix(field(), text())
        case 2: return .number(comparable(), ValueRange(from: number(), to: number()))
        case 3: return .date(comparable(), ValueRange(from: date(), to: date()))
        case 4: return .exists(field())
        case 5:
            return .within(
                kilometers: Double.random(in: 0...15_000, using: &random),
                of: GeoPoint(latitude: degrees(90), longitude: degrees(180)),
                latitude: .random(using: &random) ? .attribute("latitude") : comparable())
        case 6: return .hasCode((0..<Int.random(in: 0...2, using: &random)).map { _ in text() } + ["4006381333931"])
        case 7: return .contains(field(), String(text().suffix(2)))
        case 8: return .not(Self.random(&random, depth: depth + 1))
        case 9: return .all(parts())
        default: return .any(parts())
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func everyConditionIsItsText(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let condition = Self.random(&random)
            let parsed = try Condition(parsing: condition.description)
            #expect(parsed == condition, "seed \(seed): \(condition)")
            #expect(parsed.description.utf8.elementsEqual(condition.description.utf8), "seed \(seed): \(condition)")
            let coded = try JSONDecoder().decode([Condition].self, from: JSONEncoder().encode([condition]))
            #expect(coded[0] == condition, "seed \(seed): \(condition)")
            #expect(coded[0].description.utf8.elementsEqual(condition.description.utf8), "seed \(seed): \(condition)")
        }
    }

    /// What no text states is not coded as another condition.
    @Test(arguments: [
        EntityField.title < .nan, .date(.title, ValueRange(from: .init("soon", isIncluded: true))),
        .date(.title, ValueRange(to: .init("2023-02-30", isIncluded: true))),
        .within(kilometers: -1, of: GeoPoint(latitude: 0, longitude: 0)),
        .within(kilometers: 1, of: GeoPoint(latitude: 91, longitude: 0)),
        (0..<100).reduce(.exists(.title)) { condition, _ in .not(condition) },
    ])
    func conditionsThatNoTextStatesAreNotCoded(condition: Condition) {
        let error = #expect(throws: EncodingError.self) { try JSONEncoder().encode([condition]) }
        #expect("\(String(describing: error))".contains("is not a condition"))
    }

    /// A time by Foundation's calendar.
    static func span(_ text: String) -> (start: Date, end: Date)? {
        let pattern =
            /([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?)?(Z|[+-][0-9:]+)?)?)?/
        guard let parts = text.wholeMatch(of: pattern)?.output else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        func number(_ text: Substring?) -> Int { text.flatMap { Int($0) } ?? 0 }
        let components = DateComponents(
            year: number(parts.1), month: parts.2 == nil ? 1 : number(parts.2),
            day: parts.3 == nil ? 1 : number(parts.3),
            hour: number(parts.4), minute: number(parts.5), second: number(parts.6))
        guard components.isValidDate(in: calendar), let local = calendar.date(from: components) else { return nil }
        let zone = (parts.7 ?? "Z").filter { $0 != ":" }
        let east = zone == "Z" ? 0 : (number(zone.dropFirst().prefix(2)) * 60 + number(zone.dropFirst(3))) * 60
        let start = local.addingTimeInterval(TimeInterval(zone.hasPrefix("-") ? east : -east))
        if parts.4 != nil { return (start, start) }
        let unit: Calendar.Component = parts.2 == nil ? .year : parts.3 == nil ? .month : .day
        return calendar.date(byAdding: unit, value: 1, to: start).map { (start, $0) }
    }

    static let releases = [
        "1969", "1969-07-20", "1969-07-20T20:17Z", "1970-01-01", "soon", "19690", "1969-07-20T22:17+02:00",
        "1969-07-20T23:00-0200", "1969-07-21+02:00", "1969-02-30", "1969-07-20 20:17", "1969-07-20T20:17:01Z",
        "1969-07-20T25:00Z", "2000-02-29", "1968-12-31T23:30-01:00",
    ]

    @Test func datesAreThoseOfTheCalendar() {
        var random = SeededGenerator(seed: 54)
        for _ in 0..<2000 {
            func number(_ range: ClosedRange<Int>, _ digits: Int) -> String {
                let text = String(Int.random(in: range, using: &random))
                return String(repeating: "0", count: digits - text.count) + text
            }
            var text = number(1600...2400, 4)
            if Bool.random(using: &random) {
                text += "-" + number(0...13, 2) + "-" + number(0...32, 2)
                if Bool.random(using: &random) { text += "T" + number(0...25, 2) + ":" + number(0...61, 2) }
                text += ["", "Z", "+05:30", "-03:00"].randomElement(using: &random) ?? ""
            }
            let span = DateSpan(text)
            // Foundation takes the Julian calendar's days for invalid, and its hour 24 for one of another day.
            if text.contains("T24:") { continue }
            #expect(span?.start == Self.span(text)?.start.timeIntervalSince1970, "\(text)")
            #expect(span?.end == Self.span(text)?.end.timeIntervalSince1970, "\(text)")
        }
        #expect(DateSpan("2024-05-01T10:00+02:00")?.start == DateSpan("2024-05-01 08:00:00.000 UTC")?.start)
        #expect(DateSpan("2024-05-01T24:00")?.start == DateSpan("2024-05-02")?.start)
    }

    static let entities: [CatalogEntity] = (0..<60).map { index in
        var attributes = ["price": ["9.90", "20", "1e3", "-3", "cheap", "0x10", "12,5"][index % 7]]
        if index % 2 == 0 {
            attributes["released"] = releases[index / 2 % releases.count]
        }
        if index % 7 == 0 { attributes["EAN"] = ["4006381333931", "it's", "4006381-333931;96385074"][index % 3] }
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
        func plain(_ text: String) -> String {
            text.lowercased().replacing("e\u{301}", with: "e")
        }
        switch condition.form {
        case .isAnyOf(let field, let values):
            return texts(field).contains { text in
                values.contains { field == .id ? $0.utf8.elementsEqual(text.utf8) : plain($0) == plain(text) }
            }
        case .hasPrefix(let field, let prefix):
            return texts(field).contains { text in
                field == .id ? text.utf8.starts(with: prefix.utf8) : plain(text).hasPrefix(plain(prefix))
            }
        case .contains(let field, let part):
            return texts(field).contains { text in
                field == .id ? (part.isEmpty || text.contains(part)) : part.isEmpty || plain(text).contains(plain(part))
            }
        case .exists(let field): return !texts(field).isEmpty
        case .hasCode(let codes):
            return entity.productCodes.contains { codes.flatMap(ProductCode.readings(of:)).contains($0) }
        case .number(let field, let range):
            let numbers = texts(field).filter { $0 != "0x10" && field != .id }.compactMap(Double.init)
            return numbers.contains { number in
                (range.lower.map { $0.isIncluded ? number >= $0.value : number > $0.value } ?? true)
                    && (range.upper.map { $0.isIncluded ? number <= $0.value : number < $0.value } ?? true)
            }
        case .whole(let field, let range):
            return texts(field).compactMap { Int64($0) }.contains { number in
                (range.lower.map { $0.isIncluded ? number >= $0.value : number > $0.value } ?? true)
                    && (range.upper.map { $0.isIncluded ? number <= $0.value : number < $0.value } ?? true)
            }
        case .date(let field, let range):
            let ends = (range.lower.map { span($0.value) }, range.upper.map { span($0.value) })
            return texts(field).contains { text in
                guard field != .id, let own = span(text)?.start else { return false }
                let isAfter = ends.0.map { end in
                    guard let end, let isIncluded = range.lower?.isIncluded else { return false }
                    return isIncluded ? own >= end.start : end.start == end.end ? own > end.start : own >= end.end
                }
                let isBefore = ends.1.map { end in
                    guard let end, let isIncluded = range.upper?.isIncluded else { return false }
                    return !isIncluded ? own < end.start : end.start == end.end ? own <= end.start : own < end.end
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
            "released > 1969-07-20T20:17Z", "released <= '1969-07-20T22:17+02:00'", "released is date",
            "price is number", "price < inf", "price >= -inf", "price > inf", "has code 04006381333931",
            "not has code in (96385074, \"it's\")", "within inf km of (0, 0)",
            "type = \"e\u{301}\"", "type = é", "id in (e3, e59, e60)", "nothing", "everything",
            "type = album and (price > 20 or not exists title)", "within 6000 km of (48, 16)",
            "within 20 km of (0, 179.95)", "not within 1 km of (-90, 0)", "within 30000 km of (0, 0)",
        ].map { (try? Condition(parsing: $0)) ?? .any([]) }
        var random = SeededGenerator(seed: 7)
        conditions += [
            EntityField.attribute("price") < .nan, !(EntityField.attribute("price") > .nan),
            .date(.attribute("released"), ValueRange(from: .init("soon", isIncluded: true))),
        ]
        conditions += (0..<300).map { _ in Self.random(&random) }
        for condition in conditions {
            // A field that no entity has is an error unless asked for by “exists”, which changes nothing here.
            let condition = condition.tests.reduce(condition) { $0 && (.everything || .exists($1.field)) }
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
