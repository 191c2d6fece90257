import Foundation
import SystemStores
import Testing

struct CalendarFolderTests {
    private static let berlin = TimeZone(identifier: "Europe/Berlin")!

    private static func event(_ lines: String...) -> String {
        (["BEGIN:VEVENT", "DTSTAMP:20260101T000000Z"] + lines + ["END:VEVENT"]).joined(separator: "\r\n")
    }

    private static func file(_ components: String...) -> String {
        (["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN"] + components + ["END:VCALENDAR", ""]).joined(
            separator: "\r\n")
    }

    private static func zone(_ name: String, _ rule: String) -> String {
        [
            "BEGIN:VTIMEZONE", "TZID:\(name)", "BEGIN:STANDARD", "DTSTART:16010101T000000", "RRULE:\(rule)",
            "TZOFFSETFROM:+0530", "TZOFFSETTO:+0530", "END:STANDARD", "END:VTIMEZONE",
        ].joined(separator: "\r\n")
    }

    private static func file(of event: String, inZoneOf rule: String) -> String {
        file(zone("Somewhere", rule), Self.event(event, "DTSTART;TZID=Somewhere:20261205T120000", "SUMMARY:x"))
    }

    private static func date(_ text: String, in zone: TimeZone = .gmt) -> Date {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = zone
        formatter.dateFormat = "yyyy-MM-dd HH:mm"
        return formatter.date(from: text)!
    }

    private static func starts(_ text: String, from: String, to: String, zone: TimeZone = .gmt) async throws -> (
        starts: [Date], contents: StoreContents<CalendarEvent>
    ) {
        let folder = try TemporaryFolder()
        try folder.write(text, to: "a.ics")
        let contents = try await CalendarFolder(folder.url, timeZone: zone).items(
            in: DateInterval(start: date(from), end: date(to)))
        return (contents.items.map(\.start), contents)
    }

