import AppIntents
import EventKit
import GalleryProgram5
import GalleryProgram6
import ImageIO
import Synchronization
import Testing
import Vision
import VisualIntelligence
import VisualSearchHost

private let demo = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../../Examples/Demo")

/// The sample covers: paintings of their artists.
private let paintings = try! Result {
    let lines = try String(contentsOf: demo.appendingPathComponent("covers/albums.csv"), encoding: .utf8)
        .split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    let columns = Dictionary(uniqueKeysWithValues: lines[0].enumerated().map { ($1, $0) })
    return try lines.dropFirst().map { line in
        (
            id: line[columns["id"]!], name: line[columns["title"]!], painter: line[columns["subtitle"]!],
            file: try Data(contentsOf: demo.appendingPathComponent("covers/" + line[columns["image"]!]))
        )
    }
}.get()

/// A console with typed lines that keeps what it shows.
private final class Script: Sendable {
    private let lines: Mutex<[String]>
    private let written = Mutex<[String]>([])

    init(_ lines: [String]) { self.lines = Mutex(lines) }

    var console: HostConsole {
        HostConsole(
            read: { self.lines.withLock { $0.isEmpty ? nil : $0.removeFirst() } },
            write: { line in self.written.withLock { $0.append(line) } })
    }

    var shown: [String] { written.withLock { $0 } }
}

/// A program that imports Apple's modules alone runs in the host, in both language modes.
@Suite(.serialized) struct GalleryTests {
    private func check<Query: IntentValueQuery, More: SemanticContentSearchIntent>(
        _ query: Query, more: More.Type, order: some AppIntent, visited: () async -> [String],
        register: (OpenIntents) -> Void
    ) async throws where Query.Input == SemanticContentDescriptor {
        let script = Script(["copper horizon", "2", "60", "3"])
        let host = VisualSearchHost(
            name: "Gallery", query: query, moreResults: more, console: script.console, languages: ["en"],
            register: register)
        // What each sample photograph shows, as Catalog.search finds it; one shows a record that is in no catalog.
        for (photograph, expected) in [
            ("screenshot-1.png", "Copper Horizon"), ("photo-1.jpg", nil), ("photo-2.jpg", nil), ("photo-3.jpg", nil),
            ("photo-4.jpg", nil), ("screenshot-2.png", nil), ("photo-of-another-record.jpg", ""),
            ("photo-of-a-mug.jpg", ""), ("photo-of-a-town-hall.jpg", ""),
        ] as [(String, String?)] {
            let content = SemanticContentDescriptor(
                pixelBuffer: try PixelBuffer(contentsOf: demo.appendingPathComponent("queries/" + photograph)))
            let sheet = try await host.sheet(for: content)
            let found = sheet.items.filter { $0.kind == "Painting" }.map(\.title)
            print(photograph, found)
            if let expected { #expect(found == (expected.isEmpty ? [] : [expected]), "\(photograph)") }
            if expected == nil { #expect(found.count >= 1, "\(photograph)") }
        }
        let content = SemanticContentDescriptor(
            pixelBuffer: try PixelBuffer(contentsOf: demo.appendingPathComponent("queries/screenshot-1.png")))
        let sheet = try await host.sheet(for: content)
        #expect(sheet.counts == "1 Painting, 1 Tour")
        #expect(sheet.items.map(\.opening) == ["Show Copper Horizon", "Open Tour"])
        for item in sheet.items { try await host.open(item) }
        try await host.showMore(of: content)
        #expect(
            await visited() == ["painting copper-horizon", "tour Delta Wren", "search with 1 paintings"])

        // Postcards of a painting by its title, in the second size, and too many of them at first.
        try await host.perform(order)
        #expect(script.shown.contains("Order Postcards: Of which painting?"))
        #expect(script.shown.contains { $0.contains("out of range") })
        #expect(
            script.shown.suffix(2) == [
                "→ Order 3 postcards of Copper Horizon", "“3 large postcards of Copper Horizon are yours.”",
            ])
    }

