import CLibical
import Foundation
import Synchronization

/// One iCalendar file, read by libical.
struct ICalendarFile {
    private let path: String
    private let timeZone: TimeZone
    private let text: String

    /// libical keeps its parser's errors and its time zones in variables of the process.
    private static let libical = Mutex<Void>(())

    /// Rules that repeat more often per day are rejected: they are not appointments, and would expand endlessly.
    private static let mostOccurrencesADay = 24
    /// Single dates of an event, added or left out; libical compares each occurrence with all that are left out.
    private static let mostDates = 10_000
    private static let mostDatesWithExclusions = 100
    /// A calendar, an event and its alarm are three levels.
    private static let deepestNesting = 32

    init(_ data: Data, path: String, timeZone: TimeZone) throws(StoreProblem) {
        self.path = path
        self.timeZone = timeZone
        guard let text = String(data: data, encoding: .utf8) else {
            throw StoreProblem(origin: path, reason: "is not UTF-8 text")
        }
        self.text = text
    }

    private func problem(_ reason: String) -> StoreProblem { StoreProblem(origin: path, reason: reason) }

    func occurrences(in span: DateInterval) throws(StoreProblem) -> StoreContents<CalendarEvent> {
        let result: Result<StoreContents<CalendarEvent>, StoreProblem> = Self.libical.withLock { _ in
            Result { () throws(StoreProblem) in try read(span) }
        }
        return try result.get()
    }

    private func read(_ span: DateInterval) throws(StoreProblem) -> StoreContents<CalendarEvent> {
        icalerror_set_errors_are_fatal(0)
        // libical frees what is nested by recursion.
        guard !ICalendarNesting.isDeeper(than: Self.deepestNesting, in: text) else {
            throw problem("nests components more than \(Self.deepestNesting) deep")
        }
        let begins = text.drop(while: \.isWhitespace).uppercased().hasPrefix("BEGIN:VCALENDAR")
        guard begins, let root = icalparser_parse_string(text) else {
            throw problem(begins ? "truncated: no END:VCALENDAR" : "is not an iCalendar file")
        }
        defer { icalcomponent_free(root) }
        guard icalcomponent_isa(root) == ICAL_VCALENDAR_COMPONENT || icalcomponent_isa(root) == ICAL_XROOT_COMPONENT
        else {
            throw problem("is not an iCalendar file")
        }
        var contents = StoreContents<CalendarEvent>(items: [])
        // libical silently completes truncated files.
        if text.lastLine.uppercased() != "END:VCALENDAR" {
            contents.problems.append(problem("truncated: no END:VCALENDAR"))
        }
        let events = Self.events(in: root)
        let moved = movedStarts(of: events)
        for event in events {
            do throws(StoreProblem) {
                contents.items += try occurrences(of: event, without: moved, in: span)
            } catch {
                contents.problems.append(error)
            }
        }
        return contents
    }

    /// All events, of each of the calendars in the file.
    private static func events(in component: OpaquePointer) -> [OpaquePointer] {
        var events: [OpaquePointer] = []
        var child = icalcomponent_get_first_component(component, ICAL_ANY_COMPONENT)
        while let one = child {
            if icalcomponent_isa(one) == ICAL_VEVENT_COMPONENT { events.append(one) }
            if icalcomponent_isa(one) == ICAL_VCALENDAR_COMPONENT { events += Self.events(in: one) }
            child = icalcomponent_get_next_component(component, ICAL_ANY_COMPONENT)
        }
        return events
    }

    /// By uid, the original starts of occurrences that have an event of their own in the file.
    private func movedStarts(of events: [OpaquePointer]) -> [String: Set<Int>] {
        var moved: [String: Set<Int>] = [:]
        for event in events {
            let id = icalcomponent_get_recurrenceid(event)
            if icaltime_is_null_time(id) == 0 { moved[uid(of: event), default: []].insert(seconds(id)) }
        }
        return moved
    }

    private func uid(of event: OpaquePointer) -> String {
        icalcomponent_get_uid(event).map { String(cString: $0) } ?? ""
    }

    /// Since 1970, of a time without a zone as if it were UTC.
    private func seconds(_ time: icaltimetype) -> Int { Int(icaltime_as_timet_with_zone(time, time.zone)) }

