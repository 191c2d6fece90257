import CoreMetrics
import Synchronization

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
