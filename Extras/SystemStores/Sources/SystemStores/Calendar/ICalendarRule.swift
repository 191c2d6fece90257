#if SystemStores
import CLibical

/// A rule of repetition, and what it takes libical 3.0 to follow it (its `icalrecur.c`).
///
/// What it takes is counted in steps: days, weeks, months or years that libical looks at, and what it does in each. One
/// takes about a microsecond.
struct ICalendarRule {
    /// A list of the rule has no room for an end any more, and libical reads on in the next one.
    let hasFullList: Bool
    /// The calendar that it counts in, in lowercase (RFC 7529); nil for the Gregorian one.
    let otherCalendar: String?

    private let frequency: icalrecurrencetype_frequency
    private let interval: Int
    private let count: Int
    private let timesADay: Int
    /// Entries of its lists. Weekdays are with or without a position, as in “the last Friday”.
    private let weekdays: Int
    private let weekdaysAtPosition: Int
    private let monthDays: Int
    private let months: Int
    private let yearDays: Int
    private let weeks: Int
    private let positions: Int

    /// The year in which libical ends all repetitions.
    static let lastYear = 2582
    /// Where it stops looking for the first month or year that has a day of a rule.
    private static let lastSearchedYear = 20_000.0
    /// Rules that repeat more often per day are rejected: they are not appointments, and would expand endlessly.
    static let mostOccurrencesADay = 24

    init(_ rule: icalrecurrencetype) {
        frequency = rule.freq
        interval = max(1, Int(rule.interval))
        count = Int(rule.count)
        let name = rule.rscale.map { String(cString: $0).lowercased() }
        otherCalendar = name == "gregorian" ? nil : name
        var isFull = false
        func entries<List>(_ list: List) -> [CShort] {
            withUnsafeBytes(of: list) { bytes in
                let values = bytes.bindMemory(to: CShort.self)
                let end = values.firstIndex(of: CShort(ICAL_RECURRENCE_ARRAY_MAX.rawValue))
                if end == nil { isFull = true }
                return Array(values[..<(end ?? values.count)])
            }
        }
        let days = entries(rule.by_day)
        // The weekday is the value modulo 8, and the position before it what is left.
        weekdays = days.filter { abs(Int($0)) < 8 }.count
        weekdaysAtPosition = days.count - weekdays
        monthDays = entries(rule.by_month_day).count
        months = entries(rule.by_month).count
        yearDays = entries(rule.by_year_day).count
        weeks = entries(rule.by_week_no).count
        positions = entries(rule.by_set_pos).count
        timesADay =
            max(1, entries(rule.by_hour).count) * max(1, entries(rule.by_minute).count)
            * max(1, entries(rule.by_second).count)
        hasFullList = isFull
    }

    var isTooOften: Bool {
        [ICAL_SECONDLY_RECURRENCE, ICAL_MINUTELY_RECURRENCE, ICAL_HOURLY_RECURRENCE].contains(frequency)
            || timesADay > Self.mostOccurrencesADay
    }

    /// Whether it is a rule by months or years: libical looks for one of them that has a day of the rule, whenever that
    /// is.
    private var isByMonthOrYear: Bool {
        frequency == ICAL_MONTHLY_RECURRENCE || frequency == ICAL_YEARLY_RECURRENCE
    }

    /// Whether there is more to it than its frequency, so that days that it comes to may be none of its days.
    private var hasConditions: Bool {
        switch frequency {
        // The weekdays of a week are all there.
        case ICAL_WEEKLY_RECURRENCE: months > 0
        default: weekdays + weekdaysAtPosition + monthDays + months + yearDays + weeks + positions > 0
        }
    }

    /// Whether no day may ever be one of the rule's, such as the 30th of February.
    var mayNeverCome: Bool { isByMonthOrYear && hasConditions }

    /// Whether libical could look for a day of the rule without an end.
    ///
    /// The years of the Chinese calendar are numbers of a cycle for libical, 1 to 60, so that none is the last. Without
    /// conditions a day comes again, unless it is in a leap month.
    func mayNeverEnd(fromLeapMonth isLeapMonth: @autoclosure () -> Bool) -> Bool {
        guard let otherCalendar, isByMonthOrYear else { return false }
        return hasConditions || ["chinese", "dangi"].contains(otherCalendar) && isLeapMonth()
    }

