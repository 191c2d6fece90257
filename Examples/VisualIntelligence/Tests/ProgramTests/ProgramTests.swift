// On Apple's platforms the system runs the programs; here the tests do.
#if os(Linux)
import EventKit
import Landmarks
import Music
import Pictures
import SystemStores
import Testing
import VisualIntelligence

private let covers = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../Demo/covers")

private func cover(_ name: String) throws -> Picture {
    try picture(contentsOf: covers.appendingPathComponent(name))
}

/// A folder that exists as long as the object.
private final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("lookalike-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: url.appendingPathComponent(name))
    }
}

struct LandmarkTests {
    @Test func aPictureFindsItsLandmarkAndCollections() async throws {
        let files = ["copper-horizon.jpg", "glass-orchard.jpg", "tidal-machines.jpg"]
        let data = try await ModelData(
            files.map { file in
                let landmark = Landmark(
                    id: file, name: "The \(file.prefix(5))", continent: file.hasPrefix("glass") ? .asia : .europe,
                    thumbnail: try Data(contentsOf: covers.appendingPathComponent(file)))
                return (landmark, try cover(file))
            }, collections: ["Coasts": [files[2]], "Gardens": [files[1], files[0]]])
        let navigation = Navigation()
        AppDependencyManager.shared.add(dependency: data)
        AppDependencyManager.shared.add(dependency: navigation)
        let content = SemanticContentDescriptor(pixelBuffer: try cover(files[1]))

        let results = try await LandmarkIntentValueQuery().values(for: content)
        let titles = results.map { $0.displayRepresentation.title.localized() }
        #expect(titles.first == "The glass" && titles.last == "Gardens" && !titles.contains("Coasts"))
        let names = Landmarks.VisualSearchResult.entityTypes.map {
            $0.typeDisplayRepresentation.localized(count: 3)
        }
        #expect(names == ["3 landmarks", "3 Collection"])
        #expect(try await LandmarkIntentValueQuery().values(for: SemanticContentDescriptor()).isEmpty)

        let front = AsyncStream.makeStream(of: Void.self)
        let intents = OpenIntents { front.continuation.yield() }
        intents.register(OpenLandmarkIntent.self) { await navigation.show($0.target) }
        try await intents.open(results[0].entity)
        try await intents.open(LandmarkEntity.self, id: files[2])
        try await intents.perform(ShowLandmarkSearchIntent(for: content))
        try await intents.perform(OpenFavoriteIntent())
        #expect(
            await navigation.visited
                == ["The glass", "The tidal", "search with \(results.count) results", "The coppe"])

        var find = FindLandmarksIntent()
        find.continent = .europe
        let found = try await intents.perform(find)
        #expect(found.value?.map(\.id) == [files[0], files[2]] && found.dialog?.full == "Found 2 landmarks.")
        front.continuation.finish()
        // The app comes to the front to open and to search, and not to find.
        #expect(await front.stream.reduce(into: 0) { count, _ in count += 1 } == 4)
        #expect(
            FindLandmarksIntent.parameterSummary.sentence(for: find).text
                == "Find ${Count} landmarks on ${Continent}")
        find.count = 21
        let tooMany = find
        await #expect(throws: IntentParameterError.self) { _ = try await intents.perform(tooMany) }
        await #expect(throws: IntentParameterError.self) { _ = try await intents.perform(OpenLandmarkIntent()) }
        #expect(LandmarkControlIntent().landmark == nil && LandmarkWidgetIntent().continent == .europe)
        #expect(LandmarkShortcuts.appShortcuts.map(\.phrases.count) == [2, 1])
        #expect(try await LandmarkEntityQuery().entities(matching: "TIDAL").map(\.id) == [files[2]])

        // A catalog in files finds the same landmarks.
        let folder = try TemporaryFolder()
        let landmarks = try await LandmarkEntityQuery().entities(for: files)
        _ = try CatalogIndexer(at: folder.url).index(landmarks.compactMap { IndexItem(indexing: $0) })
        let catalog = try await Catalog.open(at: folder.url)
        #expect(try await catalog.search(text: "europe tidal").map(\.id) == [files[2]])
        #expect(try await catalog.search(matching: cover(files[1])).map(\.id) == [files[1]])
    }
}

