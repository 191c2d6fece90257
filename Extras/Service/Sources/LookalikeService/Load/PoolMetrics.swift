import Metrics

/// What a pool does, as metrics.
final class PoolMetrics: Sendable {
    private let running: Meter
    private let waiting: Meter
    private let refusals: Counter
    private let waits: Timer

    init(pool: String, factory: any MetricsFactory) {
        let labels = [("pool", pool)]
        running = Meter(label: "lookalike_work_running", dimensions: labels, factory: factory)
        waiting = Meter(label: "lookalike_work_waiting", dimensions: labels, factory: factory)
        refusals = Counter(label: "lookalike_work_refused_total", dimensions: labels, factory: factory)
        waits = Timer(label: "lookalike_work_wait_seconds", dimensions: labels, factory: factory)
        set(running: 0, waiting: 0)
        refusals.increment(by: 0)
    }

    func set(running: Int, waiting: Int) {
        self.running.set(running)
        self.waiting.set(waiting)
    }

    func refused() { refusals.increment() }

    func waited(_ time: Duration) { waits.record(duration: time) }
}
