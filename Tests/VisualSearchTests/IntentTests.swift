import AppleShapes
import Catalogs
import Foundation
import Imaging
import Synchronization
import TestSupport
import Testing
import VisualSearch

private struct Poster: AppEntity {
    var id: Int
    var displayRepresentation: DisplayRepresentation { "Poster \(id)" }
    static let defaultQuery = PosterQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation {
        TypeDisplayRepresentation(name: "Poster", numericFormat: "\(placeholder: .int) posters")
    }
}

private struct PosterQuery: EnumerableEntityQuery {
    func entities(for identifiers: [Int]) async throws -> [Poster] {
        identifiers.filter { $0 < 10 }.map { Poster(id: $0) }
    }
    func allEntities() async throws -> [Poster] { (0..<10).map { Poster(id: $0) } }
}

/// Remembers what was opened.
private final class Navigation: Sendable {
    private let places = Mutex<[String]>([])
    func go(_ place: String) { places.withLock { $0.append(place) } }
    var visited: [String] { places.withLock { $0 } }
}

private struct OpenPosterIntent: OpenIntent {
    static let title: LocalizedStringResource = "Open Poster"
    static var parameterSummary: some ParameterSummary { Summary("Open \(\.$target) now") }

    @Parameter(title: "Poster", requestValueDialog: "Which poster?")
    var target: Poster
    @Dependency(key: "open-intents") var navigation: Navigation

    func perform() async throws -> some IntentResult {
        navigation.go("poster \(target.id)")
        return .result()
    }
}

private struct Sleeve: IndexedEntity, CatalogRepresentable, Decodable {
    var id: String
    var title: String
    var thumbnail: Data

    var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(title: "\(title)", image: .init(data: thumbnail))
    }
    static let defaultQuery = SleeveQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation { "Sleeve" }
}

private struct SleeveQuery: EntityQuery {
    func entities(for identifiers: [String]) async throws -> [Sleeve] { [] }
}

private struct CountIntent: AppIntent {
    static let title: LocalizedStringResource = "Count"
    @Parameter(title: "Start", default: 3) var start: Int

    func perform() async throws -> some IntentResult { .result(value: start + 1) }
}

struct IntentTests {
    @Test func anOpenIntentIsFoundByTheKindItOpens() async throws {
        let navigation = Navigation()
        AppDependencyManager.shared.add(key: "open-intents", dependency: navigation)
        let intents = OpenIntents()
        let none = await #expect(throws: OpenIntentError.self) { try await intents.open(Poster.self, id: 1) }
        #expect(none?.reason == .noIntent)
        intents.register(OpenPosterIntent.self)
        try await intents.open(Poster.self, id: 4)
        try await intents.open(Poster(id: 7))
        #expect(navigation.visited == ["poster 4", "poster 7"])
        #expect(intents.title(for: Poster.self) == "Open Poster" && intents.title(for: Album.self) == nil)
        let gone = await #expect(throws: OpenIntentError.self) { try await intents.open(Poster.self, id: 40) }
        #expect(gone?.reason == .gone("40") && gone?.description == "Poster “40” no longer exists; search again")
        #expect(navigation.visited.count == 2)
        #expect(OpenPosterIntent.openAppWhenRun && !CountIntent.openAppWhenRun)
    }

