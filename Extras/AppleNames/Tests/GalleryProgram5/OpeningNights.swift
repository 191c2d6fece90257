import EventKit

/// Opening nights in the user's calendar that name a painter of the collection.
@MainActor @Observable
public class OpeningNights {
    private let eventStore = EKEventStore()
    public var nights: [EKEvent] = []
    public var authorizationStatus: EKAuthorizationStatus = .notDetermined
    private let painters: [String]

    public init(painters: [String]) { self.painters = painters }

    /// Reads the calendar now and after each change, until the task is cancelled.
    public func follow() async throws {
        let granted = try await eventStore.requestFullAccessToEvents()
        guard granted else {
            authorizationStatus = .denied
            return
        }
        authorizationStatus = .fullAccess
        await fetch()

        for await _ in NotificationCenter.default
            .notifications(
                named: .EKEventStoreChanged
            )
        {
            await fetch()
        }
    }

    func fetch() async {
        let predicate = eventStore.predicateForEvents(
            withStart: .now,
            end: .now.addingTimeInterval(90 * 24 * 60 * 60),
            calendars: nil
        )
        let events = eventStore.events(matching: predicate)
        nights = events.filter { event in
            painters.contains { painter in
                event.title?.localizedCaseInsensitiveContains(painter) == true
            }
        }
    }
}