    @Test func readsOneEvent() async throws {
        let text = Self.file(
            Self.event(
                "UID:1", "DTSTART:20261205T203000Z", "DTEND:20261205T233000Z", "SUMMARY:Delta Wren\\, live",
                "LOCATION:Braga", "DESCRIPTION:Doors\\nat eight"))
        let (_, contents) = try await Self.starts(text, from: "2026-12-01 00:00", to: "2027-01-01 00:00")
        let event = try #require(contents.items.first)
        #expect(contents.items.count == 1 && contents.problems.isEmpty)
        #expect(
            event.uid == "1" && event.title == "Delta Wren, live" && event.location == "Braga"
                && event.notes == "Doors\nat eight")
        #expect(
            event.start == Self.date("2026-12-05 20:30") && event.end == Self.date("2026-12-05 23:30")
                && !event.isAllDay)
        for (from, to, count) in [
            ("2026-12-05 23:30", "2026-12-06 00:00", 0), ("2026-12-05 23:00", "2026-12-06 00:00", 1),
            ("2026-12-05 00:00", "2026-12-05 20:30", 0),
        ] {
            #expect(try await Self.starts(text, from: from, to: to).starts.count == count, "\(from)")
        }
    }

    /// Across the end of summer time: the clock on the wall stays, the moment moves.
    @Test func expandsRulesInTheirTimeZone() async throws {
        let text = Self.file(
            Self.event(
                "UID:1", "DTSTART;TZID=Europe/Berlin:20261010T200000", "DTEND;TZID=Europe/Berlin:20261010T220000",
                "RRULE:FREQ=WEEKLY;COUNT=6", "SUMMARY:x"))
        let (starts, contents) = try await Self.starts(text, from: "2026-10-01 00:00", to: "2027-01-01 00:00")
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = Self.berlin
        let first = Self.date("2026-10-10 20:00", in: Self.berlin)
        #expect(starts == (0..<6).map { calendar.date(byAdding: .day, value: 7 * $0, to: first)! })
        #expect(contents.items.allSatisfy { $0.end.timeIntervalSince($0.start) == 7200 } && contents.problems.isEmpty)
    }

    /// Against Foundation's calendar, for rules of several frequencies with random starts.
    @Test(arguments: 0..<12) func repeatsAsFoundationCounts(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let (name, component) = [
            ("DAILY", Calendar.Component.day), ("WEEKLY", .weekOfYear), ("MONTHLY", .month), ("YEARLY", .year),
        ].randomElement(using: &random)!
        let interval = Int.random(in: 1...4, using: &random)
        let day = Int.random(in: 1...28, using: &random)
        let hour = Int.random(in: 4...23, using: &random)
        let text = Self.file(
            Self.event(
                "UID:1", String(format: "DTSTART;TZID=Europe/Berlin:202503%02dT%02d1500", day, hour), "DURATION:PT45M",
                "RRULE:FREQ=\(name);INTERVAL=\(interval)", "SUMMARY:x"))
        let (from, to) = ("2026-02-20 11:00", "2026-06-20 11:00")
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = Self.berlin
        let first = Self.date(String(format: "2025-03-%02d %02d:15", day, hour), in: Self.berlin)
        let expected = (0..<1000).map { calendar.date(byAdding: component, value: $0 * interval, to: first)! }
            .filter { $0 < Self.date(to) && $0.addingTimeInterval(2700) > Self.date(from) }
        let (starts, contents) = try await Self.starts(text, from: from, to: to)
        #expect(starts == expected, "seed \(seed): \(name) \(interval)")
        #expect(contents.problems.isEmpty)
    }

    /// libical frees them by recursion, which ended the process.
    @Test(arguments: ["BEGIN:VCALENDAR", "begin;x=1:VEVENT", "BE\r\n GIN:X-A"])
    func nestingWithoutEndIsAProblem(begin: String) async throws {
        let text = "BEGIN:VCALENDAR\r\n" + String(repeating: begin + "\r\n", count: 200_000)
        let (starts, contents) = try await Self.starts(
            text + "END:VCALENDAR\r\n", from: "2026-01-01 00:00", to: "2027-01-01 00:00")
        #expect(starts.isEmpty && contents.problems.map(\.reason) == ["nests components more than 32 deep"])
    }

    @Test func manyEventsAreNotNested() async throws {
        let events = (0..<200).map { Self.event("UID:\($0)", "DTSTART:20261201T180000Z", "SUMMARY:x") }
        let text = events.reduce("") { $0 + Self.file($1) + "\r\n" }
        let (starts, contents) = try await Self.starts(text, from: "2026-01-01 00:00", to: "2027-01-01 00:00")
        #expect(starts.count == 200 && contents.problems.isEmpty)
    }

    /// libical follows such a rule second by second until the year 2582.
    @Test(arguments: [
        ("EXRULE:FREQ=SECONDLY", "repeats more than 24 times a day"), ("EXRULE:FREQ=DAILY", "101 single dates"),
        ("SUMMARY:x", "10001 single dates"),
    ])
    func exclusionsWithoutEndAreProblems(line: String, reason: String) async throws {
        let count = reason.hasPrefix("10001") ? 10_001 : 101
        let dates = (0..<count).map { String(format: "RDATE:202311%02dT%06dZ", 1 + $0 % 14, $0 / 14) }
        let text = Self.file(
            Self.event("UID:1", "DTSTART:20231115T200000Z", line, dates.joined(separator: "\r\n")))
        let (starts, contents) = try await Self.starts(text, from: "2023-01-01 00:00", to: "2024-01-01 00:00")
        #expect(starts.isEmpty && contents.problems.count == 1)
        #expect(contents.problems.first?.reason.contains(reason) == true, "\(contents.problems)")
    }

    /// libical follows each rule with a COUNT from its first day on; ten thousand of them took hours.
    @Test func countsWithoutEndAreProblems() async throws {
        let rule = "RRULE:FREQ=DAILY;BYHOUR=" + (0..<24).map(String.init).joined(separator: ",") + ";COUNT=999999999"
        let text = Self.file(
            Self.event(
                "UID:1", "DTSTART:16010101T000000Z", [String](repeating: rule, count: 10_000).joined(separator: "\r\n"),
                "SUMMARY:x"),
            Self.event("UID:2", "DTSTART:20230303T120000Z", "SUMMARY:y"))
        let (starts, contents) = try await Self.starts(text, from: "2023-01-01 00:00", to: "2024-01-01 00:00")
        #expect(starts == [Self.date("2023-03-03 12:00")])
        #expect(contents.problems.map(\.reason) == ["the event “x” repeats too often to be expanded"])
    }

    /// libical passes over the days that no condition lets through, up to the year 2582, whatever the COUNT is, and for
    /// a rule of exclusion anew for each occurrence: hours.
    @Test func conditionsEndWithTheSpan() async throws {
        let never = "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"
        let hours = (0..<24).map(String.init).joined(separator: ",")
        let events = (0..<1000).map {
            Self.event("UID:\($0)", "DTSTART:20240101T000000Z", "RRULE:\(never);COUNT=1", "SUMMARY:x")
        }
        let excluded = Self.event(
            "UID:often", "DTSTART:20240101T000000Z", "RRULE:FREQ=DAILY;BYHOUR=\(hours)", "EXRULE:\(never)",
            "EXRULE:\(never);COUNT=1", "SUMMARY:y")
        let last = Self.event(
            "UID:last", "DTSTART:20240102T000000Z", "RRULE:FREQ=DAILY;BYDAY=TU,WE;COUNT=4",
            "EXRULE:FREQ=WEEKLY;COUNT=1", "SUMMARY:z")
        let (_, contents) = try await Self.starts(
            Self.file((events + [excluded, last]).joined(separator: "\r\n")), from: "2024-01-01 00:00",
            to: "2024-01-31 00:00")
        #expect(contents.problems.isEmpty, "\(contents.problems)")
        #expect(contents.items.filter { $0.uid == "often" }.count == 30 * 24)
        #expect(
            contents.items.filter { $0.uid == "last" }.map(\.start)
                == ["2024-01-03 00:00", "2024-01-09 00:00", "2024-01-10 00:00"].map { Self.date($0) })
        #expect(contents.items.allSatisfy { Int($0.uid) == nil })
    }

    /// libical looks for their days up to the year 20,000, a quarter of a second each.
    @Test(arguments: [
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=YEARLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=MONTHLY;INTERVAL=12;BYMONTH=2", "FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=1;BYDAY=2MO",
    ])
    func daysThatNeverComeAreProblems(rule: String) async throws {
        let text = Self.file(
            Self.event("UID:1", "DTSTART:20250101T120000Z", "RRULE:\(rule)", "SUMMARY:x"),
            Self.event("UID:2", "DTSTART:20250303T120000Z", "SUMMARY:y"))
        let (starts, contents) = try await Self.starts(text, from: "2025-01-01 00:00", to: "2026-01-01 00:00")
        #expect(starts == [Self.date("2025-03-03 12:00")])
        #expect(contents.problems.map(\.reason) == ["the event “x” repeats on days that never come"])
    }

    @Test func daysThatNeverComeAreLookedForOnlySoOften() async throws {
        let days = [String](repeating: "30", count: 31).joined(separator: ",")
        let events = (0..<5).map {
            Self.event(
                "UID:\($0)", "DTSTART:20250101T120000Z", "RRULE:FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=\(days)", "SUMMARY:x")
        }
        let (starts, contents) = try await Self.starts(
            Self.file(events.joined(separator: "\r\n")), from: "2025-01-01 00:00", to: "2026-01-01 00:00")
        #expect(starts.isEmpty)
        #expect(
            contents.problems.map(\.reason) == [
                "the event “x” repeats on days that never come", "the event “x” repeats on days that never come",
                "has events that repeat too often to be expanded: 3 are left out",
            ])
    }

    /// Neither takes so much that a file with thousands of them is not read.
    @Test(arguments: [
        ("19500315", "FREQ=YEARLY", 1), ("20040229", "FREQ=YEARLY", 0),
        ("19500315", "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=15", 1), ("20100301", "FREQ=WEEKLY;BYDAY=MO,TH", 9),
        ("20100301", "FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR;COUNT=9", 0), ("20100131", "FREQ=MONTHLY;BYMONTHDAY=31", 1),
        ("20100129", "FREQ=MONTHLY;BYDAY=-1FR", 1), ("20100131", "FREQ=MONTHLY", 1),
        ("20100226", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", 1),
    ])
    func thousandsOfOrdinaryRules(start: String, rule: String, count: Int) async throws {
        let events = (0..<2000).map {
            Self.event("UID:\($0)", "DTSTART;VALUE=DATE:\(start)", "RRULE:\(rule)", "SUMMARY:x")
        }
        let (starts, contents) = try await Self.starts(
            Self.file(events.joined(separator: "\r\n")), from: "2026-03-01 00:00", to: "2026-04-01 00:00")
        #expect(contents.problems.isEmpty, "\(contents.problems)")
        #expect(starts.count == 2000 * count)
    }

    /// Occurrences that began before the span may last into it.
    @Test func eventsAsLongAsTheirRulesAreProblems() async throws {
        let hours = (0..<24).map(String.init).joined(separator: ",")
        let text = Self.file(
            Self.event(
                "UID:1", "DTSTART:10010101T000000Z", "DTEND:20240101T000000Z", "RRULE:FREQ=DAILY;BYHOUR=\(hours)",
                "SUMMARY:x"))
        let (starts, contents) = try await Self.starts(text, from: "2024-01-01 00:00", to: "2024-02-01 00:00")
        #expect(starts.isEmpty)
        #expect(contents.problems.map(\.reason) == ["the event “x” repeats too often to be expanded"])
    }

    /// libical adds durations month by month, and expands a zone for each time after the year 2582.
    @Test(arguments: [
        ("DTSTART:20240101T000000Z", "DURATION:P300000000W", "lasts longer than 100 years"),
        ("DTSTART;TZID=Europe/Berlin:99990101T000000", "X-A:b", "after the year 2582"),
        ("DTSTART:20240101T000000Z", "EXDATE;TZID=Europe/Berlin:99990101T000000", "after the year 2582"),
        ("DTSTART;TZID=Europe/Berlin:25820101T000000", "DURATION:P100W", "after the year 2582"),
    ])
    func timesOutOfReachAreProblems(start: String, line: String, reason: String) async throws {
        let text = Self.file(
            Self.event("UID:1", start, line, "SUMMARY:x"),
            Self.event("UID:2", "DTSTART:20240303T120000Z", "DURATION:P1DT1H", "SUMMARY:y"))
        let (starts, contents) = try await Self.starts(text, from: "2024-01-01 00:00", to: "2025-01-01 00:00")
        #expect(starts == [Self.date("2024-03-03 12:00")])
        #expect(contents.problems.count == 1 && contents.problems[0].reason.contains(reason), "\(contents.problems)")
    }

    /// libical follows the rules of a zone as it does those of events, and keeps each change.
    @Test(arguments: [
        "FREQ=SECONDLY", "FREQ=DAILY", "FREQ=DAILY;BYHOUR=1,2;BYMINUTE=1,2", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    ])
    func zonesThatChangeTooOftenAreProblems(rule: String) async throws {
        func file(_ rule: String) -> String { Self.file(of: "UID:1", inZoneOf: rule) }
        let (from, to) = ("2026-12-01 00:00", "2027-01-01 00:00")
        let (starts, contents) = try await Self.starts(file(rule), from: from, to: to)
        #expect(starts.isEmpty)
        #expect(contents.problems.map(\.reason) == ["has events in time zones that change too often: 1 are left out"])
        let good = try await Self.starts(file("FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU"), from: from, to: to)
        #expect(good.starts == [Self.date("2026-12-05 06:30")] && good.contents.problems.isEmpty)
    }

    /// As a file of invitations has them.
    @Test func filesOfManyTimeZones() async throws {
        let rule = "FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU"
        let (from, to) = ("2026-12-01 00:00", "2027-01-01 00:00")
        func calendars(_ count: Int, rule: String = rule) -> String {
            (0..<count).map { Self.file(of: "UID:\($0)", inZoneOf: rule) }.joined(separator: "\r\n") + "\r\n"
        }
        let (starts, contents) = try await Self.starts(calendars(100), from: from, to: to)
        #expect(starts.count == 100 && contents.problems.isEmpty)
        // One that cannot be used, too many others, and an event that needs none of them.
        let more = Self.file(Self.event("UID:a", "DTSTART:20261205T120000Z", "SUMMARY:x"))
        // In a calendar with a zone that cannot be used.
        let good = Self.file(
            Self.zone("Bad", "FREQ=DAILY"), Self.zone("Good", rule),
            Self.event("UID:b", "DTSTART;TZID=Good:20261206T120000", "SUMMARY:x"),
            Self.event("UID:c", "DTSTART;TZID=Bad:20261207T120000", "SUMMARY:x"),
            Self.event(
                "UID:d", "DTSTART;TZID=Worse:20261208T120000", "SUMMARY:x", Self.zone("Worse", "FREQ=DAILY")))
        let (two, problems) = try await Self.starts(good, from: from, to: to)
        #expect(two == [Self.date("2026-12-06 06:30")])
        #expect(
            problems.problems.map(\.reason) == ["has events in time zones that change too often: 2 are left out"])
        let (some, others) = try await Self.starts(
            calendars(1, rule: "FREQ=DAILY") + calendars(1_000) + more, from: from, to: to)
        #expect((150..<1_000).contains(some.count) && some.contains(Self.date("2026-12-05 12:00")))
        #expect(
            others.problems.map(\.reason) == [
                "has events in time zones that change too often: \(1_002 - some.count) are left out"
            ])
    }

    /// The years of the Chinese calendar are numbers of a cycle, so that libical looked for days without an end.
    @Test func rulesOfOtherCalendars() async throws {
        let text = Self.file(
            Self.event("UID:1", "DTSTART;VALUE=DATE:20240210", "RRULE:RSCALE=CHINESE;FREQ=YEARLY", "SUMMARY:x"),
            Self.event(
                "UID:2", "DTSTART;VALUE=DATE:20240210",
                "RRULE:RSCALE=CHINESE;FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=2MO", "SUMMARY:y"),
            // In the leap month after the 11th one of 2033.
            Self.event("UID:3", "DTSTART;VALUE=DATE:20340115", "RRULE:RSCALE=CHINESE;FREQ=YEARLY", "SUMMARY:z"),
            Self.event(
                "UID:4", "DTSTART;VALUE=DATE:20250110", "RRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;BYMONTHDAY=10;COUNT=2",
                "SUMMARY:w"))
        let (starts, contents) = try await Self.starts(text, from: "2025-01-01 00:00", to: "2026-01-01 00:00")
        #expect(starts == ["2025-01-10 00:00", "2025-01-29 00:00", "2025-02-10 00:00"].map { Self.date($0) })
        #expect(
            contents.problems.map(\.reason) == [
                "the event “y” repeats on days of the chinese calendar that may never come",
                "the event “z” repeats on days of the chinese calendar that may never come",
            ])
    }

    /// libical ends a list in the list after it, if it is full.
    @Test func listsWithoutAnEndAreProblems() async throws {
        let months = [String](repeating: "1", count: 14).joined(separator: ",")
        let text = Self.file(
            Self.event(
                "UID:1", "DTSTART:20240101T000000Z", "RRULE:FREQ=YEARLY;BYMONTH=\(months);BYSETPOS=1,2", "SUMMARY:x"))
        let (starts, contents) = try await Self.starts(text, from: "2024-01-01 00:00", to: "2025-01-01 00:00")
        #expect(starts.isEmpty)
        #expect(contents.problems.map(\.reason) == ["the event “x” repeats by a list that is too long"])
    }

    /// Each occurrence had a copy of the notes.
    @Test func occurrencesWithoutEndAreLeftOut() async throws {
        let hours = (0..<24).map(String.init).joined(separator: ",")
        let event = Self.event(
            "UID:1", "DTSTART:20230101T000000Z", "RRULE:FREQ=DAILY;BYHOUR=\(hours)",
            "DESCRIPTION:" + String(repeating: "x", count: 100_000), "SUMMARY:x")
        let events = [String](repeating: event, count: 14).joined(separator: "\r\n")
        let (starts, contents) = try await Self.starts(
            Self.file(events), from: "2023-01-01 00:00", to: "2032-01-01 00:00")
        #expect(starts.count == 1_000_000)
        #expect(
            contents.problems.map(\.reason) == [
                "has events that repeat too often to be expanded: 1 are left out",
                "has more than 1000000 occurrences in this time: those of its last events are left out",
            ])
        #expect(contents.items.last?.notes?.count == 100_000)
    }

    /// What a rule may cost is counted by its own frequency.
    @Test func ordinaryRulesOfManyYears() async throws {
        let rules = [
            "FREQ=WEEKLY", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE", "FREQ=MONTHLY;BYDAY=-1FR", "FREQ=YEARLY",
            "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=3", "FREQ=DAILY;UNTIL=20230701T000000Z",
        ]
        let events = (0..<300).map {
            Self.event(
                "UID:\($0)", "DTSTART:20230303T120000Z", "RRULE:\(rules[$0 % rules.count])",
                "EXDATE:20230303T120000Z,20230310T120000Z,20300303T120000Z", "SUMMARY:x")
        }
        let last = Self.event("UID:last", "DTSTART:20370303T120000Z", "SUMMARY:last")
        let (_, contents) = try await Self.starts(
            Self.file((events + [last]).joined(separator: "\r\n")), from: "2020-01-01 00:00", to: "2040-01-01 00:00")
        #expect(contents.problems.isEmpty, "\(contents.problems)")
        #expect(Set(contents.items.map(\.uid)).count == 301)
    }

    @Test func spansBeyondAllCalendars() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.file(Self.event("UID:1", "DTSTART:20230303T120000Z", "SUMMARY:x")), to: "a.ics")
        let calendar = CalendarFolder(folder.url, timeZone: .gmt)
        let all = DateInterval(start: Date(timeIntervalSince1970: -1e300), end: Date(timeIntervalSince1970: 1e300))
        #expect(try await calendar.items(in: all).items.count == 1)
        let now = Self.date("2023-01-01 00:00")
        #expect(try await calendar.upcoming(naming: ["x"], days: .max, from: now).matches.count == 1)
        #expect(try await calendar.upcoming(naming: ["x"], days: .min, from: now).matches.isEmpty)
    }

    @Test func exceptionsMovedOccurrencesAndCancelledEvents() async throws {
        let text = Self.file(
            Self.event(
                "UID:1", "DTSTART:20261201T180000Z", "DTEND:20261201T190000Z", "RRULE:FREQ=DAILY;COUNT=5",
                "EXDATE:20261202T180000Z", "RDATE:20261220T180000Z", "SUMMARY:daily"),
            Self.event(
                "UID:1", "RECURRENCE-ID:20261203T180000Z", "DTSTART:20261203T210000Z", "DTEND:20261203T220000Z",
                "SUMMARY:moved"),
            Self.event(
                "UID:1", "RECURRENCE-ID:20261204T180000Z", "DTSTART:20261204T180000Z", "STATUS:CANCELLED",
                "SUMMARY:called off"),
            Self.event("UID:2", "DTSTART:20261206T180000Z", "STATUS:CANCELLED", "SUMMARY:called off"))
        let (_, contents) = try await Self.starts(text, from: "2026-11-01 00:00", to: "2027-01-01 00:00")
        #expect(
            contents.items.map(\.start)
                == ["2026-12-01 18:00", "2026-12-03 21:00", "2026-12-05 18:00", "2026-12-20 18:00"].map {
                    Self.date($0)
                })
        #expect(contents.items.map(\.title) == ["daily", "moved", "daily", "daily"])
        #expect(contents.problems.isEmpty)
    }

    /// As calendar programs write them. libical reads neither kind in its zone.
    @Test func singleDatesInATimeZone() async throws {
        let zone = "TZID=Europe/Berlin:"
        let text = Self.file(
            Self.event(
                "UID:1", "DTSTART;\(zone)20261201T180000", "DTEND;\(zone)20261201T190000", "RRULE:FREQ=DAILY;COUNT=4",
                "RDATE;\(zone)20261220T180000,20261221T100000", "RDATE;VALUE=PERIOD:20261223T100000Z/PT3H",
                "SUMMARY:daily"),
            Self.event(
                "UID:1", "RECURRENCE-ID;\(zone)20261202T180000", "DTSTART;\(zone)20261202T210000", "SUMMARY:moved"),
            Self.event(
                "UID:1", "RECURRENCE-ID;RANGE=THISANDFUTURE;\(zone)20261203T180000",
                "DTSTART;\(zone)20261203T180000", "STATUS:CANCELLED", "SUMMARY:called off"))
        let (starts, contents) = try await Self.starts(text, from: "2026-11-01 00:00", to: "2027-01-01 00:00")
        let expected = [
            "2026-12-01 17:00", "2026-12-02 20:00", "2026-12-04 17:00", "2026-12-20 17:00", "2026-12-21 09:00",
        ]
        #expect(starts == expected.map { Self.date($0) })
        #expect(
            contents.problems.map(\.reason) == [
                "the event “daily” has additional dates with a duration of their own; left out: 1",
                "the event “called off” changes this and all later occurrences; only this one is changed",
            ])
    }

    /// Neither has a zone: they are the reader's.
    @Test func wholeDaysAndFloatingTimes() async throws {
        let text = Self.file(
            Self.event("UID:1", "DTSTART;VALUE=DATE:20261224", "SUMMARY:day"),
            Self.event("UID:2", "DTSTART:20261224T200000", "DURATION:PT1H", "SUMMARY:floating"),
            Self.event("UID:3", "DTSTART;VALUE=DATE:20261228", "DTEND;VALUE=DATE:20261231", "SUMMARY:days"))
        let (starts, contents) = try await Self.starts(
            text, from: "2026-12-01 00:00", to: "2027-01-01 00:00", zone: Self.berlin)
        #expect(
            starts == [
                Self.date("2026-12-24 00:00", in: Self.berlin), Self.date("2026-12-24 20:00", in: Self.berlin),
                Self.date("2026-12-28 00:00", in: Self.berlin),
            ])
        #expect(
            contents.items.map(\.isAllDay) == [true, false, true]
                && contents.items[2].end == Self.date("2026-12-31 00:00", in: Self.berlin))
        #expect(contents.items[0].end == Self.date("2026-12-25 00:00", in: Self.berlin))
    }

    @Test func aZoneOfTheFileItself() async throws {
        let zone = """
            BEGIN:VTIMEZONE\r
            TZID:Somewhere\r
            BEGIN:STANDARD\r
            DTSTART:19700101T000000\r
            TZOFFSETFROM:+0530\r
            TZOFFSETTO:+0530\r
            END:STANDARD\r
            END:VTIMEZONE
            """
        let text = Self.file(zone, Self.event("UID:1", "DTSTART;TZID=Somewhere:20261205T120000", "SUMMARY:x"))
        #expect(
            try await Self.starts(text, from: "2026-12-01 00:00", to: "2027-01-01 00:00").starts == [
                Self.date("2026-12-05 06:30")
            ])
    }

    @Test func whatCannotBeReadIsReportedByFileAndReason() async throws {
        let good = Self.event("UID:1", "DTSTART:20261205T120000Z", "SUMMARY:good")
        let cases: [(String, String, count: Int)] = [
            ("", "not an iCalendar file", 0),
            ("hello", "not an iCalendar file", 0),
            (String(Self.file(good).dropLast(30)), "no END:VCALENDAR", 0),
            (String(Self.file(good).dropLast(15)), "no END:VCALENDAR", 0),
            (Self.file(good, Self.event("UID:2", "SUMMARY:no start")), "“no start” has no start", 1),
            (
                Self.file(good, Self.event("UID:2", "DTSTART:99999999T999999", "SUMMARY:bad start")),
                "“bad start” has no start", 1
            ),
            (
                Self.file(good, Self.event("UID:2", "DTSTART;TZID=Mars/Olympus:20261205T120000", "SUMMARY:far")),
                "“Mars/Olympus”", 1
            ),
            (
                Self.file(
                    good, Self.event("UID:2", "DTSTART:19000101T000000Z", "RRULE:FREQ=SECONDLY", "SUMMARY:often")),
                "more than 24 times a day", 1
            ),
            (
                Self.file(
                    good,
                    Self.event(
                        "UID:2", "DTSTART:20261201T000000Z", "RRULE:FREQ=DAILY;BYHOUR=1,2,3,4,5,6;BYMINUTE=1,2,3,4,5",
                        "SUMMARY:often")), "more than 24 times a day", 1
            ),
        ]
        for (text, reason, count) in cases {
            let (_, contents) = try await Self.starts(text, from: "2026-12-01 00:00", to: "2027-01-01 00:00")
            #expect(contents.items.count == count, "\(reason)")
            #expect(
                contents.problems.count == 1 && contents.problems[0].subject.hasSuffix("a.ics")
                    && contents.problems[0].reason.contains(reason), "\(reason): \(contents.problems)")
        }
        let folder = try TemporaryFolder()
        try folder.write(Data([0x42, 0xFF, 0xFE]), to: "latin.ics")
        try folder.write(Self.file(good), to: "below/good.ICS")
        try folder.write("not read", to: ".hidden.ics")
        try folder.write("not read", to: "notes.txt")
        let contents = try await CalendarFolder(folder.url).items(
            in: DateInterval(start: Self.date("2026-12-01 00:00"), duration: 86_400 * 30))
        #expect(contents.items.map(\.title) == ["good"] && contents.problems.map(\.reason) == ["is not UTF-8 text"])
        await #expect(throws: StoreProblem.self) {
            try await CalendarFolder(folder.file("nowhere")).items(in: DateInterval(start: .now, duration: 1))
        }
    }

    /// The link has few bytes.
    @Test func aLinkToALargeFileIsAProblem() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("", to: "large")
        try FileHandle(forWritingTo: file).truncate(atOffset: 33 << 20)
        try FileManager.default.createSymbolicLink(at: folder.file("a.ics"), withDestinationURL: file)
        let contents = try await CalendarFolder(folder.url).items(in: DateInterval(start: .distantPast, duration: 1))
        #expect(contents.problems.map(\.reason) == ["has 34603008 bytes; the largest that is read has 33554432"])
    }

    @Test func upcomingEventsThatNameAnArtist() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            Self.file(
                Self.event("UID:1", "DTSTART:20261205T120000Z", "SUMMARY:INÉS OKAFOR + guests"),
                Self.event("UID:2", "DTSTART:20261206T120000Z", "SUMMARY:Washington trip"),
                Self.event("UID:3", "DTSTART:20270301T120000Z", "SUMMARY:Ash\\, too late"),
                Self.event("UID:4", "DTSTART:20261201T120000Z", "SUMMARY:Ash & Ines Okafor")), to: "a.ics")
        let found = try await CalendarFolder(folder.url, timeZone: .gmt).upcoming(
            naming: ["Ash", "Ines Okafor", ""], days: 90, from: Self.date("2026-11-21 00:00"))
        #expect(found.matches.map(\.event.uid) == ["4", "1"])
        #expect(found.matches.map(\.names) == [["Ash", "Ines Okafor"], ["Ines Okafor"]])
    }
}