@MainActor struct MusicTests {
    private func catalog() async throws -> AlbumCatalog {
        let catalog = AlbumCatalog()
        for (file, artist) in [("left-of-centre.jpg", "Juno Vale"), ("winter-index.jpg", "Delta Wren")] {
            let data = try Data(contentsOf: covers.appendingPathComponent(file))
            try await catalog.add(
                AlbumEntity(id: file, name: file, artistName: artist, coverArtData: data), cover: cover(file))
        }
        return catalog
    }

    @Test func aCoverFindsItsAlbumAndConcerts() async throws {
        let catalog = try await catalog()
        let state = AppState()
        AppDependencyManager.shared.add(dependency: catalog)
        AppDependencyManager.shared.add(dependency: state)
        AppDependencyManager.shared.add(
            dependency: ConcertFinder([
                ConcertEntity(id: "1", artistName: "Delta Wren", venue: "Theatro Circo"),
                ConcertEntity(id: "2", artistName: "Nobody", venue: "Nowhere"),
            ]))
        let content = SemanticContentDescriptor(pixelBuffer: try cover("winter-index.jpg"))
        let results = try await SearchHandler().values(for: content)
        #expect(results.map { $0.displayRepresentation.title.localized() } == ["winter-index.jpg", "Delta Wren"])
        let intents = OpenIntents()
        intents.register(OpenAlbumIntent.self)
        intents.register(OpenConcertIntent.self)
        for result in results { try await intents.open(result.entity) }
        try await MusicSearchIntent.search(for: content)
        #expect(
            state.visited == ["album winter-index.jpg", "concert 1", "search with 1 albums and 1 concerts"])
    }

    @Test(.timeLimit(.minutes(2))) func storesAreFollowed() async throws {
        let (catalog, folder) = (try await catalog(), try TemporaryFolder())
        let store = EKEventStore(calendarFolder: CalendarFolder(folder.url, timeZone: .gmt))
        let concerts = UpcomingConcerts(store)
        let following = Task { try await concerts.follow(catalog) }
        let start = Date.now.addingTimeInterval(86_400).formatted(
            .iso8601.year().month().day().dateSeparator(.omitted))
        try folder.write(
            """
            BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example//EN\r\nBEGIN:VEVENT\r\nUID:1\r
            DTSTAMP:20260101T000000Z\r\nDTSTART:\(start)T200000Z\r\nSUMMARY:delta wren live\r
            END:VEVENT\r\nEND:VCALENDAR\r\n
            """, to: "a.ics")
        while concerts.titles.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        #expect(concerts.titles == ["delta wren live"])
        following.cancel()
        try await following.value
    }

    @Test func contactsAndReadingsAreRead() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            "BEGIN:VCARD\nVERSION:4.0\nFN:Inés Okafor\nEMAIL:ines@example.org\nEND:VCARD\n", to: "a.vcf")
        #expect(try await Listeners(ContactFolder(folder.url)).emails(named: "ines") == ["ines@example.org"])

        func write(_ rates: [Int]) throws {
            let records = rates.enumerated().map { index, rate in
                let time = "2026-03-0\(index + 1) 12:00:00 +0000"
                return """
                    <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" unit="count/min" \
                    startDate="\(time)" endDate="\(time)" value="\(rate)"/>
                    """
            }
            try folder.write("<HealthData>\(records.joined())</HealthData>", to: "export.xml")
        }
        try write([60, 70])
        let rates = HeartRates(HealthExport(folder.url))
        #expect(try await rates.new().isEmpty)
        try write([60, 70, 85])
        #expect(try await rates.new() == [85])
        #expect(try await rates.new().isEmpty)
        let end = try Date("2026-03-04T00:00:00Z", strategy: .iso8601)
        #expect(try await rates.averages(days: 2, until: end) == [70, 85])
    }
}
#endif