    /// On the average, at most, of a rule that repeats daily at most.
    private var occurrencesADay: Double {
        let (days, length) =
            switch frequency {
            // Each entry counts, also one that is there twice.
            case ICAL_WEEKLY_RECURRENCE: (max(1, weekdays + weekdaysAtPosition), 7)
            // A weekday is in a month five times.
            case ICAL_MONTHLY_RECURRENCE: (min(max(1, 5 * weekdays + weekdaysAtPosition, monthDays), 28), 28)
            case ICAL_YEARLY_RECURRENCE: (min(daysAYear, 365), 365)
            default: (1, 1)
            }
        return Double(timesADay * days) / Double(length * interval)
    }

    private var daysAYear: Int {
        max(
            1, (months == 0 ? 53 : 5 * months) * weekdays + max(1, months) * weekdaysAtPosition,
            max(1, monthDays) * (months == 0 ? 12 * min(1, monthDays) : months), yearDays + 7 * weeks)
    }

    /// The occurrences in some days, at most.
    func occurrences(days: Double) -> Double {
        let all = days * occurrencesADay + 1
        return count > 0 ? min(all, Double(count)) : all
    }

    /// The steps from one day on to another, at most, of a rule that ends there.
    ///
    /// A COUNT is a bound of what libical returns, not of the days that it passes over.
    /// - Parameter skipped: the days from the event's start to the first one, which libical does not step through. With
    ///   an INTERVAL it counts their years.
    func steps(days: Double, skipped: Double = 0) -> Double {
        var steps = days * occurrencesADay + 1
        if count > 0 { steps = min(steps, Double(count) * longestDistance) }
        if isByMonthOrYear {
            let periods = days / (frequency == ICAL_YEARLY_RECURRENCE ? 365 : 28) / Double(interval)
            steps += (periods + longestWait) * stepsAPeriod
        }
        if interval > 1 { steps += skipped / 365 }
        // To begin takes ICU as long as ten of them. Its other calendars are a thousand times as slow.
        return (steps + 10) * slowness
    }

    /// From one of the days that a rule comes to, to one that its conditions let through, at most. Unknown but for days
    /// of the week.
    private var longestDistance: Double {
        guard hasConditions else { return 1 }
        let isByWeekday = weekdays > 0 && monthDays + months == 0
        return frequency == ICAL_DAILY_RECURRENCE && isByWeekday && !interval.isMultiple(of: 7)
            ? Double(7 * timesADay) : .infinity
    }

    /// The steps to find out that no day ever is one of the rule's. Such rules of other calendars are refused.
    var searchSteps: Double {
        guard mayNeverCome, otherCalendar == nil else { return 0 }
        let periods = Self.lastSearchedYear * (frequency == ICAL_YEARLY_RECURRENCE ? 1 : 12) / Double(interval)
        return periods * stepsAPeriod
    }

    private var slowness: Double { otherCalendar == nil ? 1 : 1000 }

    /// The months or years between two that have a day of the rule, at most, if there are any.
    ///
    /// Years are of fourteen kinds, by their first weekday and by their length. Each kind comes again within 40 years,
    /// and all of them repeat after 400.
    private var longestWait: Double {
        // The 29th of February, or the 30th of a month of the moon.
        guard hasConditions else { return otherCalendar == nil ? 8 : 60 }
        switch frequency {
        case ICAL_YEARLY_RECURRENCE: return interval == 1 ? 40 : 400
        // A month comes again in the next year.
        default: return 12.isMultiple(of: interval) ? Double(480 / interval) : 4_800
        }
    }

    /// For a month or year libical goes through the lists, and those of days for each month.
    private var stepsAPeriod: Double {
        let days = monthDays + (weekdays + weekdaysAtPosition) * (1 + weeks)
        let perPeriod = frequency == ICAL_YEARLY_RECURRENCE ? max(1, months) * days : days
        return Double(1 + perPeriod + yearDays + weeks + positions)
    }
}
#endif
