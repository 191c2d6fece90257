import AppIntents
import ArgumentParser
import Foundation
import Lookalike
import SystemStores
import VisualIntelligence
import VisualSearchHost

/// The app's visual search, from a screenshot to the app's screens.
@main
struct AlbumSearch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "album-search",
        abstract: "A music app's visual search, end to end, on sample data.",
        discussion: """
            Indexes the sample covers, shows what a visual search of IMAGE would list, opens the first result, continues \
            in the app's own search, and follows a calendar to which a concert is added meanwhile.
            """)

    @Option(help: "The manifest of albums.")
    var covers = "Examples/Demo/covers/albums.csv"

    @Option(help: "The folder with the sample concerts and the sample calendar.")
    var data = "Examples/AlbumSearch/Data"

    @Option(help: "A folder for the catalog and a copy of the calendar.")
    var output = "demo-output/album-search"

    @Option(help: "The day to take for today, since the sample concerts have dates.")
    var today = "2026-11-21"

    @Argument(help: "A photo or a screenshot.")
    var image: String

    func run() async throws {
        guard let today = try? Date(today + "T09:00:00Z", strategy: .iso8601) else {
            throw ValidationError("“\(today)” is not a day such as 2026-11-21.")
        }
        let folder = URL(fileURLWithPath: output, isDirectory: true)
        let albums = try await AlbumCatalog(makeCatalog(in: folder))
        let concerts = try ConcertFinder(
            contentsOf: URL(fileURLWithPath: data).appendingPathComponent("concerts.jsonl"),
            here: .init(latitude: 41.15, longitude: -8.61), today: today)
        let state = AppState()
        AppDependencyManager.shared.add(dependency: albums)
        AppDependencyManager.shared.add(dependency: concerts)
        AppDependencyManager.shared.add(dependency: state)
        let host = VisualSearchHost(
            name: "Albums", query: SearchHandler(), moreResults: SemanticContentSearchIntent.self
        ) { intents in
            intents.register(OpenAlbumIntent.self)
            intents.register(OpenConcertIntent.self)
        }
        let content = SemanticContentDescriptor(pixelBuffer: try PixelBuffer(contentsOf: URL(fileURLWithPath: image)))
        let sheet = try await host.sheet(for: content)
        print("The system's sheet for \(image):\n\n\(sheet.text())\n")
        let page = folder.appendingPathComponent("sheet.html")
        try sheet.page().write(to: page, atomically: true, encoding: .utf8)
        print("The same as a page: \(page.path)\n")
        guard let first = sheet.items.first else { return }
        try await host.open(first)
        try await host.showMore(of: content)
        try await follow(calendarIn: folder, artists: albums.artists, today: today)
    }

    private func makeCatalog(in folder: URL) throws -> Catalog {
        let url = folder.appendingPathComponent("catalog")
        let (items, problems) = try ImageSource.items(at: URL(fileURLWithPath: covers))
        let report = try CatalogIndexer(at: url).index(items)
        for problem in problems + report.problems {
            try? FileHandle.standardError.write(contentsOf: Data("\(problem)\n".utf8))
        }
        return try Catalog(at: url)
    }

    /// Follows a copy of the sample calendar until the event that is added to it shows up.
    private func follow(calendarIn folder: URL, artists: [String], today: Date) async throws {
        let copy = folder.appendingPathComponent("calendar")
        try? FileManager.default.removeItem(at: copy)
        try FileManager.default.copyItem(at: URL(fileURLWithPath: data).appendingPathComponent("calendar"), to: copy)
        let manager = UpcomingConcertManager(
            calendar: CalendarFolder(copy, timeZone: .gmt), artists: artists, today: today)
        let captured = URL(fileURLWithPath: data).appendingPathComponent("captured-event.ics")
        let target = copy.appendingPathComponent("concerts/captured-event.ics")
        print("\nConcerts in the calendar, next 90 days:")
        let shown = ShownEvents()
        try await manager.observe { concerts in
            let new = await shown.new(concerts.map(\.event))
            for (event, names) in concerts where new.contains(event) {
                let day = event.start.formatted(.iso8601.year().month().day())
                print("  \(day)  \(event.title)  (\(names.joined(separator: ", ")))")
            }
            if new.contains(where: { $0.file == target.path }) { return false }
            if !FileManager.default.fileExists(atPath: target.path) {
                print("  … another program adds an event …")
                try? FileManager.default.copyItem(at: captured, to: target)
            }
            return true
        }
    }
}

/// The events that were already printed.
private actor ShownEvents {
    private var events: Set<CalendarEvent> = []

    func new(_ all: [CalendarEvent]) -> Set<CalendarEvent> {
        let new = Set(all).subtracting(events)
        events.formUnion(new)
        return new
    }
}