struct NameMatcherTests {
    @Test func matchesWholeWordsWithoutRegardToCaseAndDiacritics() {
        let matcher = NameMatcher(["Björk", "Marlow & Finch", "U2", "the The", "東京事変"])
        #expect(matcher.names(in: "bjork in concert") == ["Björk"])
        #expect(matcher.names(in: "MARLOW & FINCH, Porto") == ["Marlow & Finch"])
        #expect(matcher.names(in: "marlow finch") == ["Marlow & Finch"])
        #expect(matcher.names(in: "finch & marlow").isEmpty)
        #expect(matcher.names(in: "U2! BJÖRK?") == ["Björk", "U2"])
        #expect(matcher.names(in: "U22").isEmpty && matcher.names(in: "the").isEmpty && matcher.names(in: "").isEmpty)
        #expect(matcher.names(in: "The the") == ["the The"])
    }
}

/// None of these waits for a time to pass: an element comes, or the test does not end.
struct FolderChangesTests {
    @Test(.timeLimit(.minutes(1))) func tellsOfNewChangedMovedAndRemovedFiles() async throws {
        let folder = try TemporaryFolder()
        try folder.write("a", to: "work/a.ics")
        let calendar = CalendarFolder(folder.url)
        var changes = try calendar.changes().makeAsyncIterator()
        try folder.write("b", to: "b.ics")
        #expect(await changes.next() != nil)
        try folder.write("c", to: "work/c.ics")
        #expect(await changes.next() != nil)
        try FileManager.default.moveItem(at: folder.file("b.ics"), to: folder.file("work/b.ics"))
        #expect(await changes.next() != nil)
        try FileManager.default.removeItem(at: folder.file("work/a.ics"))
        #expect(await changes.next() != nil)
    }

