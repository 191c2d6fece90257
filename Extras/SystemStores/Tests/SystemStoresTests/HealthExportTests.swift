import Foundation
import SystemStores
import Testing

struct HealthExportTests {
    private static func export(_ body: String, doctype: String = "") -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        \(doctype)<HealthData locale="en_US">
        <ExportDate value="2026-03-10 10:00:00 +0100"/>
        \(body)
        </HealthData>
        """
    }

    private static func record(
        _ type: String = "HKQuantityTypeIdentifierHeartRate", start: String, end: String? = nil, value: String = "60",
        unit: String = "count/min", source: String = "Watch", body: String? = nil
    ) -> String {
        let head =
            "<Record type=\"\(type)\" sourceName=\"\(source)\" unit=\"\(unit)\" creationDate=\"\(end ?? start)\" "
            + "startDate=\"\(start)\" endDate=\"\(end ?? start)\" value=\"\(value)\""
        return body.map { "\(head)>\($0)</Record>" } ?? "\(head)/>"
    }

    private static func date(_ text: String) -> Date {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss Z"
        return formatter.date(from: text)!
    }

    private static func span(_ from: String, _ to: String) -> DateInterval {
        DateInterval(start: date(from + " +0000"), end: date(to + " +0000"))
    }

    private static let all = span("1950-01-01 00:00:00", "2100-01-01 00:00:00")

    private static func contents(_ text: String) async throws -> StoreContents<HealthSample> {
        try await contents(Data(text.utf8))
    }

    private static func contents(_ data: Data) async throws -> StoreContents<HealthSample> {
        let folder = try TemporaryFolder()
        try folder.write(data, to: "export.xml")
        return try await HealthExport(folder.url).items(in: all)
    }

    /// As exports have it, and with the mistakes that some of them had: it is skipped.
    private static let doctype = """
        <!DOCTYPE HealthData [
        <!-- HealthKit Export Version: 14 > ]> -->
        <!ELEMENT HealthData (ExportDate,Me,(Record|Correlation|Workout)*)>
        <!ATTLIST HealthData
          locale CDATA #REQUIRED
        >
        <!ELEMENT Record ((MetadataEntry|HeartRateVariabilityMetadataList)*)>
        <!ATTLIST Record type CDATA #REQUIRED <!ATTLIST Record unit CDATA "broken">
        ]>

        """

    @Test func readsQuantitiesCategoriesAndWorkouts() async throws {
        let contents = try await Self.contents(
            Self.export(
                [
                    Self.record(
                        start: "2026-03-01 07:05:09 +0100", end: "2026-03-01 07:05:10 +0100", value: "61.5",
                        body: #"<MetadataEntry key="HKMetadataKeyHeartRateMotionContext" value="1 &amp; 2"/>"#),
                    Self.record(
                        "HKCategoryTypeIdentifierSleepAnalysis", start: "2026-02-28 23:00:00 -0800",
                        value: "HKCategoryValueSleepAnalysisAsleepCore"),
                    """
                    <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="30.5" durationUnit="min" \
                    sourceName="Watch" creationDate="2026-03-02 09:00:00 +0000" startDate="2026-03-02 08:00:00 +0000" \
                    endDate="2026-03-02 08:30:30 +0000"><WorkoutEvent type="x"/><MetadataEntry key="k" value="v"/>\
                    <WorkoutRoute><MetadataEntry key="k" value="that of a part"/></WorkoutRoute></Workout>
                    <Correlation type="HKCorrelationTypeIdentifierBloodPressure">
                    \(Self.record("HKQuantityTypeIdentifierBloodPressureSystolic", start: "2026-03-03 08:00:00 +0000"))
                    </Correlation>
                    """,
                    Self.record("HKQuantityTypeIdentifierBloodPressureSystolic", start: "2026-03-03 08:00:00 +0000"),
                    #"<ActivitySummary dateComponents="2026-03-01"/>"#,
                ].joined(separator: "\n"), doctype: Self.doctype))
        #expect(contents.problems.isEmpty, "\(contents.problems)")
        // Of the blood pressure once, though it is in the file twice.
        try #require(contents.items.count == 4)
        let (rate, sleep, workout) = (contents.items[0], contents.items[1], contents.items[2])
        #expect(rate.type == .heartRate && rate.value == .quantity(61.5, unit: "count/min") && rate.source == "Watch")
        #expect(
            rate.start == Self.date("2026-03-01 07:05:09 +0100") && rate.end == rate.start + 1
                && rate.created == rate.end)
        #expect(rate.metadata == ["HKMetadataKeyHeartRateMotionContext": "1 & 2"])
        #expect(sleep.type == .sleepAnalysis && sleep.value == .category("HKCategoryValueSleepAnalysisAsleepCore"))
        #expect(sleep.start == Self.date("2026-03-01 07:00:00 +0000") && sleep.quantity == nil)
        #expect(workout.type == .workout && workout.value == .quantity(30.5, unit: "min"))
        #expect(workout.metadata == ["workoutActivityType": "HKWorkoutActivityTypeRunning", "k": "v"])
        #expect(contents.items[3].type == .bloodPressureSystolic && Set(contents.items.map(\.id)).count == 4)
    }

    @Test func samplesAreSelectedByTypeTimeAndSource() async throws {
        let folder = try TemporaryFolder()
        let records = (0..<10).map { hour in
            Self.record(
                hour % 2 == 0 ? HealthType.heartRate.rawValue : HealthType.stepCount.rawValue,
                start: "2026-03-01 0\(hour):00:00 +0000", end: "2026-03-01 0\(hour):30:00 +0000", value: "\(hour)",
                source: hour < 5 ? "Watch" : "Phone")
        }
        let file = try folder.write(Self.export(records.joined()), to: "export.xml")
        let health = HealthExport(file)
        func values(
            _ types: Set<HealthType>?, _ span: DateInterval? = nil, source: String? = nil
        ) async throws -> [Double] {
            try await health.samples(of: types, in: span, source: source).reduce(into: []) {
                $0.append($1.quantity ?? -1)
            }
        }
        #expect(try await values([.heartRate]) == [0, 2, 4, 6, 8])
        #expect(try await values(nil).count == 10)
        #expect(try await values([]).isEmpty)
        // What ends where the span begins is outside; what overlaps it is inside.
        #expect(try await values(nil, Self.span("2026-03-01 02:30:00", "2026-03-01 05:00:00")) == [3, 4])
        #expect(try await values(nil, Self.span("2026-03-01 02:29:59", "2026-03-01 05:00:01")) == [2, 3, 4, 5])
        #expect(try await values([.stepCount], nil, source: "Phone") == [5, 7, 9])
    }

    @Test func statisticsAreThoseOfALoop() async throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 3)
        let begin = Self.date("2026-03-01 00:00:00 +0000")
        let format = Date.ISO8601FormatStyle(timeZone: .gmt)
        var samples: [(start: Date, end: Date, value: Double)] = []
        for _ in 0..<500 {
            let start = begin + Double(Int.random(in: 0..<(10 * 86_400), using: &random))
            samples.append(
                (
                    start, start + Double(Int.random(in: 0...7200, using: &random)),
                    Double(Int.random(in: 1...400, using: &random))
                ))
        }
        func text(_ date: Date) -> String {
            format.year().month().day().format(date) + " " + format.time(includingFractionalSeconds: false).format(date)
                + " +0000"
        }
        let records = samples.map {
            Self.record(
                HealthType.stepCount.rawValue, start: text($0.start), end: text($0.end), value: "\($0.value)",
                unit: "count")
        }
        let other = Self.record(HealthType.stepCount.rawValue, start: text(begin + 5), value: "7", unit: "mile")
        try folder.write(Self.export((records + [other]).joined(separator: "\n")), to: "export.xml")
        let health = HealthExport(folder.url)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 3600)!
        let span = DateInterval(start: begin + 3600, end: begin + 8.5 * 86_400)
        let statistics = try await health.statistics(of: .stepCount, in: span, every: .day, calendar: calendar)
        #expect(statistics.problems.count == 0)
        // The first interval is shorter: days begin at 23:00 in UTC.
        let starts = [span.start] + (1...8).map { begin + Double($0) * 86_400 - 3600 }
        #expect(statistics.items.map(\.interval.start) == starts && statistics.items.last?.interval.end == span.end)
        for item in statistics.items {
            let inside = samples.filter { item.interval.start <= $0.start && $0.start < item.interval.end }
            #expect(item.count == inside.count && item.minimum == inside.map(\.value).min())
            #expect(item.maximum == inside.map(\.value).max() && item.unit == "count")
            #expect(abs(item.average! - inside.map(\.value).reduce(0, +) / Double(inside.count)) < 1e-9)
            #expect(item.mostRecent?.end == inside.map(\.end).max())
            let sum = samples.reduce(0) { sum, sample in
                let length = sample.end.timeIntervalSince(sample.start)
                guard length > 0 else { return sum + (inside.contains { $0 == sample } ? sample.value : 0) }
                let part = min(sample.end, item.interval.end).timeIntervalSince(max(sample.start, item.interval.start))
                return sum + sample.value * max(0, part) / length
            }
            #expect(abs(item.sum - sum) < 1e-6)
        }
        let whole = try await health.statistics(of: .stepCount, in: Self.all)
        #expect(whole.items.count == 1 && whole.items[0].count == 500 && whole.problems.count == 1)
        #expect(abs(whole.items[0].sum - samples.map(\.value).reduce(0, +)) < 1e-6)
        #expect(whole.problems[0].reason.contains("in “count” and in “mile”"))
        await #expect(throws: StoreProblem.self) {
            try await health.statistics(of: .stepCount, in: Self.all, every: .minute)
        }
    }

    /// The unit of the first sample was in the problem of each of the others.
    @Test func problemsHaveTheBeginningsOfLongUnits() async throws {
        let folder = try TemporaryFolder()
        let first = Self.record(start: "2026-03-01 08:00:00 +0000", unit: String(repeating: "x", count: 100_000))
        let others = [String](repeating: Self.record(start: "2026-03-01 09:00:00 +0000"), count: 200).joined()
        try folder.write(Self.export(first + others), to: "export.xml")
        let statistics = try await HealthExport(folder.url).statistics(of: .heartRate, in: Self.all)
        #expect(statistics.items.map(\.count) == [1] && statistics.problems.count == 101)
        #expect(statistics.problems.allSatisfy { $0.reason.utf8.count < 1000 })
    }

    /// libxml2 compares each of them with all others.
    @Test(arguments: [(500, true), (200_000, false)])
    func attributesWithoutEndAreAProblem(count: Int, isRead: Bool) async throws {
        let attributes = (0..<count).map { "a\($0)=\"\"" }.joined(separator: " ")
        let record = Self.record(start: "2026-03-01 08:00:00 +0000")
        let contents = try await Self.contents(Self.export(record + "<Me \(attributes)/>" + record))
        #expect(contents.problems.isEmpty == isRead)
        #expect(isRead || contents.problems.first?.reason.contains("more than 1000 attributes") == true)
    }

    /// Added to each interval, samples of years took as long as they have minutes.
    @Test func longSamplesAreSharedAmongManyIntervals() async throws {
        let folder = try TemporaryFolder()
        let times = [
            ("0001-01-01 00:00:00", "9999-12-31 00:00:00"), ("2026-03-01 00:10:30", "2026-03-01 07:20:15"),
            ("2026-03-01 02:00:00", "2026-03-01 03:00:00"), ("2026-02-28 23:00:00", "2026-03-01 05:00:30"),
            ("2026-03-01 09:00:10", "2026-03-01 09:00:20"),
        ]
        func records(_ times: ArraySlice<(String, String)>) -> String {
            times.map { start, end in
                Self.record(
                    HealthType.stepCount.rawValue, start: start + " +0000", end: end + " +0000", value: "1000",
                    unit: "count")
            }.joined()
        }
        let span = DateInterval(start: Self.date("2026-03-01 00:00:00 +0000"), duration: 86_400)
        func statistics(_ times: ArraySlice<(String, String)>) async throws -> [HealthStatistics] {
            try folder.write(Self.export(records(times)), to: "export.xml")
            return try await HealthExport(folder.url).statistics(of: .stepCount, in: span, every: .minute).items
        }
        let samples = times.dropFirst().map {
            (start: Self.date($0.0 + " +0000"), end: Self.date($0.1 + " +0000"))
        }
        let found = try await statistics(times.dropFirst())
        // From midnight to 07:20, and the minute of the last one.
        #expect(found.count == 442)
        for item in found {
            var sum = 0.0
            for sample in samples {
                let part = min(sample.end, item.interval.end).timeIntervalSince(max(sample.start, item.interval.start))
                sum += 1000 * max(0, part) / sample.end.timeIntervalSince(sample.start)
            }
            #expect(abs(item.sum - sum) < 1e-9, "\(item.interval)")
        }
        #expect(try await statistics(times[...]).count == 24 * 60)
    }

    @Test func anAnchorTellsWhatIsNewAndWhatIsGone() async throws {
        let folder = try TemporaryFolder()
        let health = HealthExport(folder.url)
        func write(_ hours: [Int], zone: String = "+0000", extra: String = "") throws {
            let records = hours.map {
                Self.record(start: "2026-03-01 \(String(format: "%02d", $0)):00:00 \(zone)", value: "\($0)")
            }
            try folder.write(Self.export(records.joined() + extra), to: "export.xml")
        }
        try write([1, 2, 3], extra: Self.record(HealthType.stepCount.rawValue, start: "2026-03-01 00:00:00 +0000"))
        let anchor = try await health.anchor(of: [.heartRate])
        let kept = try JSONDecoder().decode(HealthAnchor.self, from: JSONEncoder().encode(anchor))
        #expect(kept == anchor)
        let same = try await health.changes(since: kept)
        #expect(same.added.isEmpty && same.deleted.isEmpty)

        // Steps are not among the anchor's types.
        try write([1, 3, 4, 5])
        let changes = try await health.changes(since: kept)
        #expect(changes.added.map(\.quantity) == [4, 5] && changes.deleted.count == 1 && changes.problems.isEmpty)
        // Made in another time zone: the same readings. An equal one a second time is no other.
        let shifted = [1, 3, 4, 5, 5].map {
            Self.record(start: "2026-03-01 \(String(format: "%02d", $0 + 2)):00:00 +0200", value: "\($0)")
        }
        try folder.write(Self.export(shifted.joined()), to: "export.xml")
        let moved = try await health.changes(since: changes.anchor)
        #expect(moved.added.isEmpty && moved.deleted.isEmpty)

        // What a truncated export lacks was not deleted.
        try folder.write(String(Self.export(shifted.joined()).dropLast(200)), to: "export.xml")
        await #expect(throws: StoreProblem.self) { try await health.changes(since: moved.anchor) }
        let words = #"{"stamp": {"size": 1, "modified": 0, "inode": 1}, "ids": "AAAA"}"#
        let damaged = try JSONDecoder().decode(HealthAnchor.self, from: Data(words.utf8))
        let problem = await #expect(throws: StoreProblem.self) { try await health.changes(since: damaged) }
        #expect(problem?.description.contains("damaged") == true)
    }

    @Test func whatCannotBeReadIsReportedByLineAndReason() async throws {
        let good = Self.record(start: "2026-03-01 00:00:00 +0000")
        for (record, reason) in [
            (Self.record(start: "2026-02-30 00:00:00 +0000"), "“2026-02-30 00:00:00 +0000”, which is none"),
            (Self.record(start: "2026-13-01 00:00:00 +0000"), "which is none"),
            (Self.record(start: "2026-03-01 24:00:00 +0000"), "which is none"),
            (Self.record(start: "2026-03-01"), "which is none"), (Self.record(start: ""), "which is none"),
            (Self.record(start: "٢026-03-01 00:00:00 +0000"), "which is none"),
            (Self.record(start: "2026-03-01 00:00:00 +0000", value: "much"), "“much”, which is not a number"),
            (Self.record(start: "2026-03-01 00:00:00 +0000", value: "inf"), "which is not a number"),
            (Self.record(start: "2026-03-01 00:00:00 +0000", value: "nan"), "which is not a number"),
            (
                Self.record(start: "2026-03-01 00:00:01 +0000", end: "2026-03-01 00:00:00 +0000"),
                "ends before it starts"
            ),
            ("<Record/>", "a record has no type"), (#"<Record type="HKQuantityTypeIdentifierX"/>"#, "has no startDate"),
        ] {
            let contents = try await Self.contents(Self.export(record + "\n" + good))
            #expect(contents.items.count == 1, "\(reason)")
            #expect(
                contents.problems.count == 1 && contents.problems[0].subject.hasSuffix("export.xml")
                    && contents.problems[0].reason.contains("line 4: ") && contents.problems[0].reason.contains(reason),
                "\(reason): \(contents.problems)")
        }
        for (text, reason) in [
            ("", "no HealthData"), ("hello", "no HealthData"), ("<a/>", "no HealthData"),
            ("<a><Record/></a>", "no HealthData"),
            (Self.export("<Record"), "line 5"), (Self.export("</Record>"), "line 4"),
        ] {
            let contents = try await Self.contents(text)
            #expect(contents.items.isEmpty && contents.problems.count == 1, "\(text)")
            #expect(contents.problems.first?.reason.contains(reason) == true, "\(reason): \(contents.problems)")
        }
        let utf16 = try await Self.contents(Data([0xFF, 0xFE]) + Self.export(good).data(using: .utf16LittleEndian)!)
        #expect(utf16.problems.map(\.reason) == ["is UTF-16 text, and not UTF-8"])
        let nowhere = HealthExport(URL(fileURLWithPath: "/nowhere/export.xml"))
        #expect(try await nowhere.items(in: Self.all).problems.first?.reason.contains("cannot be read") == true)
    }

    /// Every beginning of an export gives the readings in it, and says that it is one.
    @Test func truncatedExportsGiveWhatTheyHave() async throws {
        let records = (0..<3).map { Self.record(start: "2026-03-01 0\($0):00:00 +0000") }
        let whole = Array(Self.export(records.joined(separator: "\n"), doctype: Self.doctype).utf8)
        for length in stride(from: 0, to: whole.count - 1, by: 7) {
            let contents = try await Self.contents(Data(whole.prefix(length)))
            let text = String(decoding: whole.prefix(length), as: UTF8.self)
            #expect(contents.items.count <= text.components(separatedBy: "<Record type").count - 1)
            #expect(contents.problems.count == 1, "\(length): \(contents.problems)")
        }
        let cut = try await Self.contents(Data(whole.prefix(whole.count - 14)))
        #expect(cut.items.count == 3 && cut.problems[0].reason.contains("truncated"), "\(cut.problems)")
    }

    @Test(.timeLimit(.minutes(1))) func hostileFilesAreReportedAndEnd() async throws {
        let good = Self.record(start: "2026-03-01 00:00:00 +0000")
        // Entities that grow: by a declaration, and by a reference to what nobody declared.
        let laughs = (1..<20).map { "<!ENTITY a\($0) \"\(String(repeating: "&a\($0 - 1);", count: 10))\">" }
        let bomb = "<!DOCTYPE HealthData [<!ENTITY a0 \"ha\">\(laughs.joined())]>\n"
        let outside = "<!DOCTYPE HealthData [<!ENTITY % x SYSTEM \"file:///etc/passwd\"> %x;]>"
        for (text, reason) in [
            (Self.export(Self.record(start: "&a19;"), doctype: bomb), "declares entities"),
            (Self.export(good, doctype: outside), "declares entities"),
            (Self.export(Self.record(start: "&a19;")), "a19"),
            (Self.export("&a19;"), "a19"),
            (Self.export(String(repeating: "<a>", count: 100_000)), "line 4"),
            (Self.export("<Record type=\"" + String(repeating: "a", count: 12 << 20) + "\"/>"), "line 4"),
            (
                Self.export(good, doctype: "<!DOCTYPE HealthData [" + String(repeating: " ", count: 2 << 20) + "]>"),
                "does not begin"
            ),
            ("<!--" + String(repeating: "x", count: 2 << 20), "does not begin"),
        ] {
            let contents = try await Self.contents(text)
            #expect(contents.items.isEmpty && contents.problems.count == 1, "\(reason): \(contents.problems)")
            #expect(contents.problems.first?.reason.contains(reason) == true, "\(reason): \(contents.problems)")
        }
        let metadata =
            String(repeating: #"<MetadataEntry key="k" value="v"/>"#, count: 10)
            + (0..<3000).map { "<MetadataEntry key=\"\($0)\" value=\"v\"/>" }.joined()
        let many = try await Self.contents(
            Self.export(Self.record(start: "2026-03-01 00:00:00 +0000", body: metadata)))
        #expect(many.items.first?.metadata.count == 1000 && many.problems.isEmpty)
        let bad = try await Self.contents(Self.export(String(repeating: "<Record/>\n", count: 5000) + good))
        #expect(bad.items.count == 1 && bad.problems.count == 101)

        var random = SeededGenerator(seed: 11)
        let valid = Array(Self.export(good, doctype: Self.doctype).utf8)
        for _ in 0..<1000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let contents = try await Self.contents(Data(bytes))
            #expect(contents.items.count <= 1)
        }
    }

    @Test func manyPartsOfAFileAreOneStream() async throws {
        let folder = try TemporaryFolder()
        // Several times the length of a part.
        let count = 12_000
        let records = (0..<count).map { (minute: Int) -> String in
            let (day, hour) = (minute / 1440 + 1, minute / 60 % 24)
            let start = String(format: "2026-03-%02d %02d:%02d:00 +0000", day, hour, minute % 60)
            return Self.record(start: start, value: "\(minute)")
        }
        try folder.write(Self.export(records.joined(separator: "\n"), doctype: Self.doctype), to: "export.xml")
        let health = HealthExport(folder.url)
        var next = 0.0
        for try await sample in health.samples() {
            #expect(sample.quantity == next)
            next += 1
        }
        #expect(next == Double(count))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for try await _ in health.samples() {}
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(.timeLimit(.minutes(1))) func tellsOfANewExport() async throws {
        let folder = try TemporaryFolder()
        let health = HealthExport(folder.url)
        var changes = try health.changes().makeAsyncIterator()
        try folder.write(Self.export(Self.record(start: "2026-03-01 00:00:00 +0000")), to: "export.xml")
        #expect(await changes.next() != nil)
        #expect(try await health.items(in: Self.all).items.count == 1)
    }
}
