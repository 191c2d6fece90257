import CLibical

/// Occurrences that are named one by one: RFC 5545, sections 3.8.4.4 (RECURRENCE-ID) and 3.8.5.2 (RDATE).
extension ICalendarFile {
    /// The original starts, by uid, of occurrences that have an event of their own in the file.
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
