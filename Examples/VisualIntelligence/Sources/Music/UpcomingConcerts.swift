import Observation

#if canImport(EventKit)
import EventKit
#else
import Foundation
import SystemStores
#endif

/// Concerts in the user's own calendar: events of the next 90 days that name an artist of the catalog.
@MainActor @Observable
public final class UpcomingConcerts {
    public private(set) var titles: [String] = []

    #if canImport(EventKit)
    private let store = EKEventStore()

    public init() {}
    #else
    private let store: CalendarFolder

    public init(_ store: CalendarFolder) { self.store = store }
    #endif

    /// Reads the calendar now and after each of its changes, until the task is cancelled.
    public func follow(_ catalog: AlbumCatalog) async throws {
        #if canImport(EventKit)
        guard try await store.requestFullAccessToEvents() else { return }
        let changes = NotificationCenter.default.notifications(named: .EKEventStoreChanged)
        #else
        // The folder is watched before it is read, so that no change falls between the two.
        let changes = try store.changes()
        #endif
        try await fetch(catalog)
        for await _ in changes { try await fetch(catalog) }
    }

    func fetch(_ catalog: AlbumCatalog, now: Date = .now) async throws {
        #if canImport(EventKit)
        let span = store.predicateForEvents(
            withStart: now, end: now.addingTimeInterval(90 * 86_400), calendars: nil)
        titles = store.events(matching: span).compactMap(\.title).filter { title in
            catalog.artists.contains { title.localizedCaseInsensitiveContains($0) }
        }
        #else
        titles = try await store.upcoming(naming: catalog.artists, days: 90, from: now).matches.map(\.event.title)
        #endif
    }
}
