import Foundation
import SystemStores

/// Concerts in the user's calendar: events of the next 90 days that name an artist of the catalog. On Apple's platforms
/// EventKit finds them; here the calendar is a folder of `.ics` files.
actor UpcomingConcertManager {
    private let calendar: CalendarFolder
    private let artists: [String]
    private let today: Date
    private(set) var upcomingConcerts: [(event: CalendarEvent, artists: [String])] = []

    init(calendar: CalendarFolder, artists: [String], today: Date) {
        self.calendar = calendar
        self.artists = artists
        self.today = today
    }

    func fetchUpcomingConcerts() async throws {
        let found = try await calendar.upcoming(naming: artists, days: 90, from: today)
        for problem in found.problems { try? FileHandle.standardError.write(contentsOf: Data("\(problem)\n".utf8)) }
        upcomingConcerts = found.matches.map { ($0.event, $0.names) }
    }

    /// Reads the calendar now and after each of its changes.
    func observe(_ report: @Sendable ([(event: CalendarEvent, artists: [String])]) async -> Bool) async throws {
        // The calendar is watched before it is read, so that no change is missed.
        let changes = try calendar.changes()
        try await fetchUpcomingConcerts()
        guard await report(upcomingConcerts) else { return }
        for await _ in changes {
            try await fetchUpcomingConcerts()
            guard await report(upcomingConcerts) else { return }
        }
    }
}
