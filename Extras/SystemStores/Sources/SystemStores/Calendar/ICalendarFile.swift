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

    /// Single dates of an event, added or left out; libical compares each occurrence with all that are left out.
    private static let mostDates = 10_000
    private static let mostDatesWithExclusions = 100
    /// The occurrences of a file.
    private static let mostOccurrences = 1_000_000
    /// What the expansion of a file may take, in steps of its rules and in occurrences that libical compares with the
    /// dates that are left out: some seconds.
    private static let mostSteps = 10_000_000.0
    /// What a time zone and all those of a file may take. libical expands them anew for later and later years, up to
    /// some ninety times. One with a change in spring and one in autumn takes some thousands, and a file of many
    /// invitations has one for each.
    private static let (mostZoneSteps, mostStepsOfZones) = (200_000.0, 1_000_000.0)
    /// libical adds a duration month by month, each time that it asks when an event ends. 100 years.
    private static let mostDays = 36_525.0
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

    func problem(_ reason: String) -> StoreProblem { StoreProblem(origin: path, reason: reason) }

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
        // Zones are checked before anything is asked for that has one.
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
    private static func components(_ kind: icalcomponent_kind, in component: OpaquePointer) -> [OpaquePointer] {
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
            // No calendar has zones in an event.
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
    private static func zonedProperties(of event: OpaquePointer) -> [(property: OpaquePointer, zone: String)] {
        properties(ICAL_ANY_PROPERTY, of: event).compactMap { property in
            guard let parameter = icalproperty_get_first_parameter(property, ICAL_TZID_PARAMETER) else { return nil }
            return (property, icalparameter_get_tzid(parameter).map { String(cString: $0) } ?? "")
        }
    }

    /// All properties at once: a component remembers one next property, and the caller may ask for others.
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

    /// Since 1970, of a time without a zone as if it were UTC.
    func seconds(_ time: icaltimetype) -> Int { Int(icaltime_as_timet_with_zone(time, time.zone)) }

    private func occurrences(
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

    func name(of event: OpaquePointer) -> String {
        let title = title(of: event)
        return title.isEmpty ? "an event without a title" : "the event “\(title)”"
    }

    /// Why libical might never be done with an event; nil for most.
    private func excess(of event: OpaquePointer) -> String? {
        if let property = icalcomponent_get_first_property(event, ICAL_DURATION_PROPERTY),
            icalproperty_get_value(property) != nil
        {
            let duration = icalproperty_get_duration(property)
            let days = Double(duration.weeks) * 7 + Double(duration.days)
            let seconds = Double(duration.hours) * 3600 + Double(duration.minutes) * 60 + Double(duration.seconds)
            guard days + seconds / 86_400 <= Self.mostDays else { return "lasts longer than 100 years" }
        }
        // libical expands a zone up to this year, and again for every later time.
        let tooLate = "has a time in a time zone after the year \(ICalendarRule.lastYear)"
        for (property, _) in Self.zonedProperties(of: event) {
            if let value = icalproperty_get_value_as_string(property),
                let year = Int(String(cString: value).prefix(4)), year > ICalendarRule.lastYear
            {
                return tooLate
            }
        }
        let end = icalcomponent_get_dtend(event)
        let isInZone = end.zone != nil && end.zone != icaltimezone_get_utc_timezone()
        return isInZone && end.year > ICalendarRule.lastYear ? tooLate : nil
    }

    /// Whether libical can expand a time zone in some seconds.
    ///
    /// It follows the zone's rules from their starts up to the last year, or the year that is asked for.
    /// - Parameter stepsLeft: what all zones of the file may take; less afterwards.
    private static func canExpand(_ zone: OpaquePointer, _ stepsLeft: inout Double) -> Bool {
        guard stepsLeft > 0 else { return false }
        var (steps, searched) = (0.0, 0.0)
        var isBad = false
        var part = icalcomponent_get_first_component(zone, ICAL_ANY_COMPONENT)
        while let one = part, !isBad {
            // The start is read without its zone, which libical would expand.
            if let property = icalcomponent_get_first_property(one, ICAL_DTSTART_PROPERTY) {
                let first = icalproperty_get_dtstart(property)
                forEach(ICAL_RRULE_PROPERTY, icalproperty_get_rrule, of: one) { _, rule in
                    guard !isBad else { return }
                    let cost = ICalendarRule(rule)
                    let until = icaltime_is_null_time(rule.until) == 0 ? Int(rule.until.year) : .max
                    let years = max(0, min(until, ICalendarRule.lastYear) + 1 - Int(first.year))
                    steps += cost.steps(days: Double(years) * 366)
                    // libical ignores a rule whose start is not a valid time.
                    guard icaltime_is_valid_time(first) != 0, first.year <= ICalendarRule.lastYear else { return }
                    isBad =
                        cost.isTooOften || cost.hasFullList || cost.otherCalendar != nil || steps > mostZoneSteps
                        || cost.searchSteps > mostSteps
                    if !isBad, cost.mayNeverCome {
                        isBad = !comes(rule, from: first)
                        searched += isBad ? cost.searchSteps : cost.steps(days: 0)
                    }
                }
            }
            steps += Double(count(ICAL_RDATE_PROPERTY, of: one))
            part = icalcomponent_get_next_component(zone, ICAL_ANY_COMPONENT)
        }
        let canExpand = !isBad && steps <= min(mostZoneSteps, stepsLeft)
        stepsLeft -= canExpand ? steps : searched
        return canExpand
    }

    /// The most steps that libical takes to expand an event.
    ///
    /// It begins at the span, less the event's length, except for a rule with a COUNT, which it follows from the
    /// event's start. Each rule ends with the span. Each occurrence is compared with the dates that are left out, and
    /// with those of rules of exclusion from the event's start on, to their ends.
    ///
    /// - Throws: ``StoreProblem`` if it alone takes too much.
    private func steps(of event: OpaquePointer, in span: DateInterval) throws(StoreProblem) -> Double {
        let first = Double(seconds(icalcomponent_get_dtstart(event)))
        let eventEnd = icalcomponent_get_dtend(event)
        let length = icaltime_is_null_time(eventEnd) == 0 ? max(0, Double(seconds(eventEnd)) - first) : 0
        // libical counts the length with 32 bits.
        let before = length <= Double(Int32.max) ? length : .infinity
        let begin = max(first, Self.ofACalendar(span.start.timeIntervalSince1970 - Self.margin) - before)
        let end = min(Self.ofACalendar(span.end.timeIntervalSince1970 + Self.margin), Self.endOfRules)
        func days(_ rule: icalrecurrencetype, from start: Double) -> Double {
            let last = icaltime_is_null_time(rule.until) == 0 ? min(end, Double(seconds(rule.until))) : end
            return max(0, last - start) / 86_400
        }
        var (steps, occurrences, exclusions, search) = (1.0, 1.0, 1.0, 0.0)
        Self.forEach(ICAL_RRULE_PROPERTY, icalproperty_get_rrule, of: event) { _, rule in
            let cost = ICalendarRule(rule)
            let start = rule.count > 0 ? first : begin
            let days = days(rule, from: start)
            // A rule with a COUNT is followed twice, and counted twice here.
            steps += cost.steps(days: days, skipped: (start - first) / 86_400) * (rule.count > 0 ? 2 : 1)
            occurrences += cost.occurrences(days: days)
            search = max(search, cost.searchSteps)
        }
        Self.forEach(ICAL_EXRULE_PROPERTY, icalproperty_get_exrule, of: event) { _, rule in
            let cost = ICalendarRule(rule)
            exclusions += cost.steps(days: days(rule, from: first))
            search = max(search, cost.searchSteps)
        }
        occurrences += Double(Self.count(ICAL_RDATE_PROPERTY, of: event))
        steps += occurrences * (exclusions + Double(Self.count(ICAL_EXDATE_PROPERTY, of: event)))
        guard max(steps, search) <= Self.mostSteps else {
            throw problem("\(name(of: event)) repeats too often to be expanded")
        }
        return steps
    }

    /// The end of the last year that libical's rules have.
    private static let endOfRules = Double(DayNumber.of(year: ICalendarRule.lastYear + 1, month: 1, day: 1)) * 86_400

    private func checkRules(of event: OpaquePointer, name: String) throws(StoreProblem) {
        try check(ICAL_RRULE_PROPERTY, icalproperty_get_rrule, of: event, name: name)
        try check(ICAL_EXRULE_PROPERTY, icalproperty_get_exrule, of: event, name: name)
        // libical follows the rules of exclusion for each single date.
        let most = Self.count(ICAL_EXRULE_PROPERTY, of: event) > 0 ? Self.mostDatesWithExclusions : Self.mostDates
        let dates = Self.count(ICAL_RDATE_PROPERTY, of: event) + Self.count(ICAL_EXDATE_PROPERTY, of: event)
        guard dates <= most else { throw problem("\(name) has \(dates) single dates, more than \(most)") }
    }

    private static func count(_ kind: icalproperty_kind, of component: OpaquePointer) -> Int {
        Int(icalcomponent_count_properties(component, kind))
    }

    private func check(
        _ kind: icalproperty_kind, _ rule: (OpaquePointer) -> icalrecurrencetype, of event: OpaquePointer, name: String
    ) throws(StoreProblem) {
        var reason: String?
        Self.forEach(kind, rule, of: event) { _, rule in
            let rule = ICalendarRule(rule)
            if rule.hasFullList { reason = "repeats by a list that is too long" }
            if rule.isTooOften { reason = "repeats more than \(ICalendarRule.mostOccurrencesADay) times a day" }
            if let calendar = rule.otherCalendar,
                rule.mayNeverEnd(fromLeapMonth: Self.isInChineseLeapMonth(icalcomponent_get_dtstart(event)))
            {
                reason = "repeats on days of the \(calendar) calendar that may never come"
            }
        }
        if let reason { throw problem("\(name) \(reason)") }
    }

    private static func isInChineseLeapMonth(_ time: icaltimetype) -> Bool {
        var calendar = Foundation.Calendar(identifier: .chinese)
        calendar.timeZone = .gmt
        let days = DayNumber.of(year: Int(time.year), month: Int(time.month), day: Int(time.day))
        let day = Date(timeIntervalSince1970: (Double(days) + 0.5) * 86_400)
        return calendar.dateComponents([.month], from: day).isLeapMonth ?? false
    }

    /// Ends each rule of an event with the span, since libical passes over days that a rule does not let through
    /// without asking where the span ends.
    ///
    /// Neither does it ask while it looks for the first month or year that has a day of a rule. A rule that has none is
    /// a problem.
    private func endRules(
        of event: OpaquePointer, name: String, at end: icaltimetype, _ stepsLeft: inout Double
    ) throws(StoreProblem) {
        let first = icalcomponent_get_dtstart(event)
        var searched = 0.0
        var neverComes = false
        /// Nil for a rule that is to stay as it is.
        func ended(_ rule: icalrecurrencetype) -> icalrecurrencetype? {
            let cost = ICalendarRule(rule)
            guard !neverComes else { return nil }
            if cost.mayNeverCome, !Self.comes(rule, from: first) {
                neverComes = true
                searched = cost.searchSteps
                return nil
            }
            var rule = rule
            guard icaltime_is_null_time(rule.until) != 0 || icaltime_compare(rule.until, end) > 0 else { return nil }
            rule.until = end
            if rule.count > 0 {
                // libical keeps no rule with both.
                if Self.isCountReached(by: rule, from: first) { return nil }
                rule.count = 0
            }
            return rule
        }
        Self.forEach(ICAL_RRULE_PROPERTY, icalproperty_get_rrule, of: event) { property, rule in
            if let rule = ended(rule) { icalproperty_set_rrule(property, rule) }
        }
        Self.forEach(ICAL_EXRULE_PROPERTY, icalproperty_get_exrule, of: event) { property, rule in
            if let rule = ended(rule) { icalproperty_set_exrule(property, rule) }
        }
        stepsLeft -= searched
        if neverComes { throw problem("\(name) repeats on days that never come") }
    }

    /// Whether a rule has a day at all.
    private static func comes(_ rule: icalrecurrencetype, from first: icaltimetype) -> Bool {
        var rule = rule
        rule.until = icaltime_null_time()
        guard let iterator = icalrecur_iterator_new(rule, first) else { return false }
        defer { icalrecur_iterator_free(iterator) }
        return icaltime_is_null_time(icalrecur_iterator_next(iterator)) == 0
    }

    /// Whether a rule with a COUNT has as many occurrences before it ends otherwise.
    private static func isCountReached(by rule: icalrecurrencetype, from first: icaltimetype) -> Bool {
        guard let iterator = icalrecur_iterator_new(rule, first) else { return true }
        defer { icalrecur_iterator_free(iterator) }
        for _ in 0..<rule.count {
            if icaltime_is_null_time(icalrecur_iterator_next(iterator)) != 0 { return false }
        }
        return true
    }

    private static func forEach(
        _ kind: icalproperty_kind, _ rule: (OpaquePointer) -> icalrecurrencetype, of component: OpaquePointer,
        _ body: (OpaquePointer, icalrecurrencetype) -> Void
    ) {
        for property in properties(kind, of: component) { body(property, rule(property)) }
    }
}

extension String {
    fileprivate var lastLine: String {
        split(whereSeparator: \.isNewline).last { !$0.allSatisfy(\.isWhitespace) }.map {
            $0.trimmingCharacters(in: .whitespaces)
        } ?? ""
    }
}