    @Test func parametersAndResults() async throws {
        var intent = CountIntent()
        #expect(intent.start == 3 && intent.$start.isSet && intent.$start.title == "Start")
        intent.start = 8
        let result = try await intent.perform()
        #expect((result as? any ReturnsValue<Int>)?.value == 9)
        #expect(!OpenPosterIntent().$target.isSet)
        #expect(
            OpenPosterIntent.parameterSummary.text == "Open ${Poster} now" && CountIntent.parameterSummary.text == "")
    }

    @Test func dependenciesAreMadeOnceAndToldApartByTypeAndKey() async {
        let manager = AppDependencyManager()
        final class Counter: Sendable { let number: Int; init(_ number: Int) { self.number = number } }
        #expect(manager.dependency(of: Counter.self) == nil)
        let counters = Mutex(0)
        manager.add(
            dependency: Counter(
                counters.withLock {
                    $0 += 1; return $0
                }))
        manager.add(key: "other", dependency: Counter(100))
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<20 { group.addTask { manager.dependency(of: Counter.self)?.number } }
            var seen: Set<Int> = []
            for await number in group { if let number { seen.insert(number) } }
            #expect(seen.count == 1)
        }
        #expect(counters.withLock { $0 } == 1)
        #expect(manager.dependency(of: Counter.self, key: "other")?.number == 100)
        #expect(manager.dependency(of: Counter.self, key: "third") == nil)
    }

    @Test func suggestionsOfAQueryThatCanListAll() async throws {
        #expect(try await PosterQuery().suggestedEntities().count == 10)
        let names = Poster.typeDisplayRepresentation
        #expect(names.numericFormat?.defaultValue == "%lld posters")
        #expect([0, 1, 10].map { names.localized(count: $0) } == ["0 posters", "1 Poster", "10 posters"])
        #expect(Album.typeDisplayRepresentation.localized(count: 2) == "2 Album")
    }

    @Test func aCatalogFindsIndexedEntities() async throws {
        let folder = try TemporaryFolder()
        let sleeves = try ["Moon", "Sun"].enumerated().map { index, title in
            Sleeve(id: title, title: title, thumbnail: try SampleImage.blocks(seed: UInt64(index)).pngData())
        }
        _ = try CatalogIndexer(at: folder.url).index(sleeves.compactMap { IndexItem(indexing: $0, type: "sleeve") })
        let catalog = EntityCatalog<Sleeve>(try Catalog(at: folder.url), type: "sleeve")
        #expect(try await catalog.entities(matching: "sun").map(\.id) == ["Sun"])
        let found = try await catalog.search(matching: SampleImage.blocks(seed: 0), limit: 1, maxDistance: 2)
        #expect(found.map(\.title) == ["Moon"])
    }

    @Test func shortcutsArePlainData() {
        struct Provider: AppShortcutsProvider {
            static var appShortcuts: [AppShortcut] {
                AppShortcut(
                    intent: CountIntent(), phrases: ["Count in \(.applicationName)", "Count"], shortTitle: "Count",
                    systemImageName: "number")
            }
        }
        let shortcut = Provider.appShortcuts[0]
        #expect(shortcut.phrases.map { $0.spoken(applicationName: "Records") } == ["Count in Records", "Count"])
        #expect(shortcut.intent is CountIntent && shortcut.shortTitle == "Count")
    }

    @Test func visionsNamesForTheEnginesOwn() async throws {
        let request = GenerateImageFeaturePrintRequest()
        let (a, b) = (
            try await request.perform(on: SampleImage.blocks(seed: 1)),
            try await request.perform(on: SampleImage.blocks(seed: 2))
        )
        let observation: FeaturePrintObservation = a
        #expect(try observation.distance(to: a) == 0 && observation.distance(to: b) > 0.2)
    }
}

struct LocalizedStringResourceTests {
    @Test func fallsBackFromTheMostPreferredLanguageOn() {
        let text = LocalizedStringResource(
            "Moon",
            translations: [
                "ja": "月", "pt-BR": "Lua (BR)", "pt-PT": "Lua (PT)", "zh-Hant": "月亮 (Hant)", "de": "Mond",
                "es-419": "Luna (419)",
            ])
        for (languages, expected) in [
            (["ja"], "月"), (["ja-JP"], "月"), (["JA_jp"], "月"), (["pt-PT"], "Lua (PT)"), (["pt-BR", "de"], "Lua (BR)"),
            (["pt"], "Lua (BR)"), (["pt-AO"], "Lua (BR)"),
            (["fr", "de-AT"], "Mond"), (["fr"], "Moon"), ([], "Moon"), (["zh-Hant-TW"], "月亮 (Hant)"),
            (["zh-Hans-CN", "ja"], "月"), (["es-MX"], "Luna (419)"),
        ] {
            #expect(text.localized(for: languages) == expected, "\(languages)")
            #expect(String(localized: text, for: languages) == expected)
        }
        let interpolated: LocalizedStringResource = "\(3) of \(placeholder: .int)"
        #expect(interpolated.defaultValue == "3 of %lld")
    }

    @Test func aRowsTitleHasItsTranslations() {
        let row = CatalogRow(
            entity: CatalogEntity(
                id: "x", title: "Moon", attributes: ["title@ja": "月", "subtitle@ja": "曲", "titles": "no"],
                image: "x.png"))
        #expect(row.title?.localized(for: ["ja-JP"]) == "月" && row.title?.localized(for: ["en"]) == "Moon")
        #expect(row.subtitle?.localized(for: ["en"]) == "曲")
        #expect(row.title?.translations == ["ja": "月"])
        #expect(CatalogRow(entity: CatalogEntity(id: "x", image: "x.png")).title == nil)
    }
}
