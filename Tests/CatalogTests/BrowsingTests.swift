import Catalogs
import FeaturePrints
import Foundation
import TestSupport
import Testing

/// Lists by filters, texts and orders, in pages with facets, against plain loops over the entities.
struct BrowsingTests {
    /// Entities with values of all kinds, and a catalog of them.
    private static func catalog(
        _ count: Int, seed: UInt64, _ folder: TemporaryFolder
    ) async throws -> (Catalog, CatalogIndexer, [CatalogEntity]) {
        var random = SeededGenerator(seed: seed)
        func one(_ values: [String?]) -> String? { values.randomElement(using: &random) ?? nil }
        let entities = (0..<count).map { index in
            var attributes: [String: String] = [:]
            attributes["price"] = one(["9.90", "9.9", "-3", "1e2", "free", "Über", "100", nil, "\(index)"])
            attributes["released"] = one([
                "1998", "1998-05", "1998-05-12", "1998-05-12T23:00-05:00", "soon", nil, "2004-01-01", "1970",
            ])
            attributes["stock"] = one(["true", "false"])
            // Many values, each in two spellings.
            attributes["sku"] = index % 2 == 0 ? "Sku \(index / 2 * 7 % 90)" : "SKU \(index * 7 % 90)"
            return CatalogEntity(
                id: "\(index * 7919 % 1009)é\(index)", type: one(["album", "Poster", nil]),
                title: one(["Night Bus", "night train", "Łódź bus", "Zebra", nil, "The bus at night", "New"]),
                labels: ["new", "sold", "Sold"].filter { _ in Bool.random(using: &random) }, attributes: attributes)
        }
        let indexer = try CatalogIndexer(at: folder.url)
        try await add(entities, indexer)
        return (try Catalog(at: folder.url), indexer, entities)
    }

    private static func add(_ entities: [CatalogEntity], _ indexer: CatalogIndexer) async throws {
        let model = indexer.model
        let items = entities.map { entity in
            var vector = [Float](repeating: 0, count: model.dimension)
            vector[0] = 1
            return IndexItem(entity, image: .print(FeaturePrint(vector: vector, model: model.identity)))
        }
        _ = try await indexer.run(over: items).report()
    }

    private static let conditions: [(Condition, @Sendable (CatalogEntity) -> Bool)] = [
        (.everything, { _ in true }),
        (.isAnyOf(.type, ["poster"]), { $0.type == "Poster" }),
        (.isAnyOf(.label, ["sold"]), { $0.labels.contains { $0.lowercased() == "sold" } }),
        (
            EntityField.attribute("price").isIn(-3...50),
            { $0.attributes["price"].flatMap { Double($0) }.map { (-3...50).contains($0) } ?? false }
        ),
        (
            EntityField.attribute("price") > 9.9 && .not(.isAnyOf(.type, ["album"])),
            { ($0.attributes["price"].flatMap { Double($0) } ?? 0) > 9.9 && $0.type != "album" }
        ),
        (.isAnyOf(.type, ["none"]), { _ in false }),
    ]

    private static let texts: [(String?, @Sendable (CatalogEntity) -> Bool)] = [
        (nil, { _ in true }),
        (
            "night b",
            { ["Night Bus", "The bus at night"].contains($0.title) }
        ),
        ("lodz", { $0.title == "Łódź bus" }),
        ("new", { $0.title == "New" || $0.labels.contains("new") }),
        ("!?", { _ in false }),
    ]

    /// How an entity compares in an order: the part, its number, its text.
    private static func key(_ entity: CatalogEntity, _ order: EntityOrder) -> (Int, Double, [UInt8]) {
        let value =
            switch order.field {
            case .id: Optional(entity.id)
            case .type: entity.type
            case .title: entity.title
            case .attribute(let name): entity.attributes[name]
            default: String?.none
            }
        guard let value else { return (2, 0, []) }
        if order.field == .id { return (1, 0, Array(value.utf8)) }
        let number =
            if order.comparesDates {
                DateSpan(value)?.start
            } else {
                value.first?.isLetter == true ? nil : Double(value)
            }
        let folded = Array(TextFolding.folded(value).utf8)
        return number.map { (0, $0, folded) } ?? (1, 0, folded)
    }

