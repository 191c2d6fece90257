#if Service
public import CoreMetrics
import Synchronization

/// Metrics in memory, as a page in Prometheus' text format.
///
/// A counter becomes a counter, a meter or a recorder that does not aggregate a gauge, a timer a histogram in seconds,
/// and any other recorder a histogram of its values. Dots in names become underscores.
///
/// Source: https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
public final class PrometheusRegistry: MetricsFactory {
    private struct Family {
        let kind: MetricKind
        let help: String?
        var series: [String: any MetricSeries] = [:]
    }

    private struct State {
        var families: [String: Family] = [:]
        var help: [String: String] = [:]
    }

    private let state = Mutex(State())

    /// No metrics yet.
    public init() {}

    /// Says what a metric measures. Call it before the metric is first used.
    public func describe(_ label: String, _ help: String) {
        state.withLock { $0.help[MetricName.valid(label)] = help }
    }

    /// All metrics. O(series).
    public func text() -> String {
        let families = state.withLock { $0.families }
        var lines: [String] = []
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            if let help = family.help { lines.append("# HELP \(name) \(MetricName.escapedHelp(help))") }
            lines.append("# TYPE \(name) \(family.kind.rawValue)")
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                lines += series.lines(name: name, labels: labels)
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The series of a name and labels, made if it is new. A name that is in use for another kind gives a series that
    /// is not on the page.
    private func series<Series: MetricSeries>(
        _ label: String, _ dimensions: [(String, String)], _ kind: MetricKind, _ make: () -> Series
    ) -> Series {
        let (name, labels) = (MetricName.valid(label), MetricName.labels(dimensions))
        return state.withLock { state in
            var family = state.families[name] ?? Family(kind: kind, help: state.help[name])
            guard family.kind == kind else { return make() }
            if let known = family.series[labels] as? Series { return known }
            let new = make()
            family.series[labels] = new
            state.families[name] = family
            return new
        }
    }

    // MARK: MetricsFactory

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter) { Value() }
    }

    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, dimensions, .counter) { Value() }
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge) { Value() }
    }

    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        if aggregate { return series(label, dimensions, .histogram) { Histogram(bounds: Histogram.sizes, divisor: 1) } }
        return series(label, dimensions, .gauge) { Value() }
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, .histogram) { Histogram(bounds: Histogram.seconds, divisor: 1e9) }
    }

    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    private func remove(_ handler: AnyObject) {
        state.withLock { state in
            for (name, family) in state.families {
                for (labels, series) in family.series where series === handler {
                    state.families[name]?.series[labels] = nil
                }
                if state.families[name]?.series.isEmpty == true { state.families[name] = nil }
            }
        }
    }
}

enum MetricKind: String {
    case counter, gauge, histogram
}

/// The values of a metric for one set of labels.
protocol MetricSeries: AnyObject, Sendable {
    func lines(name: String, labels: String) -> [String]
}

/// A number: a counter or a gauge.
final class Value: MetricSeries, CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler {
    private let value = Mutex(0.0)

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func reset() { set(0.0) }
    func set(_ new: Int64) { set(Double(new)) }
    func set(_ new: Double) { value.withLock { $0 = new } }
    func record(_ new: Int64) { set(new) }
    func record(_ new: Double) { set(new) }

    func lines(name: String, labels: String) -> [String] {
        let value = value.withLock { $0 }
        return [labels.isEmpty ? "\(name) \(value)" : "\(name){\(labels)} \(value)"]
    }
}

/// Counts of values up to bounds, and their sum.
final class Histogram: MetricSeries, TimerHandler, RecorderHandler {
    static let seconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    static let sizes = [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8]

    private struct State {
        /// Values in each bucket alone; the last has no bound.
        var counts: [Int]
        var sum = 0.0
    }

    private let bounds: [Double]
    /// What recorded values are divided by.
    private let divisor: Double
    private let state: Mutex<State>

    init(bounds: [Double], divisor: Double) {
        self.bounds = bounds
        self.divisor = divisor
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { add(Double(duration)) }
    func record(_ value: Int64) { add(Double(value)) }
    func record(_ value: Double) { add(value) }

    private func add(_ value: Double) {
        let bucket = bounds.firstIndex { value / divisor <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func lines(name: String, labels: String) -> [String] {
        let state = state.withLock { $0 }
        let prefix = labels.isEmpty ? "" : labels + ","
        var lines: [String] = []
        var total = 0
        for (bound, count) in zip(bounds.map { "\($0)" } + ["+Inf"], state.counts) {
            total += count
            lines.append("\(name)_bucket{\(prefix)le=\"\(bound)\"} \(total)")
        }
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        return lines + ["\(name)_sum\(braces) \(state.sum / divisor)", "\(name)_count\(braces) \(total)"]
    }
}

/// Names and labels of the text format.
enum MetricName {
    /// A name with other characters than letters, digits, underscores and colons replaced.
    static func valid(_ label: String) -> String {
        var name = String(
            label.unicodeScalars.map { scalar in
                scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == ":")
                    ? Character(scalar) : "_"
            })
        if name.first?.isNumber ?? true { name = "_" + name }
        return name
    }

    /// The labels without braces; empty if there are none.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.sorted { $0.0 < $1.0 }
            .map { "\(valid($0).replacing(":", with: "_"))=\"\(escaped($1))\"" }.joined(separator: ",")
    }

    private static func escaped(_ value: String) -> String {
        escapedHelp(value).replacing("\"", with: "\\\"")
    }

    static func escapedHelp(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }
}
#endif
