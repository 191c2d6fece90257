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
    /// The occurrences of a file.
    private static let mostOccurrences = 1_000_000
    /// What the expansion of a file may take, in occurrences that libical looks at: some seconds.
    private static let mostSteps = 10_000_000.0
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
        var stepsLeft = Self.mostSteps
        var leftOut = 0
        for event in events {
            do throws(StoreProblem) {
                let steps = try steps(of: event, in: span)
                guard steps <= stepsLeft, contents.items.count <= Self.mostOccurrences else {
                    leftOut += 1
                    continue
                }
                stepsLeft -= steps
                contents.items += try occurrences(of: event, without: moved, in: span)
            } catch {
                contents.problems.append(error)
            }
        }
        if leftOut > 0 {
            contents.problems.append(
                problem("has events that repeat too often to be expanded: \(leftOut) are left out"))
        }
        if contents.items.count > Self.mostOccurrences {
            contents.items.removeLast(contents.items.count - Self.mostOccurrences)
            contents.problems.append(
                problem(
                    "has more than \(Self.mostOccurrences) occurrences in this time: those of its last events are left out"
                ))
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
        let title = title(of: event)
        let name = name(of: event)
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
        let uid = uid(of: event)
        var found = Occurrences(skipped: isException ? [] : moved[uid] ?? [], limit: Self.mostOccurrences + 1)
        withUnsafeMutablePointer(to: &found) { collector in
            icalcomponent_foreach_recurrence(
                event, time(span.start.addingTimeInterval(-Self.margin)),
                time(span.end.addingTimeInterval(Self.margin)),
                { _, span, collector in
                    guard let span, let collector = collector?.assumingMemoryBound(to: Occurrences.self) else { return }
                    collector.pointee.add(start: Int(span.pointee.start), end: Int(span.pointee.end))
                }, collector)
        }
        // Once, and not for each occurrence: they may be long.
        let location = icalcomponent_get_location(event).map { String(cString: $0) }
        let notes = icalcomponent_get_description(event).map { String(cString: $0) }
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
                uid: uid, title: title, start: start, end: max(start, end), isAllDay: isDate, location: location,
                notes: notes, file: path)
        }
    }

    private struct Occurrences {
        let skipped: Set<Int>
        let limit: Int
        private(set) var spans: [(start: Int, end: Int)] = []
        private var starts: Set<Int> = []

        init(skipped: Set<Int>, limit: Int) { (self.skipped, self.limit) = (skipped, limit) }

        mutating func add(start: Int, end: Int) {
            if spans.count < limit, !skipped.contains(start), starts.insert(start).inserted {
                spans.append((start, end))
            }
        }
    }

    /// Seconds from the first day's beginning to that of the day after the last one.
    private func wholeDays(of event: OpaquePointer, from start: icaltimetype) -> Int {
        max(86_400, seconds(icalcomponent_get_dtend(event)) - seconds(start))
    }

    /// A time of the years 1 to 9999, which iCalendar has.
    private func time(_ date: Date) -> icaltimetype {
        icaltime_from_timet_with_zone(
            time_t(Self.ofACalendar(date.timeIntervalSince1970)), 0, icaltimezone_get_utc_timezone())
    }

    private static func ofACalendar(_ seconds: Double) -> Double {
        min(max(seconds, -62_135_596_800), 253_402_300_799)
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

    /// Wide enough for every zone; what lies outside of the span is dropped.
    private static let margin = 86_400.0 * 2

    private func title(of event: OpaquePointer) -> String {
        icalcomponent_get_summary(event).map { String(cString: $0) } ?? ""
    }

    private func name(of event: OpaquePointer) -> String {
        let title = title(of: event)
        return title.isEmpty ? "an event without a title" : "the event “\(title)”"
    }

    /// The occurrences that libical looks at, at most, to expand an event.
    ///
    /// It begins at the span, except for a rule with a COUNT, which it follows from the event's start. Each occurrence
    /// is compared with the dates that are left out, and with those of rules of exclusion from the event's start on.
    ///
    /// - Throws: ``StoreProblem`` if it alone takes too many.
    private func steps(of event: OpaquePointer, in span: DateInterval) throws(StoreProblem) -> Double {
        let first = Double(seconds(icalcomponent_get_dtstart(event)))
        let begin = max(first, Self.ofACalendar(span.start.timeIntervalSince1970 - Self.margin))
        let end = Self.ofACalendar(span.end.timeIntervalSince1970 + Self.margin)
        /// The occurrences of a rule from a time on.
        func count(_ rule: inout icalrecurrencetype, from start: Double) -> Double {
            let last = icaltime_is_null_time(rule.until) == 0 ? min(end, Double(seconds(rule.until))) : end
            let occurrences = max(0, last - start) / 86_400 * Self.occurrencesADay(&rule) + 1
            return rule.count > 0 ? min(occurrences, Double(rule.count)) : occurrences
        }
        var (steps, exclusions) = (1.0, 1.0)
        Self.forEach(ICAL_RRULE_PROPERTY, icalproperty_get_rrule, of: event) { rule in
            steps += count(&rule, from: rule.count > 0 ? first : begin)
        }
        Self.forEach(ICAL_EXRULE_PROPERTY, icalproperty_get_exrule, of: event) { rule in
            exclusions += count(&rule, from: first)
        }
        steps += Double(Self.count(ICAL_RDATE_PROPERTY, of: event))
        steps *= exclusions + Double(Self.count(ICAL_EXDATE_PROPERTY, of: event))
        guard steps <= Self.mostSteps else { throw problem("\(name(of: event)) repeats too often to be expanded") }
        return steps
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
        var isTooOften = false
        Self.forEach(kind, rule, of: event) { rule in
            let isOften = [ICAL_SECONDLY_RECURRENCE, ICAL_MINUTELY_RECURRENCE, ICAL_HOURLY_RECURRENCE].contains(
                rule.freq)
            if isOften || Self.timesADay(&rule) > Self.mostOccurrencesADay { isTooOften = true }
        }
        if isTooOften { throw problem("\(name) repeats more than \(Self.mostOccurrencesADay) times a day") }
    }

    private static func forEach(
        _ kind: icalproperty_kind, _ rule: (OpaquePointer) -> icalrecurrencetype, of event: OpaquePointer,
        _ body: (inout icalrecurrencetype) -> Void
    ) {
        var property = icalcomponent_get_first_property(event, kind)
        while let one = property {
            var rule = rule(one)
            body(&rule)
            property = icalcomponent_get_next_property(event, kind)
        }
    }

    /// On the average, at most, of a rule that repeats daily at most.
    private static func occurrencesADay(_ rule: inout icalrecurrencetype) -> Double {
        let weekdays = withUnsafeBytes(of: &rule.by_day) { entries($0) }
        let monthDays = withUnsafeBytes(of: &rule.by_month_day) { entries($0) }
        let months = withUnsafeBytes(of: &rule.by_month) { entries($0) }
        let others =
            withUnsafeBytes(of: &rule.by_year_day) { entries($0) }
            + 7 * withUnsafeBytes(of: &rule.by_week_no) { entries($0) }
        let (days, length) =
            switch rule.freq {
            case ICAL_WEEKLY_RECURRENCE: (weekdays, 7)
            // A weekday is in a month five times.
            case ICAL_MONTHLY_RECURRENCE: (max(5 * weekdays, monthDays), 28)
            case ICAL_YEARLY_RECURRENCE:
                (max(53 * weekdays, max(1, monthDays) * (months == 0 ? 12 * min(1, monthDays) : months), others), 365)
            default: (1, 1)
            }
        return Double(timesADay(&rule) * min(max(1, days), length)) / Double(length * max(1, Int(rule.interval)))
    }

    /// Of a rule that repeats daily at most.
    private static func timesADay(_ rule: inout icalrecurrencetype) -> Int {
        withUnsafeBytes(of: &rule.by_hour) { count($0) } * withUnsafeBytes(of: &rule.by_minute) { count($0) }
            * withUnsafeBytes(of: &rule.by_second) { count($0) }
    }

    /// Entries of one of a rule's lists, at least one.
    private static func count(_ list: UnsafeRawBufferPointer) -> Int { max(1, entries(list)) }

    private static func entries(_ list: UnsafeRawBufferPointer) -> Int {
        let values = list.bindMemory(to: CShort.self)
        return values.firstIndex(of: CShort(ICAL_RECURRENCE_ARRAY_MAX.rawValue)) ?? values.count
    }
}

extension String {
    fileprivate var lastLine: String {
        split(whereSeparator: \.isNewline).last { !$0.allSatisfy(\.isWhitespace) }.map {
            $0.trimmingCharacters(in: .whitespaces)
        } ?? ""
    }
}