    @Test func inSwift5() async throws {
        let gallery = GalleryProgram5.Gallery()
        try await GalleryProgram5.GalleryApp.start(paintings, gallery: gallery)
        try await check(
            GalleryProgram5.GalleryQuery(), more: GalleryProgram5.GallerySearchIntent.self,
            order: GalleryProgram5.OrderPostcardsIntent(), visited: { await gallery.visited }
        ) { intents in
            intents.register(GalleryProgram5.OpenPaintingIntent.self)
            intents.register(GalleryProgram5.OpenTourIntent.self) { await gallery.show(tour: $0.target.id) }
        }
    }

    @Test func inSwift6() async throws {
        let gallery = GalleryProgram6.Gallery()
        try await GalleryProgram6.GalleryApp.start(paintings, gallery: gallery)
        try await check(
            GalleryProgram6.GalleryQuery(), more: GalleryProgram6.GallerySearchIntent.self,
            order: GalleryProgram6.OrderPostcardsIntent(), visited: { await gallery.visited }
        ) { intents in
            intents.register(GalleryProgram6.OpenPaintingIntent.self)
            intents.register(GalleryProgram6.OpenTourIntent.self) { await gallery.show(tour: $0.target.id) }
        }
    }

    @Test(.timeLimit(.minutes(2))) func calendarsAreFollowed() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lookalike-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        setenv("LOOKALIKE_CALENDARS", folder.path, 1)
        #expect(EKEventStore.authorizationStatus(for: .event) == .fullAccess)
        async let old = GalleryProgram5.GalleryApp.openingNights(of: ["Delta Wren"])
        async let new = GalleryProgram6.GalleryApp.openingNights(of: ["Delta Wren"])
        let start = Date.now.addingTimeInterval(86_400).formatted(.iso8601.year().month().day().dateSeparator(.omitted))
        try Data(
            """
            BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example//EN\r\nBEGIN:VEVENT\r\nUID:1\r
            DTSTAMP:20260101T000000Z\r\nDTSTART:\(start)T200000Z\r\nSUMMARY:Opening: delta wren\r
            END:VEVENT\r\nEND:VCALENDAR\r\n
            """.utf8
        ).write(to: folder.appendingPathComponent("a.ics"))
        #expect(try await old == ["Opening: delta wren"])
        #expect(try await new == ["Opening: delta wren"])
        #expect(
            EKEventStore().events(matching: NSPredicate { _, _ in true }).isEmpty, "a predicate that has no span")
    }

    @Test func picturesAreConverted() async throws {
        let url = demo.appendingPathComponent("covers/copper-horizon.jpg")
        let source = try #require(CGImageSourceCreateWithURL(url as CFURL, nil))
        let image = try #require(CGImageSourceCreateImageAtIndex(source, 0, nil))
        let picture = CIImage(cgImage: image)
        let corner = try #require(
            CIContext().createCGImage(picture, from: CGRect(x: 0, y: 0, width: 10, height: 20)))
        // The origin is at the bottom left.
        let expected = try image.cropped(to: PixelRegion(x: 0, y: image.height - 20, width: 10, height: 20))
        #expect(try corner.pngData() == expected.pngData())
        #expect(CIContext().createCGImage(picture, from: CGRect(x: -20, y: 0, width: 10, height: 20)) == nil)
        #expect(CIImage(data: Data("no image".utf8)) == nil)

        let request = GenerateImageFeaturePrintRequest()
        let (whole, part) = (try await request.perform(on: image), try await request.perform(on: corner))
        #expect(try whole.distance(to: whole) == 0 && whole.distance(to: part) > 1)
        let copy = try JSONDecoder().decode(
            FeaturePrintObservation.self, from: JSONEncoder().encode(whole))
        #expect(copy == whole && copy.data == whole.data && copy.elementCount * 4 == copy.data.count)
    }

    @Test func notificationsAreKept() async throws {
        let center = NotificationCenter()
        let name = Notification.Name("changed")
        var notifications = center.notifications(named: name).makeAsyncIterator()
        for number in 0..<3 { center.post(name: name, object: NSNumber(value: number)) }
        center.post(name: Notification.Name("other"), object: nil)
        for number in 0..<3 {
            #expect((await notifications.next()?.object as? NSNumber)?.intValue == number)
        }
    }
}