    @Test(.timeLimit(.minutes(1))) func aFolderThatCameLaterIsWatchedAsWell() async throws {
        let folder = try TemporaryFolder()
        var changes = try CalendarFolder(folder.url).changes().makeAsyncIterator()
        try FileManager.default.createDirectory(at: folder.file("new"), withIntermediateDirectories: false)
        #expect(await changes.next() != nil)
        // Its making was one change, so this one comes from inside.
        try folder.write("d", to: "new/d.ics")
        #expect(await changes.next() != nil)
    }

    @Test(.timeLimit(.minutes(1))) func endsWithTheFolder() async throws {
        let folder = try TemporaryFolder()
        try folder.write("a", to: "calendar/a.ics")
        let changes = try CalendarFolder(folder.file("calendar")).changes()
        try FileManager.default.removeItem(at: folder.file("calendar"))
        for await _ in changes {}
        #expect(throws: StoreProblem.self) { try CalendarFolder(folder.file("calendar")).changes() }
    }

    @Test(.timeLimit(.minutes(1))) func endsWhenItsTaskIsCancelled() async throws {
        let folder = try TemporaryFolder()
        let changes = try CalendarFolder(folder.url).changes()
        let task = Task { for await _ in changes {} }
        task.cancel()
        await task.value
    }
}