    private static func sorted(_ entities: [CatalogEntity], _ order: EntityOrder?) -> [CatalogEntity] {
        guard let order else { return entities }
        let keyed = entities.enumerated().map { (place: $0.offset, entity: $0.element, key: key($0.element, order)) }
        return keyed.sorted { a, b in
            if a.key.0 != b.key.0 { return a.key.0 < b.key.0 }
            if a.key.0 == 2 { return a.place < b.place }
            let (low, high) = order.isDescending ? (b, a) : (a, b)
            if low.key.1 != high.key.1 { return low.key.1 < high.key.1 }
            if low.key.2 != high.key.2 { return low.key.2.lexicographicallyPrecedes(high.key.2) }
            return low.place < high.place
        }.map(\.entity)
    }

    private static let orders: [EntityOrder?] =
        [nil]
        + [.id, .type, .title, .attribute("price"), .attribute("released"), .attribute("stock")].flatMap { field in
            [false, true].map { EntityOrder(field: field, isDescending: $0) }
        }
        + [false, true].map { EntityOrder(field: .attribute("released"), isDescending: $0, comparesDates: true) }

    @Test(arguments: [1, 2] as [UInt64])
    func pagesOfAllCombinations(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let (catalog, _, entities) = try await Self.catalog(90, seed: seed, folder)
        for (condition, holds) in Self.conditions {
            for (text, matches) in Self.texts {
                let selected = entities.filter { holds($0) && matches($0) }
                for order in Self.orders {
                    var ranked: [String]?
                    if order == nil, let text {
                        let found = try await catalog.search(text: text, limit: 1000, condition: condition).map(\.id)
                        #expect(Set(found) == Set(selected.map(\.id)))
                        ranked = found
                    }
                    for (limit, walk) in [(7, 1), (7, 40), (1000, 1), (40, 8192)] {
                        var expected = Self.sorted(selected, order).map(\.id)
                        if let ranked {
                            // Too many to be ranked: those with the words in their titles come first.
                            let isTitle = { (entity: CatalogEntity) in text != "new" || entity.title == "New" }
                            expected =
                                selected.count <= walk
                                ? ranked : (selected.filter(isTitle) + selected.filter { !isTitle($0) }).map(\.id)
                        }
                        var ids: [String] = []
                        var place: EntityPlace?
                        repeat {
                            let page = try #require(
                                try await catalog.page(
                                    where: condition, text: text, order: order.map(Self.named), limit: limit,
                                    after: place, walk: walk))
                            #expect(page.entities.count == limit || page.next == nil)
                            ids += page.entities.map(\.id)
                            place = page.next.flatMap { EntityPlace($0.description) }
                            #expect(place == page.next)
                        } while place != nil && ids.count <= entities.count
                        #expect(
                            ids == expected,
                            """
                            seed \(seed), \(condition), \(text ?? "-"), \(String(describing: order)), \(limit), \(walk)
                            """
                        )
                    }
                }
                try await expectFacets(of: selected, among: entities, catalog, condition, text)
            }
        }
    }

    /// Names of attributes match without regard to case.
    private static func named(_ order: EntityOrder) -> EntityOrder {
        var order = order
        if order.field == .attribute("stock") { order.field = .attribute("STOCK") }
        return order
    }

    private func expectFacets(
        of entities: [CatalogEntity], among all: [CatalogEntity], _ catalog: Catalog, _ condition: Condition,
        _ text: String?
    ) async throws {
        let fields: [EntityField] = [.type, .label, .attribute("price"), .attribute("sku")]
        let (state, facets) = try await catalog.facets(where: condition, text: text, by: fields)
        // As among more entities than can be looked up one by one; then from what was kept.
        for few in [0, 1000] {
            let again = try await catalog.facets(where: condition, text: text, by: fields, few: few).facets
            #expect(again == facets, "\(condition), \(text ?? "-")")
        }
        let ranges = [EntityField.attribute("price") < 10, EntityField.attribute("price") >= 10, .exists(.type)]
        let prices = entities.compactMap { $0.attributes["price"].flatMap(FieldValue.number) }
        #expect(
            try await catalog.counts(of: ranges, where: condition, text: text)
                == [prices.count { $0 < 10 }, prices.count { $0 >= 10 }, entities.count { $0.type != nil }],
            "\(condition), \(text ?? "-")")
        /// A value is called what the first of all entities calls it.
        func counts(_ values: (CatalogEntity) -> [String]) -> [String: Int] {
            let named = all.flatMap { values($0).sorted() }.map { (TextFolding.folded($0), $0) }
            let names = Dictionary(named) { first, _ in first }
            return entities.reduce(into: [:]) { counts, entity in
                for value in Set(values(entity).map(TextFolding.folded)) { counts[names[value]!, default: 0] += 1 }
            }
        }
        let expected = [
            counts { $0.type.map { [$0] } ?? [] }, counts(\.labels),
            counts { $0.attributes["price"].map { [$0] } ?? [] }, counts { [$0.attributes["sku"]!] },
        ]
        let found = try #require(facets)
        #expect(found.map(\.field) == fields)
        for (facet, expected) in zip(found, expected) {
            let counts = facet.values.map { ($0.value, $0.count) }
            #expect(Dictionary(uniqueKeysWithValues: counts) == expected, "\(condition), \(text ?? "-")")
        }
        let again = try await catalog.facets(where: condition, text: text, by: fields, unlessAt: state)
        #expect(again.facets == nil && again.state == state)
    }

    /// What is kept of the state before is right after changes, of this process or another one, few or many.
    @Test(arguments: [1, 2] as [UInt64])
    func facetsAfterChanges(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let (catalog, indexer, first) = try await Self.catalog(150, seed: seed, folder)
        var entities = first
        var random = SeededGenerator(seed: seed + 100)
        for round in 0..<25 {
            let kind = Int.random(in: 0..<6, using: &random)
            let index = Int.random(in: 0..<entities.count, using: &random)
            var entity = entities[index]
            entity.type = ["album", "Poster", nil, "new \(round)"].randomElement(using: &random) ?? nil
            entity.attributes["sku"] = "\(Bool.random(using: &random) ? "sku" : "sKu") \(round % 4 * 3)"
            entity.attributes["price"] = ["9.9", "7", nil, "Über", "über"].randomElement(using: &random) ?? nil
            entity.labels = [["Sold", "sold"], ["SOLD"], [], ["fresh", "new"]].randomElement(using: &random) ?? []
            entity.title = ["Łódź bus", "The bus at night", nil, "New"].randomElement(using: &random) ?? nil
            switch kind {
            case 0:
                entity.id = "round \(round)"
                entities.append(entity)
                try await Self.add([entity], indexer)
            case 1:
                let gone = Array(entities[index...].prefix(5))
                entities.removeSubrange(index..<(index + gone.count))
                try indexer.removeAll(gone.map(\.id))
            case 2:
                // A replaced entity keeps its row.
                entities[index] = entity
                try await Self.add([entity], indexer)
            case 3:
                // Nothing of this remains.
                let (failed, last) = (entity, entities[index == 0 ? 1 : 0].id)
                await #expect(throws: CancellationError.self) {
                    try await indexer.update([failed.id, last]) {
                        if $0.id == last { throw CancellationError() }
                        $0 = failed
                    }
                }
            case 4:
                let ids = [entity.id, entities[0].id]
                for place in [index, 0] { entities[place].labels = entity.labels }
                try await indexer.update(ids) { [labels = entity.labels] in $0.labels = labels }
            default:
                entities[index] = entity
                try await indexer.update(entity.id) { [entity] in $0 = entity }
            }
            if round == 23 {
                // More than the database knows of.
                let many = (0..<4200).map { CatalogEntity(id: "many \($0)", attributes: ["sku": "SKU \($0 % 3)"]) }
                try await Self.add(many, indexer)
                entities += many
            }
            for (condition, holds) in Self.conditions {
                try await expectFacets(of: entities.filter(holds), among: entities, catalog, condition, nil)
            }
            for (text, matches) in Self.texts {
                let found = entities.filter(matches)
                try await expectFacets(of: found, among: entities, catalog, .everything, text)
            }
            try #require(try await catalog.info.entityCount == entities.count, "seed \(seed), round \(round)")
        }
    }

    /// Lists and facets by any condition, whatever is known of its parts, and after changes.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func listsByRandomConditions(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url)
        var entities = ConditionTests.entities
        // A row each of the same number, whole numbers between those of `Double`, and lists.
        for index in entities.indices {
            entities[index].attributes["n"] =
                [
                    "5", "5.0", "9007199254740993", "-0", "0", "[1,7.5]", "1e3", "1998", "2004-05-01", "x",
                ][index % (seed == 1 ? 10 : 2)]
        }
        try await Self.add(entities, indexer)
        let catalog = try Catalog(at: folder.url)
        var random = SeededGenerator(seed: seed)
        func bound() -> ValueRange<Double>.End? {
            let values = [0, 5, 7.5, 9_007_199_254_740_992, 1998, .infinity, -.infinity, 20, 9.9]
            return Bool.random(using: &random)
                ? .init(values.randomElement(using: &random) ?? 0, isIncluded: .random(using: &random)) : nil
        }
        func texts(_ field: EntityField, _ entity: CatalogEntity) -> [String] {
            switch field {
            case .type: entity.type.map { [$0] } ?? []
            case .label: entity.labels
            case .attribute(let name): entity.attributes[name].map { AttributeList.texts(of: $0) } ?? []
            default: []
            }
        }
        let orders: [EntityOrder?] = [
            nil, EntityOrder(field: .id), EntityOrder(field: .title, isDescending: true), EntityOrder(field: .type),
        ]
        for round in 0..<150 {
            if round % 5 == 4 {
                let index = Int.random(in: 0..<entities.count, using: &random)
                if round % 25 == 4 {
                    try indexer.removeAll([entities.remove(at: index).id])
                } else {
                    entities[index].attributes["n"] = ["5", "7", nil, "[0,1998]", "y"].randomElement(using: &random)!
                    entities[index].type = ["album", "é", nil].randomElement(using: &random)!
                    try await indexer.update(entities[index].id) { [entity = entities[index]] in $0 = entity }
                }
            }
            let field = EntityField.attribute(["n", "price"].randomElement(using: &random)!)
            var condition = Condition.number(field, ValueRange(from: bound(), to: bound()))
            if Bool.random(using: &random) { condition = condition && .isAnyOf(.type, ["album"]) }
            if round % 3 == 0 { condition = condition && ConditionTests.random(&random) }
            if round % 7 == 0 { condition = ConditionTests.random(&random) }
            condition = condition.tests.reduce(condition) { $0 && (.everything || .exists($1.field)) }
            // What the reference does not know of: lists, and whole numbers that it would round.
            let selected = entities.filter { entity in
                var (plain, values) = (entity, AttributeList.texts(of: entity.attributes["n"] ?? "z"))
                if values == ["9007199254740993"] { values = ["9007199254740994"] }
                return values.contains { value in
                    plain.attributes["n"] = entity.attributes["n"] == nil ? nil : value
                    return ConditionTests.holds(condition, of: plain)
                }
            }
            let order = orders.randomElement(using: &random) ?? nil
            let (walk, few) = (
                [1, 8, 8192].randomElement(using: &random)!, [0, 8, 1000].randomElement(using: &random)!
            )
            let comment: Comment =
                "seed \(seed), round \(round), \(condition), \(String(describing: order)), \(walk), \(few)"
            var ids: [String] = []
            var place: EntityPlace?
            repeat {
                let page = try #require(
                    try await catalog.page(where: condition, order: order, limit: 9, after: place, walk: walk))
                ids += page.entities.map(\.id)
                place = page.next
            } while place != nil && ids.count <= entities.count
            #expect(ids == Self.sorted(selected, order).map(\.id), comment)
            let fields: [EntityField] = [.type, .label, .attribute("n")]
            let facets = try #require(try await catalog.facets(where: condition, by: fields, few: few).facets, comment)
            for (field, facet) in zip(fields, facets) {
                var expected: [String: Int] = [:]
                for entity in selected {
                    for text in Set(texts(field, entity).map(TextFolding.folded)) { expected[text, default: 0] += 1 }
                }
                let counts = facet.values.map { (TextFolding.folded($0.value), $0.count) }
                #expect(Dictionary(uniqueKeysWithValues: counts) == expected, comment)
            }
            #expect(try await catalog.counts(of: [condition]) == [selected.count], comment)
        }
    }

    /// What stays as it is comes once, whatever happens to others between the pages.
    @Test func pagesWhileEntitiesChange() async throws {
        for order in [EntityOrder(field: .attribute("price")), EntityOrder(field: .title, isDescending: true), nil] {
            let folder = try TemporaryFolder()
            let (_, indexer, entities) = try await Self.catalog(60, seed: 3, folder)
            var random = SeededGenerator(seed: 4)
            let (changed, stable) = (entities.prefix(30), entities.dropFirst(30).map(\.id))
            var ids: [String] = []
            var place: EntityPlace?
            var round = 0
            repeat {
                let page = try #require(
                    try await Catalog(at: folder.url).page(where: .everything, order: order, limit: 5, after: place))
                ids += page.entities.map(\.id)
                place = page.next
                if round < 10 {
                    // The last of the page may be among them.
                    let gone = changed[round * 3..<(round * 3 + 3)].map(\.id)
                    try indexer.removeAll([gone[0]])
                    let price = "\(Int.random(in: -9...99, using: &random))"
                    try await indexer.update(gone.dropFirst().filter { !ids.contains($0) }) {
                        $0.attributes["price"] = price
                    }
                }
                try await Self.add([CatalogEntity(id: "new\(round)", title: "Night")], indexer)
                round += 1
            } while place != nil && round < 60
            #expect(ids.filter(Set(stable).contains).count == stable.count)
            #expect(Set(stable).isSubset(of: ids))
            #expect(Set(ids).count == ids.count || order != nil)
        }
    }

    @Test func facetsOfStatesThatHaveChanged() async throws {
        let folder = try TemporaryFolder()
        let (catalog, indexer, entities) = try await Self.catalog(9, seed: 5, folder)
        let (state, _) = try await catalog.facets(where: .everything, by: [.type])
        try await indexer.update([entities[0].id]) { $0.type = "other" }
        let (next, facets) = try await catalog.facets(where: .everything, by: [.type], unlessAt: state)
        #expect(next != state && facets?[0].values.contains { $0.value == "other" } == true)
    }

    @Test func namesThatNoEntityHas() async throws {
        let folder = try TemporaryFolder()
        let (catalog, _, _) = try await Self.catalog(5, seed: 6, folder)
        for field in [EntityField.attribute("prise"), .attribute("nothing like it")] {
            await #expect(throws: CatalogError.self) {
                _ = try await catalog.page(where: .everything, order: EntityOrder(field: field), limit: 5)
            }
            await #expect(throws: CatalogError.self) { _ = try await catalog.facets(where: .everything, by: [field]) }
        }
        // An empty catalog has no names, and so no wrong ones.
        let empty = try TemporaryFolder()
        _ = try await CatalogIndexer(at: empty.url).run(over: [IndexItem]()).report()
        let page = try await Catalog(at: empty.url).page(
            where: .everything, order: EntityOrder(field: .attribute("prise")), limit: 5)
        #expect(page?.entities.isEmpty == true && page?.next == nil)
    }

    @Test func wholeNumbersThatDoublesRound() async throws {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url)
        let near = (9_007_199_254_740_988...9_007_199_254_740_996).map(Int64.init)
        let numbers: [Int64] = near + near.map { -$0 } + [.max - 1, 3]
        try await Self.add(numbers.map { CatalogEntity(id: "\($0)", attributes: ["n": "\($0).00"]) }, indexer)
        let catalog = try Catalog(at: folder.url)
        for isDescending in [false, true] {
            let order = EntityOrder(field: .attribute("n"), isDescending: isDescending)
            var ids: [String] = []
            var place: EntityPlace?
            repeat {
                let page = try #require(
                    try await catalog.page(where: .everything, order: order, limit: 1, after: place))
                ids += page.entities.map(\.id)
                place = page.next.flatMap { EntityPlace("\($0)") }
            } while place != nil
            #expect(ids == numbers.sorted { isDescending ? $0 > $1 : $0 < $1 }.map(String.init))
        }
        for bound in numbers {
            let texts = ["n > \(bound)", "n >= \(bound)", "n in \(bound)..\(bound)"]
            let conditions = try texts.map { try Condition(parsing: $0) }
            let larger = numbers.count { $0 > bound }
            let counts = [larger, larger + 1, 1]
            #expect(try await catalog.counts(of: conditions, where: .everything) == counts, "\(bound)")
        }
        #expect(try await catalog.verify().isEmpty)
    }

    /// A cursor of another order would list something, and leave out something.
    @Test func placesOfOtherOrders() async throws {
        let folder = try TemporaryFolder()
        let (catalog, _, _) = try await Self.catalog(30, seed: 7, folder)
        let lists: [(text: String?, order: EntityOrder?)] = [
            (nil, nil), ("bus", nil), (nil, EntityOrder(field: .id)), (nil, EntityOrder(field: .attribute("price"))),
        ]
        let places = [
            EntityPlace(.rest, row: 3), EntityPlace(.relevance(-1), row: 3), EntityPlace(.text("a"), row: 3),
            EntityPlace(.number(.real(9.9), folded: "9.90"), row: 3),
        ]
        let allowed = [
            [true, false, false, false], [false, true, false, false], [true, false, true, false],
            [true, false, true, true],
        ]
        for (list, allowed) in zip(lists, allowed) {
            for (place, isAllowed) in zip(places, allowed) {
                let page = try await catalog.page(
                    where: .everything, text: list.text, order: list.order, limit: 5, after: place)
                #expect((page != nil) == isAllowed, "\(list) \(place)")
            }
        }
        for text in [
            "", "-", "1", "1-", "1-a", "1-a-0", "1-x", "1-b-6", "1-b-ff", "1-b-00", "-1-d", "1-e-7ff0000000000000",
        ] {
            #expect(EntityPlace(text) == nil, "\(text)")
        }
    }

    /// A page of 1,000 entities with 64 KB of text each would be 64 MB.
    @Test func pagesOfLongTextsEndEarly() async throws {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url)
        let text = String(repeating: "a ", count: 20_000)
        try await Self.add((0..<400).map { CatalogEntity(id: "\($0)", attributes: ["text": text]) }, indexer)
        var counts: [Int] = []
        var place: EntityPlace?
        repeat {
            let page = try #require(
                try await Catalog(at: folder.url).page(where: .everything, limit: 1000, after: place))
            counts.append(page.entities.count)
            place = page.next
        } while place != nil
        #expect(counts.reduce(0, +) == 400 && counts.count > 1 && counts.allSatisfy { $0 < 200 })
    }

    /// Their cursors are cut, since they are part of a URL.
    @Test func valuesThatAreLong() async throws {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.url)
        let long = String(repeating: "é", count: 600)
        let entities = (0..<20).map { CatalogEntity(id: "\($0)", title: long + "\($0 % 10)") }
        try await Self.add(entities, indexer)
        for isDescending in [false, true] {
            let order = EntityOrder(field: .title, isDescending: isDescending)
            var ids: [String] = []
            var place: EntityPlace?
            repeat {
                let page = try #require(
                    try await Catalog(at: folder.url).page(where: .everything, order: order, limit: 3, after: place))
                ids += page.entities.map(\.id)
                place = page.next.flatMap { EntityPlace($0.description) }
                #expect(page.next.map { $0.description.utf8.count < 1200 } ?? true)
                if ids.count == 6 { try indexer.removeAll([ids[5]]) }
            } while place != nil && ids.count < 60
            // Those with the same beginning are repeated when the last one is gone.
            #expect(Set(ids) == Set(entities.map(\.id)))
            if ids.count > 6 { try await Self.add([entities[Int(ids[5]) ?? 0]], indexer) }
        }
    }
}
