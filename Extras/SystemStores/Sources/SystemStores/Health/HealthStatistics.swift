#if SystemStores
public import Foundation

/// The statistics of one type's readings in an interval.
public struct HealthStatistics: Sendable, Hashable, Codable {
    public let interval: DateInterval
    public let unit: String
    /// The samples that start in the interval.
    public internal(set) var count = 0
    /// The parts of all samples that lie in the interval: a sample in several gives each its share of the time.
    public internal(set) var sum = 0.0
    /// The minimum, like the maximum and the average, is of the samples that start in the interval; nil if none does.
    public internal(set) var minimum: Double?
    public internal(set) var maximum: Double?
    public internal(set) var average: Double?
    /// The sample that ends last, among the samples that start in the interval.
    public internal(set) var mostRecent: HealthSample?
}

/// How long the intervals of statistics are. Days and longer intervals are the calendar's, and differ in length.
public enum HealthInterval: Sendable, Hashable {
    case minute
    case hour
    case day
    case week
    case month
    case year

    /// The length of the shortest such interval, in seconds.
    fileprivate var length: Double {
        switch self {
        case .minute: 60
        case .hour: 3600
        case .day: 23 * 3600
        case .week: 167 * 3600
        case .month: 28 * 86_400 - 3600
        case .year: 354 * 86_400
        }
    }

    fileprivate var component: Calendar.Component {
        switch self {
        case .minute: .minute
        case .hour: .hour
        case .day: .day
        case .week: .weekOfYear
        case .month: .month
        case .year: .year
        }
    }
}

extension HealthExport {
    /// The statistics of a quantity by interval, those without a sample left out. O(samples + intervals) time.
    /// O(intervals) memory, and O(samples) more for samples that cover many intervals.
    ///
    /// Several devices may record the same steps; the export does not say which of them Health counts. With a `source`
    /// those of one device are taken alone.
    ///
    /// - Parameters:
    ///   - span: the first interval begins with it; samples outside of it, or parts of them, do not count.
    ///   - interval: nil for one interval, the whole span.
    ///   - source: nil for all sources.
    ///   - calendar: where days, weeks, months and years begin.
    /// - Returns: the intervals in order. Samples in another unit than the first one, which are reported, and
    ///   categories do not count.
    /// - Throws: ``StoreProblem`` for a span of more than a million intervals, and `CancellationError`.
    public func statistics(
        of type: HealthType, in span: DateInterval, every interval: HealthInterval? = nil, source: String? = nil,
        calendar: Calendar = .current
    ) async throws -> StoreContents<HealthStatistics> {
        let intervals = try intervals(of: span, every: interval, calendar: calendar)
        var counters: [Int: Counter] = [:]
        var rates = IntervalRates()
        var unit: String?
        var problems = FileProblems(path: file.path)
        let selection = HealthSelection(types: [type], span: span, source: source)
        let readProblems = try await forEach(selection) { sample in
            guard case .quantity(let number, let itsUnit) = sample.value else { return }
            if unit == nil { unit = itsUnit }
            guard unit == itsUnit else {
                let (counted, other) = (FileProblems.shortened(unit ?? ""), FileProblems.shortened(itsUnit))
                problems.add("\(type.rawValue) is in “\(counted)” and in “\(other)”, which does not count")
                return
            }
            var index = Self.index(of: max(sample.start, span.start), in: intervals)
            if sample.start >= span.start { counters[index, default: Counter()].add(sample, number) }
            let length = sample.end.timeIntervalSince(sample.start)
            guard length > 0 else {
                counters[index, default: Counter()].sum += number
                return
            }
            if index + Self.mostSingleIntervals < intervals.count,
                intervals[index + Self.mostSingleIntervals].end <= sample.end
            {
                // The sample covers its first and its last interval only in part.
                let whole = (index + 1)..<Self.index(of: sample.end, in: intervals)
                rates.add(number / length, to: whole)
                counters[index, default: Counter()].sum +=
                    number * intervals[index].end.timeIntervalSince(max(sample.start, intervals[index].start)) / length
                index = whole.upperBound
            }
            while index < intervals.count, intervals[index].start < sample.end {
                let part = min(sample.end, intervals[index].end).timeIntervalSince(
                    max(sample.start, intervals[index].start))
                counters[index, default: Counter()].sum += number * part / length
                index += 1
            }
        }
        rates.forEach { index, rate in
            counters[index, default: Counter()].sum += rate * intervals[index].duration
        }
        let items = counters.sorted { $0.key < $1.key }.map { index, counter in
            HealthStatistics(
                interval: intervals[index], unit: unit ?? "", count: counter.count, sum: counter.sum,
                minimum: counter.minimum, maximum: counter.maximum,
                average: counter.count > 0 ? counter.total / Double(counter.count) : nil,
                mostRecent: counter.mostRecent)
        }
        return StoreContents(items: items, problems: readProblems + problems.all)
    }

    /// Samples of more intervals than these are not added to each of them.
    private static let mostSingleIntervals = 64

    /// Rates of samples that cover many intervals, by where they begin and end.
    private struct IntervalRates {
        private var changes: [Int: (rate: Double, count: Int)] = [:]

        mutating func add(_ rate: Double, to covered: Range<Int>) {
            for (index, sign) in [(covered.lowerBound, 1), (covered.upperBound, -1)] {
                let known = changes[index] ?? (0, 0)
                changes[index] = (known.rate + Double(sign) * rate, known.count + sign)
            }
        }

        /// Calls `body` with each interval that is covered, and the sum of the rates there.
        func forEach(_ body: (Int, Double) -> Void) {
            var (rate, count, start) = (0.0, 0, 0)
            for (index, change) in changes.sorted(by: { $0.key < $1.key }) {
                if count > 0 { for covered in start..<index { body(covered, rate) } }
                count += change.count
                // A rest of rounding must not go on.
                rate = count > 0 ? rate + change.rate : 0
                start = index
            }
        }
    }

    private struct Counter {
        var count = 0
        var sum = 0.0
        var total = 0.0
        var minimum: Double?
        var maximum: Double?
        var mostRecent: HealthSample?

        mutating func add(_ sample: HealthSample, _ number: Double) {
            count += 1
            total += number
            minimum = min(minimum ?? number, number)
            maximum = max(maximum ?? number, number)
            if mostRecent.map({ $0.end <= sample.end }) ?? true { mostRecent = sample }
        }
    }

    private func intervals(
        of span: DateInterval, every interval: HealthInterval?, calendar: Calendar
    ) throws(StoreProblem) -> [DateInterval] {
        guard let interval else { return [span] }
        guard span.duration / interval.length <= 1_000_000 else {
            throw StoreProblem(
                subject: file.path, reason: "the span has more than a million intervals; take longer ones")
        }
        var intervals: [DateInterval] = []
        var start = span.start
        while start < span.end {
            // Go on to the next beginning of such an interval in the calendar.
            let end = calendar.dateInterval(of: interval.component, for: start)?.end ?? span.end
            let next = min(max(end, start.addingTimeInterval(1)), span.end)
            intervals.append(DateInterval(start: start, end: next))
            start = next
        }
        return intervals.isEmpty ? [span] : intervals
    }

    /// The interval that has a time of the span.
    private static func index(of date: Date, in intervals: [DateInterval]) -> Int {
        var (low, high) = (0, intervals.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if intervals[middle].start <= date { low = middle } else { high = middle - 1 }
        }
        return low
    }
}
#endif
