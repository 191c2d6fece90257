import EventKit
import Observation

/// Concerts in the user's own calendar: events of the next 90 days that name an artist of the catalog.
@MainActor @Observable
public final class UpcomingConcerts {
    public private(set) var titles: [String] = []
    public private(set) var authorizationStatus: EKAuthorizationStatus = .notDetermined
    private let store: EKEventStore

    public init(_ store: EKEventStore = EKEventStore()) { self.store = store }

    /// Reads the calendar now and after each of its changes, until the task is cancelled.
    public func follow(_ catalog: AlbumCatalog) async throws {
        guard try await store.requestFullAccessToEvents() else {
            authorizationStatus = .denied
            return
        }
        authorizationStatus = .fullAccess
        // Changes are collected before the calendar is read, so that none falls between the two.
        let changes = NotificationCenter.default.notifications(named: .EKEventStoreChanged)
        fetch(catalog)
        for await _ in changes { fetch(catalog) }
    }

    func fetch(_ catalog: AlbumCatalog, now: Date = .now) {
        let span = store.predicateForEvents(withStart: now, end: now.addingTimeInterval(90 * 86_400), calendars: nil)
        titles = store.events(matching: span).compactMap(\.title).filter { title in
            catalog.artists.contains { title.localizedCaseInsensitiveContains($0) }
        }
    }
}