    private func occurrences(
        of event: OpaquePointer, without moved: [String: Set<Int>], in span: DateInterval
    ) throws(StoreProblem) -> [CalendarEvent] {
        let title = icalcomponent_get_summary(event).map { String(cString: $0) } ?? ""
        let name = title.isEmpty ? "an event without a title" : "the event “\(title)”"
        let first = icalcomponent_get_dtstart(event)
        guard icaltime_is_null_time(first) == 0, icaltime_is_valid_time(first) != 0 else {
            throw problem("\(name) has no start that can be read")
        }
        if let zone = unknownZone(of: event, start: first) {
            throw problem("\(name) is in the time zone “\(zone)”, which is neither in the file nor one of the system's")
        }
        if icalcomponent_get_status(event) == ICAL_STATUS_CANCELLED { return [] }
        try checkRules(of: event, name: name)

        let isDate = first.is_date != 0
        // Floating time: neither UTC nor of a zone, but local time wherever one is.
        let isFloating = isDate || first.zone == nil
        let isException = icaltime_is_null_time(icalcomponent_get_recurrenceid(event)) == 0
        var found = Occurrences(skipped: isException ? [] : moved[uid(of: event)] ?? [])
        // Wide enough for every zone; what lies outside is dropped below.
        let margin = 86_400.0 * 2
        withUnsafeMutablePointer(to: &found) { collector in
            icalcomponent_foreach_recurrence(
                event, time(span.start.addingTimeInterval(-margin)), time(span.end.addingTimeInterval(margin)),
                { _, span, collector in
                    guard let span, let collector = collector?.assumingMemoryBound(to: Occurrences.self) else { return }
                    collector.pointee.add(start: Int(span.pointee.start), end: Int(span.pointee.end))
                }, collector)
        }
        return found.spans.compactMap { occurrence in
            let start =
                isFloating ? onWallClock(occurrence.start) : Date(timeIntervalSince1970: Double(occurrence.start))
            // libical's spans of whole days end in the last second of the day that they no longer have.
            let length = isDate ? wholeDays(of: event, from: first) : occurrence.end - occurrence.start
            let end =
                isFloating
                ? onWallClock(occurrence.start + length)
                : Date(timeIntervalSince1970: Double(occurrence.start + length))
            let overlaps = start < span.end && (end > span.start || end == start && start >= span.start)
            guard overlaps else { return nil }
            return CalendarEvent(
                uid: uid(of: event), title: title, start: start, end: max(start, end), isAllDay: isDate,
                location: icalcomponent_get_location(event).map { String(cString: $0) },
                notes: icalcomponent_get_description(event).map { String(cString: $0) }, file: path)
        }
    }

    private struct Occurrences {
        let skipped: Set<Int>
        private(set) var spans: [(start: Int, end: Int)] = []
        private var starts: Set<Int> = []

        init(skipped: Set<Int>) { self.skipped = skipped }

        mutating func add(start: Int, end: Int) {
            if !skipped.contains(start), starts.insert(start).inserted { spans.append((start, end)) }
        }
    }

    /// Seconds from the first day's beginning to that of the day after the last one.
    private func wholeDays(of event: OpaquePointer, from start: icaltimetype) -> Int {
        max(86_400, seconds(icalcomponent_get_dtend(event)) - seconds(start))
    }

    private func time(_ date: Date) -> icaltimetype {
        icaltime_from_timet_with_zone(time_t(date.timeIntervalSince1970), 0, icaltimezone_get_utc_timezone())
    }

    /// Seconds as if in UTC, read as local time.
    private func onWallClock(_ seconds: Int) -> Date {
        var calendar = Foundation.Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let fields = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: Double(seconds)))
        calendar.timeZone = timeZone
        return calendar.date(from: fields) ?? Date(timeIntervalSince1970: Double(seconds))
    }

    /// The zone that the start names and that could not be found.
    private func unknownZone(of event: OpaquePointer, start: icaltimetype) -> String? {
        guard start.zone == nil, start.is_date == 0,
            let property = icalcomponent_get_first_property(event, ICAL_DTSTART_PROPERTY),
            let parameter = icalproperty_get_first_parameter(property, ICAL_TZID_PARAMETER),
            let name = icalparameter_get_tzid(parameter)
        else { return nil }
        return String(cString: name)
    }

    private func checkRules(of event: OpaquePointer, name: String) throws(StoreProblem) {
        try check(ICAL_RRULE_PROPERTY, icalproperty_get_rrule, of: event, name: name)
        try check(ICAL_EXRULE_PROPERTY, icalproperty_get_exrule, of: event, name: name)
        // For each single date libical follows the rules of exclusion, which may go on for centuries.
        let most = Self.count(ICAL_EXRULE_PROPERTY, of: event) > 0 ? Self.mostDatesWithExclusions : Self.mostDates
        let dates = Self.count(ICAL_RDATE_PROPERTY, of: event) + Self.count(ICAL_EXDATE_PROPERTY, of: event)
        guard dates <= most else { throw problem("\(name) has \(dates) single dates, more than \(most)") }
    }

    private static func count(_ kind: icalproperty_kind, of event: OpaquePointer) -> Int {
        Int(icalcomponent_count_properties(event, kind))
    }

    private func check(
        _ kind: icalproperty_kind, _ rule: (OpaquePointer) -> icalrecurrencetype, of event: OpaquePointer, name: String
    ) throws(StoreProblem) {
        var property = icalcomponent_get_first_property(event, kind)
        while let one = property {
            var rule = rule(one)
            let daily =
                withUnsafeBytes(of: &rule.by_hour) { Self.count($0) }
                * withUnsafeBytes(of: &rule.by_minute) { Self.count($0) }
                * withUnsafeBytes(of: &rule.by_second) { Self.count($0) }
            let isOften = [ICAL_SECONDLY_RECURRENCE, ICAL_MINUTELY_RECURRENCE, ICAL_HOURLY_RECURRENCE].contains(
                rule.freq)
            if isOften || daily > Self.mostOccurrencesADay {
                throw problem("\(name) repeats more than \(Self.mostOccurrencesADay) times a day")
            }
            property = icalcomponent_get_next_property(event, kind)
        }
    }

    /// Entries of one of a rule's lists, at least one.
    private static func count(_ list: UnsafeRawBufferPointer) -> Int {
        let values = list.bindMemory(to: CShort.self)
        return max(1, values.firstIndex(of: CShort(ICAL_RECURRENCE_ARRAY_MAX.rawValue)) ?? values.count)
    }
}

extension String {
    fileprivate var lastLine: String {
        split(whereSeparator: \.isNewline).last { !$0.allSatisfy(\.isWhitespace) }.map {
            $0.trimmingCharacters(in: .whitespaces)
        } ?? ""
    }
}
