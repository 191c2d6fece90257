import CoreMetrics
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
