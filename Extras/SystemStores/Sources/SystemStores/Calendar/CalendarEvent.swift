import Foundation

/// One occurrence of an event of a calendar.
public struct CalendarEvent: Sendable, Hashable, Codable {
    /// Shared by all occurrences of a repeating event.
    public var uid: String
    public var title: String
    public var start: Date
    public var end: Date
    /// From the beginning of a day to that of another, in the reader's time zone.
    public var isAllDay: Bool
    public var location: String?
    public var notes: String?
    /// The file that it was read from.
    public var file: String

    public init(
        uid: String, title: String, start: Date, end: Date, isAllDay: Bool = false, location: String? = nil,
        notes: String? = nil, file: String
    ) {
        self.uid = uid
        self.title = title
        self.start = start
        self.end = end
        self.isAllDay = isAllDay
        self.location = location
        self.notes = notes
        self.file = file
    }
}
