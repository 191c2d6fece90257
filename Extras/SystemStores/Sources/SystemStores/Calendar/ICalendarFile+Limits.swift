#if SystemStores
import CLibical
import Foundation

/// The limits on what libical may take for a file.
extension ICalendarFile {
    /// The single dates of an event, added or left out. libical compares each occurrence with all that are left out.
    private static let mostDates = 10_000
    private static let mostDatesWithExclusions = 100
    /// The occurrences of a file.
    static let mostOccurrences = 1_000_000
    /// The steps that the expansion of a file may take, some seconds: steps of its rules, and comparisons of an
    /// occurrence with a date that is left out.
    static let mostSteps = 10_000_000.0
    /// The steps that a time zone may take, and all zones of a file. libical expands zones anew for later and later
    /// years, up to some ninety times. A zone with a change in spring and one in autumn takes some thousands, and a
    /// file of many invitations has one for each.
    static let (mostZoneSteps, mostStepsOfZones) = (200_000.0, 1_000_000.0)
    /// The longest duration, 100 years: libical adds it month by month, each time that it asks when an event ends.
    private static let mostDays = 36_525.0
    /// The deepest level of components; a calendar, an event and its alarm are three.
    static let deepestNesting = 32

    /// Why libical might never be done with an event; nil for most.
    func excess(of event: OpaquePointer) -> String? {
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
    /// libical follows the zone's rules from their starts up to the last year, or the year that is asked for.
    /// - Parameter stepsLeft: what all zones of the file may take; less afterwards.
    static func canExpand(_ zone: OpaquePointer, _ stepsLeft: inout Double) -> Bool {
        guard stepsLeft > 0 else { return false }
        var (steps, searched) = (0.0, 0.0)
        var isBad = false
        var part = icalcomponent_get_first_component(zone, ICAL_ANY_COMPONENT)
        while let one = part, !isBad {
            // The time is taken as it is: a look for its zone would expand the zone.
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
    /// libical begins at the span, less the event's length, except for a rule with a COUNT, which it follows from the
    /// event's start. Each rule ends with the span. Each occurrence is compared with the dates that are left out, and
    /// with those of rules of exclusion from the event's start on, to their ends.
    ///
    /// - Throws: ``StoreProblem`` if it alone takes too much.
    func steps(of event: OpaquePointer, in span: DateInterval) throws(StoreProblem) -> Double {
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
            // A rule with a COUNT is followed twice, since it is followed here, too.
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

    func checkRules(of event: OpaquePointer, name: String) throws(StoreProblem) {
        try check(ICAL_RRULE_PROPERTY, icalproperty_get_rrule, of: event, name: name)
        try check(ICAL_EXRULE_PROPERTY, icalproperty_get_exrule, of: event, name: name)
        // For each single date libical follows the rules of exclusion.
        let most = Self.count(ICAL_EXRULE_PROPERTY, of: event) > 0 ? Self.mostDatesWithExclusions : Self.mostDates
        let dates = Self.count(ICAL_RDATE_PROPERTY, of: event) + Self.count(ICAL_EXDATE_PROPERTY, of: event)
        guard dates <= most else { throw problem("\(name) has \(dates) single dates, more than \(most)") }
    }

    static func count(_ kind: icalproperty_kind, of component: OpaquePointer) -> Int {
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
    func endRules(
        of event: OpaquePointer, name: String, at end: icaltimetype, _ stepsLeft: inout Double
    ) throws(StoreProblem) {
        let first = icalcomponent_get_dtstart(event)
        var searched = 0.0
        var neverComes = false
        /// The rule that ends with the span; nil for a rule that stays as it is.
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

/// How deep the components of an iCalendar text are nested, before it is parsed.
enum ICalendarNesting {
    /// Whether the components are nested deeper than a limit. A doubtful text counts as deep: `BEGIN` counts with
    /// blanks in it, too, which libical may drop, and `END` only without.
    ///
    /// O(text).
    static func isDeeper(than limit: Int, in text: String) -> Bool {
        var depth = 0
        var name: [UInt8] = []
        var hasBlanks = false
        var isName = true
        // A line break before a blank is none (RFC 5545, section 3.1).
        var isAtEnd = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\n") {
                isAtEnd = true
                continue
            }
            let isFold = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            if isAtEnd {
                isAtEnd = false
                if isFold { continue }
                (name, hasBlanks, isName) = ([], false, true)
            }
            guard isName else { continue }
            if byte == UInt8(ascii: ":") || byte == UInt8(ascii: ";") {
                isName = false
                if name.elementsEqual("BEGIN".utf8) { depth += 1 }
                if name.elementsEqual("END".utf8), !hasBlanks { depth = max(0, depth - 1) }
                if depth > limit { return true }
            } else if isFold || byte == UInt8(ascii: "\r") {
                hasBlanks = true
            } else if name.count < 8 {
                // The mask makes capitals.
                name.append(byte & 0xDF)
            }
        }
        return false
    }
}
#endif
