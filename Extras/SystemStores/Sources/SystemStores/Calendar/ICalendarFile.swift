#if SystemStores
import CLibical
import Foundation
import Synchronization

/// One iCalendar file, read by libical.
struct ICalendarFile {
    private let path: String
    let timeZone: TimeZone
    let text: String

    /// libical keeps its parser's errors and its time zones in variables of the process.
    static let libical = Mutex<Void>(())

    init(_ data: Data, path: String, timeZone: TimeZone) throws(StoreProblem) {
        self.path = path
        self.timeZone = timeZone
        guard let text = String(data: data, encoding: .utf8) else {
            throw StoreProblem(subject: path, reason: "is not UTF-8 text")
        }
        self.text = text
    }

    func problem(_ reason: String) -> StoreProblem { StoreProblem(subject: path, reason: reason) }

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
        var stepsLeft = Self.mostSteps
        // Before anything is asked for that has a time zone.
        var zoneStepsLeft = Self.mostStepsOfZones
        let found = Self.events(in: root, &zoneStepsLeft)
        stepsLeft -= Self.mostStepsOfZones - zoneStepsLeft
        let events = found.usable.filter { event in
            guard let excess = excess(of: event) else { return true }
            contents.problems.append(problem("\(name(of: event)) \(excess)"))
            return false
        }
        let moved = movedStarts(of: events)
        var leftOut = 0
        for event in events {
            do throws(StoreProblem) {
                let steps = try steps(of: event, in: span)
                guard steps <= stepsLeft, contents.items.count <= Self.mostOccurrences else {
                    leftOut += 1
                    continue
                }
                stepsLeft -= steps
                contents.problems += unreadDates(of: event)
                contents.items += try occurrences(of: event, without: moved, in: span, &stepsLeft)
            } catch {
                contents.problems.append(error)
            }
        }
        if found.leftOut > 0 {
            contents.problems.append(
                problem("has events in time zones that change too often: \(found.leftOut) are left out"))
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

    /// The components directly in a component.
    static func components(_ kind: icalcomponent_kind, in component: OpaquePointer) -> [OpaquePointer] {
        var components: [OpaquePointer] = []
        var child = icalcomponent_get_first_component(component, kind)
        while let one = child {
            components.append(one)
            child = icalcomponent_get_next_component(component, kind)
        }
        return components
    }

    /// The events of a calendar and of the calendars in it, without those in a time zone that takes too long to expand,
    /// and how many these are.
    ///
    /// libical looks for an event's time zone in the event itself, then in each component that contains it.
    /// - Parameter unusable: the names of such zones in the components that contain the calendar.
    private static func events(
        in calendar: OpaquePointer, unusable: Set<String> = [], _ zoneStepsLeft: inout Double
    ) -> (usable: [OpaquePointer], leftOut: Int) {
        var unusable = unusable
        for zone in components(ICAL_VTIMEZONE_COMPONENT, in: calendar)
        where !canExpand(zone, &zoneStepsLeft) {
            if let name = icalcomponent_get_first_property(zone, ICAL_TZID_PROPERTY).flatMap(icalproperty_get_tzid) {
                unusable.insert(String(cString: name))
            }
        }
        let all = components(ICAL_VEVENT_COMPONENT, in: calendar)
        var events = all.filter { event in
            // No calendar has an event with a zone in it.
            components(ICAL_VTIMEZONE_COMPONENT, in: event).isEmpty
                && zonedProperties(of: event).allSatisfy { !unusable.contains($0.zone) }
        }
        var leftOut = all.count - events.count
        for inner in components(ICAL_VCALENDAR_COMPONENT, in: calendar) {
            let more = Self.events(in: inner, unusable: unusable, &zoneStepsLeft)
            events += more.usable
            leftOut += more.leftOut
        }
        return (events, leftOut)
    }

    /// The properties that name a time zone, with the name.
    static func zonedProperties(of event: OpaquePointer) -> [(property: OpaquePointer, zone: String)] {
        properties(ICAL_ANY_PROPERTY, of: event).compactMap { property in
            guard let parameter = icalproperty_get_first_parameter(property, ICAL_TZID_PARAMETER) else { return nil }
            return (property, icalparameter_get_tzid(parameter).map { String(cString: $0) } ?? "")
        }
    }

    /// All properties of a kind, at once: libical keeps one place per component, and the caller may ask for others.
    static func properties(_ kind: icalproperty_kind, of component: OpaquePointer) -> [OpaquePointer] {
        var properties: [OpaquePointer] = []
        var property = icalcomponent_get_first_property(component, kind)
        while let one = property {
            properties.append(one)
            property = icalcomponent_get_next_property(component, kind)
        }
        return properties
    }

    func uid(of event: OpaquePointer) -> String {
        icalcomponent_get_uid(event).map { String(cString: $0) } ?? ""
    }

    /// The seconds of a time since 1970; a time without a zone counts as UTC.
    func seconds(_ time: icaltimetype) -> Int { Int(icaltime_as_timet_with_zone(time, time.zone)) }

    func occurrences(
        of event: OpaquePointer, without moved: [String: Set<Int>], in span: DateInterval, _ stepsLeft: inout Double
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
        let end = time(span.end.addingTimeInterval(Self.margin))
        try endRules(of: event, name: name, at: end, &stepsLeft)
        resolveAdditionalDates(of: event)

        let isDate = first.is_date != 0
        // Floating time: neither UTC nor of a zone, but local time wherever one is.
        let isFloating = isDate || first.zone == nil
        let isException = icaltime_is_null_time(icalcomponent_get_recurrenceid(event)) == 0
        let uid = uid(of: event)
        var found = Occurrences(skipped: isException ? [] : moved[uid] ?? [], limit: Self.mostOccurrences + 1)
        withUnsafeMutablePointer(to: &found) { collector in
            icalcomponent_foreach_recurrence(
                event, time(span.start.addingTimeInterval(-Self.margin)), end,
                { _, span, collector in
                    guard let span, let collector = collector?.assumingMemoryBound(to: Occurrences.self) else { return }
                    collector.pointee.add(start: Int(span.pointee.start), end: Int(span.pointee.end))
                }, collector)
        }
        // Once, and not for each occurrence: they may be long.
        let location = icalcomponent_get_location(event).map { String(cString: $0) }
        let notes = icalcomponent_get_description(event).map { String(cString: $0) }
        let days = isDate ? wholeDays(of: event, from: first) : nil
        return found.spans.compactMap { occurrence in
            let start =
                isFloating ? onWallClock(occurrence.start) : Date(timeIntervalSince1970: Double(occurrence.start))
            // libical's spans of whole days end in the last second of the day that they no longer have.
            let length = days ?? occurrence.end - occurrence.start
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
        var starts: Set<Int> = []

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
    func time(_ date: Date) -> icaltimetype {
        icaltime_from_timet_with_zone(
            time_t(Self.ofACalendar(date.timeIntervalSince1970)), 0, icaltimezone_get_utc_timezone())
    }

    static func ofACalendar(_ seconds: Double) -> Double {
        min(max(seconds, -62_135_596_800), 253_402_300_799)
    }

    /// The local time that shows on the clock what the seconds show in UTC.
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

    /// The seconds around a span that are expanded, enough for every zone; what lies outside of the span is dropped.
    static let margin = 86_400.0 * 2

    private func title(of event: OpaquePointer) -> String {
        icalcomponent_get_summary(event).map { String(cString: $0) } ?? ""
    }

    func name(of event: OpaquePointer) -> String {
        let title = title(of: event)
        return title.isEmpty ? "an event without a title" : "the event “\(title)”"
    }
}

/// Occurrences that are named one by one: RFC 5545, sections 3.8.4.4 (RECURRENCE-ID) and 3.8.5.2 (RDATE).
extension ICalendarFile {
    /// By uid, the original starts of occurrences that have an event of their own in the file.
    func movedStarts(of events: [OpaquePointer]) -> [String: Set<Int>] {
        var moved: [String: Set<Int>] = [:]
        for event in events {
            guard let property = icalcomponent_get_first_property(event, ICAL_RECURRENCEID_PROPERTY) else { continue }
            // icalcomponent_get_recurrenceid would leave out the time zone.
            let id = icalproperty_get_datetime_with_component(property, event)
            if icaltime_is_null_time(id) == 0 { moved[uid(of: event), default: []].insert(seconds(id)) }
        }
        return moved
    }

    /// Changes additional dates in a time zone to UTC: libical 3.0 takes their time for UTC.
    func resolveAdditionalDates(of event: OpaquePointer) {
        for property in Self.properties(ICAL_RDATE_PROPERTY, of: event) {
            var date = icalproperty_get_rdate(property)
            guard icalperiodtype_is_null_period(date.period) != 0 else { continue }
            let time = icalproperty_get_datetime_with_component(property, event)
            guard time.zone != nil else { continue }
            date.time = icaltime_convert_to_zone(time, icaltimezone_get_utc_timezone())
            icalproperty_set_rdate(property, date)
        }
    }

    /// The single dates of an event that are not read, as problems.
    func unreadDates(of event: OpaquePointer) -> [StoreProblem] {
        var problems: [StoreProblem] = []
        let periods = Self.properties(ICAL_RDATE_PROPERTY, of: event).count { property in
            icalperiodtype_is_null_period(icalproperty_get_rdate(property).period) == 0
        }
        if periods > 0 {
            problems.append(
                problem("\(name(of: event)) has additional dates with a duration of their own; left out: \(periods)"))
        }
        if let property = icalcomponent_get_first_property(event, ICAL_RECURRENCEID_PROPERTY),
            icalproperty_get_first_parameter(property, ICAL_RANGE_PARAMETER) != nil
        {
            problems.append(
                problem("\(name(of: event)) changes this and all later occurrences; only this one is changed"))
        }
        return problems
    }
}

extension String {
    fileprivate var lastLine: String {
        split(whereSeparator: \.isNewline).last { !$0.allSatisfy(\.isWhitespace) }.map {
            $0.trimmingCharacters(in: .whitespaces)
        } ?? ""
    }
}
#endif
