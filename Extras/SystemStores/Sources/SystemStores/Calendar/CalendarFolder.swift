#if SystemStores
public import Foundation

/// A calendar as a folder of iCalendar files, as vdirsyncer and the exports of calendar servers keep it: `.ics` files,
/// in the folder and its subfolders, one per calendar, with one or more events each (RFC 5545).
public struct CalendarFolder: DatedStore {
    public typealias Item = CalendarEvent

    public let url: URL
    /// The time zone of times without one, and of whole days.
    public let timeZone: TimeZone

    private var folder: StoreFolder { StoreFolder(url: url, pathExtensions: ["ics"], largestFile: 32 << 20) }

    public init(_ url: URL, timeZone: TimeZone = .current) {
        self.url = url
        self.timeZone = timeZone
    }

    /// The occurrences of events that overlap a span of time, by their start. Repeating events are expanded, with their
    /// exceptions and moved occurrences; cancelled ones are left out.
    ///
    /// A file that cannot be read, or an event in it, is reported, and the rest is returned. So are events that would
    /// take too long to expand, events that last longer than 100 years or repeat on days that never come, such as the
    /// 30th of February, times in a time zone after the year 2582, and what comes after the first million occurrences
    /// of a file. In other calendars than the Gregorian one (RFC 7529), rules by months or years are read without
    /// further conditions only.
    /// - Throws: ``StoreProblem`` when the folder cannot be read, and `CancellationError`.
    public func items(in span: DateInterval) async throws -> StoreContents<CalendarEvent> { try events(in: span) }

    /// The occurrences of events that overlap a span of time, read on the thread of the caller; see ``items(in:)``.
    ///
    /// - Throws: ``StoreProblem`` when the folder cannot be read, and `CancellationError` in a cancelled task.
    public func events(in span: DateInterval) throws -> StoreContents<CalendarEvent> {
        var contents = StoreContents<CalendarEvent>(items: [])
        for file in try folder.files() {
            try Task.checkCancellation()
            do throws(StoreProblem) {
                let read = try ICalendarFile(folder.data(of: file), path: file.path, timeZone: timeZone)
                    .occurrences(in: span)
                contents.items += read.items
                contents.problems += read.problems
            } catch {
                contents.problems.append(error)
            }
        }
        contents.items.sort { ($0.start, $0.title, $0.uid) < ($1.start, $1.title, $1.uid) }
        return contents
    }

    /// The events of the next days whose title contains one of the names, with these names.
    ///
    /// - Parameters:
    ///   - days: the number of days; more than 10,000 years are as many.
    ///   - now: when the span begins.
    public func upcoming(
        naming names: some Sequence<String> & Sendable, days: Int = 90, from now: Date = .now
    ) async throws -> (matches: [(event: CalendarEvent, names: [String])], problems: [StoreProblem]) {
        let matcher = NameMatcher(names)
        var calendar = Foundation.Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let days = min(max(0, days), Self.mostDays)
        let end =
            calendar.date(byAdding: .day, value: days, to: now) ?? now.addingTimeInterval(Double(days) * 86_400)
        let contents = try await items(in: DateInterval(start: now, end: end))
        let matches = contents.items.map { (event: $0, names: matcher.names(in: $0.title)) }.filter {
            !$0.names.isEmpty
        }
        return (matches, contents.problems)
    }

    /// 10,000 years.
    private static let mostDays = 3_652_425

    public func changes() throws -> AsyncStream<Void> { try FolderChanges.stream(of: url) }
}

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
#endif
